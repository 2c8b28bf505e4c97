// URLs that name the words to highlight.

import assert from "node:assert/strict";
import test from "node:test";

import { addressOf } from "../../../src/quoth/web/cited.js";
import { wordsOf } from "../../../src/quoth/web/passages.js";

const PAGE = "https://book.example.com/topics";

test("what the cards name, the page around the widget finds", () => {
  const quote = "One **two** three, four-five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen [1].";
  assert.deepEqual(wordsOf(addressOf({ source_url: `${PAGE}#a`, quote })), ["One two three, four-five six", "thirteen fourteen fifteen sixteen seventeen."]);
  assert.deepEqual(wordsOf(addressOf({ source_url: PAGE, quote: "Keeps 100 % & more." })), ["Keeps 100 % & more.", "Keeps 100 % & more."]);
});

test("only an address that names words gives some", () => {
  assert.equal(wordsOf(`${PAGE}#durability`), null);
  assert.equal(wordsOf(`${PAGE}#:~:text=%E0%A4%A`), null);
  assert.deepEqual(wordsOf(`${PAGE}#x:~:text=before-,one%2C,two,-after`), ["one,", "two"]);
});
