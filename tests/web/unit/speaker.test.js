// What screen reader users hear.

import assert from "node:assert/strict";
import test from "node:test";

import { plain, sentences } from "../../../src/quoth/web/speaker.js";

test("an answer is said in whole sentences", () => {
  const [whole, rest] = sentences("Python 3.11 is needed [1]. Is it? Install `it` first.\n\n- one\n- two\nAnd th");
  assert.deepEqual(whole, ["Python 3.11 is needed.", "Is it?", "Install it first.", "one", "two"]);
  assert.equal(rest, "And th");
});

test("sentences end as they do in each script", () => {
  assert.deepEqual(sentences("持久。最后！x")[0], ["持久。", "最后！"]);
  assert.deepEqual(sentences("یہ ہے۔ کیا؟ x")[0], ["یہ ہے۔", "کیا؟"]);
});

test("the signs of Markdown are not said, words are", () => {
  assert.equal(plain("## A **bold** `ros2 run` of [the *map*](https://x.example/) [2, 3]"), "A bold ros2 run of the map");
  assert.equal(plain("```py\nsnake_case = 2 * 3\n```"), "snake_case = 2 * 3");
  assert.equal(plain("| a | b |"), "a b");
});
