import assert from "node:assert/strict";
import { test } from "node:test";

import { pieces } from "../../../src/quoth/web/colours.js";

const kinds = (text, language) => pieces(text, language).filter(([kind]) => kind).map(([kind, piece]) => `${kind}:${piece}`);

test("code is coloured by its language", () => {
  assert.deepEqual(kinds('def f(): # no\n  return "x" + 1', "py"), ["word:def", "call:f", "comment:# no", "word:return", 'string:"x"', "number:1"]);
  assert.deepEqual(kinds("const a = `b`; // c", "ts"), ["word:const", "string:`b`", "comment:// c"]);
  assert.deepEqual(kinds("rate: 10 # hz", "yaml"), ["name:rate", "number:10", "comment:# hz"]);
  assert.deepEqual(kinds('<link name="arm"/>', "urdf"), ["word:<link", "name:name", 'string:"arm"', "word:/>"]);
  assert.deepEqual(kinds("ros2 run $PKG --help", "bash"), ["name:$PKG", "word:--help"]);
  assert.deepEqual(kinds("-a\n+b", "diff"), ["gone:-a", "new:+b"]);
});

test("an unknown language, and what is too long, is one piece", () => {
  for (const language of ["brainfuck", "", null, undefined, "constructor", "__proto__"]) assert.deepEqual(pieces("if x", language), [["", "if x"]]);
  assert.equal(pieces("if ".repeat(20000), "python").length, 1);
});

test("nothing is lost and nothing takes long, whatever the code", { timeout: 60000 }, () => {
  const traps = ['"', "'", "/*", "<!--", "#", "a=", "`", " ", "- ", "\\", "[", "${", "0.", "-a ", "a", '"""'];
  for (const language of ["python", "javascript", "xml", "sql", "bash", "yaml", "toml", "css", "cmake", "rust", "diff", "c"]) {
    for (const trap of traps) {
      const code = trap.repeat(6000 / trap.length);
      assert.equal(pieces(code, language).map(([, piece]) => piece).join(""), code);
    }
  }
});
