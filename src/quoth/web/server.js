// Quoth's doors as this script sees them: their URLs, the key that opens them, and what a reader is told when something goes
// wrong. What only an operator can fix is in the server's log, under the request's id.

import { events } from "./events.js";
import { say } from "./texts/index.js";

// Where the server is: this file is one of its assets, however deep.
export const HOME = new URL(import.meta.url.replace(/assets\/[^?#]*$/, ""));

/**
 * @typedef {object} Problem what the server sends (RFC 9457), as far as it matters here
 * @property {number} [status]
 * @property {string} [error_code]
 * @property {string} [request_id]
 * @property {{retry_after?: number}} [details]
 */

// The server refused (`status`), did not answer (0), or stopped in the middle (`code` BROKEN).
export class Trouble extends Error {
  /** @param {Problem} problem */
  constructor(problem) {
    super(problem.error_code ?? `status ${problem.status ?? 0}`);
    this.status = problem.status ?? 0;
    this.code = problem.error_code ?? "";
    this.request = problem.request_id ?? "";
    this.wait = problem.details?.retry_after ?? 0; // seconds
  }

  // For the reader: what is wrong and what they can do.
  told() {
    if (this.code === "BROKEN") return { what: say("brokeOff"), hint: say("brokeOffHint") };
    if (this.code.endsWith("TOO_LONG") || this.status === 413) return { what: say("tooLong"), hint: say("tooLongHint") };
    if (this.code === "UNKNOWN_BOOK") return { what: say("noSuchBook"), hint: "" };
    if (this.status === 401 || this.status === 403) return { what: say("notAllowed"), hint: say("notAllowedHint") };
    if (this.status === 429) return { what: say("tooMany"), hint: this.wait ? say("tooManyHint", { n: this.wait }) : "" };
    if (this.status >= 500) return { what: say("away"), hint: say("awayHint") };
    if (this.status) return { what: say("notUnderstood"), hint: "" };
    return { what: say("silent"), hint: say("silentHint") };
  }
}

export class Server {
  /** @param {URL} base @param {string} [key] */
  constructor(base, key = "") {
    this.base = base;
    this.key = key;
  }

  /** @param {string} path */
  async get(path) {
    const response = await this.send(path, {});
    return response.json();
  }

  /** @param {string} path @param {object} body @param {AbortSignal} signal */
  async *stream(path, body, signal) {
    const headers = { "content-type": "application/json" };
    const response = await this.send(path, { method: "POST", headers, body: JSON.stringify(body), signal });
    let ended = false;
    try {
      for await (const event of events(response)) {
        if (event.name === "error") throw new Trouble(event.data);
        if (event.name === "done") ended = true;
        yield event;
      }
    } catch (error) {
      throw signal.aborted || error instanceof Trouble ? error : new Trouble({ error_code: "BROKEN" });
    }
    if (!ended) throw new Trouble({ error_code: "BROKEN" });
  }

  /** @param {string} path @param {RequestInit & {headers?: Record<string, string>}} options */
  async send(path, { headers = {}, ...options }) {
    const opened = this.key ? { ...headers, authorization: `Bearer ${this.key}` } : headers;
    let response;
    try {
      response = await fetch(new URL(path, this.base), { ...options, headers: opened });
    } catch (error) {
      throw options.signal?.aborted ? error : new Trouble({});
    }
    if (!response.ok) throw await troubleOf(response);
    return response;
  }
}

/** @param {Response} response */
async function troubleOf(response) {
  const problem = await response.json().catch(() => ({}));
  const wait = Number(response.headers.get("retry-after")) || undefined;
  return new Trouble({ ...problem, status: response.status, details: { retry_after: wait, ...problem?.details } });
}
