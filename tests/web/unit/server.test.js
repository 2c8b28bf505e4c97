// What the server sends, piece by piece, and what a reader is told if it does not.

import assert from "node:assert/strict";
import { createServer } from "node:http";
import test, { after, before } from "node:test";

import { Server, Trouble } from "../../../src/quoth/web/server.js";
import { speak } from "../../../src/quoth/web/texts/index.js";

const FRAMES = ': heartbeat\n\nevent: delta\ndata: {"delta": "Grüße"}\n\nevent: done\ndata: {"answer":\ndata: "a"}\n\n';
const LIMIT = { error_code: "RATE_LIMITED", status: 429, request_id: "r", details: { retry_after: 7 } };

// Each path is one way of answering.
const ways = {
  "/bytes": async (out) => {
    for (const byte of Buffer.from(FRAMES)) out.write(Buffer.of(byte));
    out.end();
  },
  "/cut": (out) => out.write(FRAMES.split("event: done")[0], () => setTimeout(() => out.destroy(), 20)),
  "/short": (out) => out.end(FRAMES.split("event: done")[0]),
  "/error": (out) => out.end(`event: error\ndata: ${JSON.stringify({ error_code: "QDRANT_UNAVAILABLE", status: 503 })}\n\n`),
  "/limit": (out) => out.writeHead(429).end(JSON.stringify(LIMIT)),
  "/proxy": (out) => out.writeHead(429, { "retry-after": "3" }).end("<html>"),
};
const http = createServer((asked, out) => ways[asked.url](out));
let server;

before(async () => {
  await speak(["en"]);
  await new Promise((ready) => http.listen(0, "127.0.0.1", ready));
  server = new Server(new URL(`http://127.0.0.1:${http.address().port}`), "qp_key");
});
after(() => http.close());

async function heard(path) {
  const events = [];
  try {
    for await (const event of server.stream(path, {}, new AbortController().signal)) events.push(event);
  } catch (trouble) {
    assert.ok(trouble instanceof Trouble, trouble);
    return [events, trouble];
  }
  return [events, null];
}

test("frames are read whole, however the bytes are divided", async () => {
  const [events, trouble] = await heard("bytes");
  assert.equal(trouble, null);
  assert.deepEqual(events, [{ name: "delta", data: { delta: "Grüße" } }, { name: "done", data: { answer: "a" } }]);
});

for (const path of ["cut", "short"]) {
  test(`an answer that ends early (${path}) keeps what arrived and says that it broke off`, async () => {
    const [events, trouble] = await heard(path);
    assert.deepEqual(events.map((event) => event.name), ["delta"]);
    assert.equal(trouble.code, "BROKEN");
    assert.equal(trouble.told().what, "The answer broke off.");
  });
}

test("an error in the stream is told in a reader's words", async () => {
  const [, trouble] = await heard("error");
  assert.deepEqual([trouble.status, trouble.code], [503, "QDRANT_UNAVAILABLE"]);
  assert.equal(trouble.told().what, "The book cannot be asked at the moment.");
});

test("a limit says how long to wait, also when a proxy set it", async () => {
  const [, own] = await heard("limit");
  assert.deepEqual([own.status, own.wait, own.request], [429, 7, "r"]);
  assert.equal(own.told().hint, "You can ask again in 7 seconds.");
  const [, foreign] = await heard("proxy");
  assert.deepEqual([foreign.status, foreign.wait], [429, 3]);
});

test("a server that is not there is not blamed on the reader's question", async () => {
  const nobody = new Server(new URL("http://127.0.0.1:9"));
  await assert.rejects(nobody.get("books"), (trouble) => trouble.told().what === "The book cannot be reached.");
});
