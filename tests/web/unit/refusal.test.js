// The sentence of a refusal is written once on the server and once here, to be left out where the interface is not English.
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import test from "node:test";

test("the page knows the server's sentence", async () => {
  const root = new URL("../../../src/quoth/", import.meta.url);
  const [here, there] = await Promise.all([readFile(new URL("web/turn.js", root), "utf8"), readFile(new URL("domain/answers.py", root), "utf8")]);
  const sentence = /REFUSAL_SENTENCE = "(.+)"/.exec(there)?.[1];
  assert.ok(sentence && here.includes(`const REFUSAL = "${sentence}"`));
});
