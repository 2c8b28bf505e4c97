// Addresses that name the words to light up.

import assert from "node:assert/strict";
import test from "node:test";

import { withWords, wordsOf } from "../../../src/quoth/web/passages.js";

const PAGE = "https://book.example.com/topics";

test("a short passage is named whole, a long one by its ends", () => {
  assert.equal(withWords(`${PAGE}#durability`, "keeps the last-minute, one"), `${PAGE}#durability:~:text=keeps%20the%20last%2Dminute%2C%20one`);
  const long = withWords(PAGE, "one two three four five six seven eight nine ten");
  assert.equal(long, `${PAGE}#:~:text=one%20two%20three%20four,seven%20eight%20nine%20ten`);
  assert.deepEqual(wordsOf(long), ["one two three four", "seven eight nine ten"]);
});

test("a long passage without spaces is named by its first and last letters", () => {
  const chinese = "持久性策略决定了新的订阅者在加入之后是否还能收到之前已经发布过的最后一条消息，这一点对地图之类很少变化的数据尤其重要。";
  const [first, last] = wordsOf(withWords(PAGE, chinese));
  assert.ok(chinese.startsWith(first) && chinese.endsWith(last) && first.length < 20);
});

test("without words or address nothing is added", () => {
  assert.equal(withWords(PAGE, "  "), PAGE);
  assert.equal(withWords(null, "words"), "");
  assert.equal(withWords(`${PAGE}#a:~:text=b`, "words"), `${PAGE}#a:~:text=b`);
});

test("only an address that names words gives some", () => {
  assert.equal(wordsOf(`${PAGE}#durability`), null);
  assert.equal(wordsOf(`${PAGE}#:~:text=%E0%A4%A`), null);
  assert.deepEqual(wordsOf(`${PAGE}#x:~:text=before-,one%2C,two,-after`), ["one,", "two"]);
});
