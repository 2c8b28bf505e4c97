// The doors of Quoth as this script sees them: where they are, which key opens them, what they say when something is wrong.

import { events } from "./events.js";

export const SILENT = {
  message: "The server does not answer.",
  hint: "Check that `quoth serve` is running, then try again.",
};

export class Server {
  constructor(base, key = "") {
    this.base = base;
    this.key = key;
  }

  async get(path) {
    const response = await this.send(path, {});
    return response.json();
  }

  async *stream(path, body, signal) {
    const headers = { "content-type": "application/json" };
    const response = await this.send(path, { method: "POST", headers, body: JSON.stringify(body), signal });
    yield* events(response);
  }

  async send(path, { headers = {}, ...options }) {
    const opened = this.key ? { ...headers, authorization: `Bearer ${this.key}` } : headers;
    let response;
    try {
      response = await fetch(new URL(path, this.base), { ...options, headers: opened });
    } catch (error) {
      throw error.name === "AbortError" ? error : SILENT;
    }
    if (!response.ok) throw await problemOf(response);
    return response;
  }
}

async function problemOf(response) {
  const problem = await response.json().catch(() => null);
  return problem?.message ? problem : { message: `The server answered ${response.status}.`, hint: "", status: response.status };
}
