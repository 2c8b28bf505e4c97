import assert from "node:assert/strict";
import { test } from "node:test";

import { addressOf, bySection, decisive, fragment } from "../../../src/quoth/web/cited.js";

test("an address carries the decisive words, for browsers that light them", () => {
  const source = { source_url: "https://book.example/qos#durability", quote: "One. Two, well-known & 50 %. Three.", highlight: [5, 28] };
  assert.equal(decisive(source), "Two, well-known & 50 %.");
  assert.equal(addressOf(source), "https://book.example/qos#durability:~:text=Two%2C%20well%2Dknown%20%26%2050%20%25.");
  assert.equal(addressOf({ source_url: "https://book.example/qos", quote: "Two." }), "https://book.example/qos#:~:text=Two.");
  assert.equal(addressOf({ source_url: "docs/qos.md", quote: "Two." }), "");
  assert.equal(addressOf({ source_url: "https://book.example/qos#a" }), "https://book.example/qos#a");
});

test("offsets count characters, not halves of them", () => {
  assert.equal(decisive({ quote: "😀 yes. no.", highlight: [2, 6] }), "yes.");
});

test("of long words the beginning and the end are named, and Markdown is not", () => {
  const long = Array.from({ length: 30 }, (_, at) => `word${at}`).join(" ");
  assert.equal(fragment(long), "word0%20word1%20word2%20word3%20word4,word25%20word26%20word27%20word28%20word29");
  assert.equal(fragment("- **Durability.** A `TRANSIENT_LOCAL` publisher"), "Durability.%20A%20TRANSIENT_LOCAL%20publisher");
  assert.equal(fragment("3. [x](https://a.example) it"), "x%20it");
});

test("what is drawn and not written opens the heading", () => {
  for (const words of ["$x$ is", "```py\nx\n```", "| a | b |", "\\(x\\)", "", "---"]) assert.ok(!fragment(words).includes("%7C") && !/^%24/.test(fragment(words)), words);
  assert.equal(fragment("$x$ is"), "");
});

test("beside a formula, the words around it are named where they say enough", () => {
  assert.equal(fragment("The energy of a body is $E = mc^2$ and \\(x_1\\), but \\( alone stays."), "The%20energy%20of%20a%20body%20is");
  assert.equal(fragment("So $E = mc^2$ here."), "");
  assert.equal(fragment("It costs $5 a month."), "");
});

test("sources of one section are together, in the order of the first", () => {
  const source = (index, name) => ({ index, breadcrumb: ["Book", name], source_url: name });
  const groups = bySection([source(1, "a"), source(2, "b"), source(3, "a"), { index: 4, quote: "selected" }]);
  assert.deepEqual(groups.map((group) => group.map((one) => one.index)), [[1, 3], [2], [4]]);
});
