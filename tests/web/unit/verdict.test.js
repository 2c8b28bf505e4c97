import assert from "node:assert/strict";
import { test } from "node:test";

import { detailsOf, ofAnswer, ofMemory, verdictOf } from "../../../src/quoth/web/verdict.js";
import { speak } from "../../../src/quoth/web/texts/index.js";

await speak(["en"]);

const facts = (changes) => ({
  mode: "full", level: "high", confidence: 0.9, refused: false, partial: false, interrupted: false, checked: 4, doubts: [], removed: 0,
  note: null, model: null, time: 0, missing: [], nearest: [], ...changes,
});
const doubts = (n) => Array.from({ length: n }, () => ({ text: "x", reason: "y" }));
const tone = (changes) => verdictOf(facts(changes)).tone;

test("confidence never outshines what the check found", () => {
  assert.equal(tone({}), "good");
  assert.equal(tone({ doubts: doubts(1) }), "fair");
  assert.equal(tone({ checked: 18, doubts: doubts(11) }), "poor");
  assert.match(verdictOf(facts({ checked: 18, doubts: doubts(11) })).words, /11 of 18/);
});

test("the check never outshines confidence", () => {
  assert.equal(tone({ level: "low" }), "poor");
  assert.equal(tone({ level: "medium" }), "fair");
  assert.equal(tone({ partial: true }), "fair");
  assert.equal(tone({ refused: true, level: "insufficient" }), "none");
  assert.equal(tone({ interrupted: true }), "fair");
  assert.equal(tone({ mode: "retrieval_only", level: "high" }), "fair");
});

test("a remembered answer has the verdict of the fresh one", () => {
  const sentences = [{ text: "a", supported: true }, { text: "b", supported: false, reason: "c" }, { text: "d", supported: true }];
  const body = {
    answer: "a b d", fallback_message: null, confidence: 0.8, confidence_level: "high", should_answer: true, model: "m",
    metadata: { mode: "full", partial: false, interrupted: false, query_time_ms: 5, missing_terms: [], suggestions: [] },
    grounding: { total: 3, removed: 1, sentences },
  };
  const entry = {
    response: "a b d", fallback_message: null, confidence: 0.8, confidence_level: "high", mode: "full", partial: false, interrupted: false,
    checked: 3, removed: 1, unsupported: [sentences[1]], model: "m", query_time_ms: 5, missing_terms: [], suggestions: [],
  };
  assert.deepEqual(verdictOf(ofAnswer(body)), verdictOf(ofMemory(entry)));
  assert.deepEqual(detailsOf(ofAnswer(body)), detailsOf(ofMemory(entry)));
  assert.equal(detailsOf(ofMemory(entry)).length, 4);
});

test("a turn that was stored before verdicts were has one all the same", () => {
  const old = { response: "a", fallback_message: null, confidence: null, confidence_level: null, mode: "full", partial: false, interrupted: false, checked: 0, removed: 0, unsupported: doubts(2), model: null, query_time_ms: 0, missing_terms: [], suggestions: [] };
  assert.equal(verdictOf(ofMemory(old)).tone, "poor");
  assert.deepEqual(detailsOf(ofMemory({ ...old, unsupported: [] })), []);
});
