import assert from "node:assert/strict";
import { test } from "node:test";

import { formula } from "../../../src/quoth/web/math.js";

const shown = (tree) => (typeof tree === "string" ? tree : `${tree[0]}(${tree.slice(2).map(shown).join(" ")})`);
const drawn = (tex, display = false) => {
  const tree = formula(tex, display);
  return tree && shown(tree[2]);
};

test("formulas of books become MathML", () => {
  const known = {
    "x^2": "msup(mi(x) mn(2))",
    "x_i^2": "msubsup(mi(x) mi(i) mn(2))",
    "\\frac12": "mfrac(mn(1) mn(2))",
    "x^12": "mrow(msup(mi(x) mn(1)) mn(2))",
    "\\sqrt[3]{x}": "mroot(mi(x) mn(3))",
    "a \\le b": "mrow(mi(a) mo(≤) mi(b))",
    "\\mathbb{R}": "mi(ℝ)",
    "\\mathbf{x}": "mi(𝐱)",
    "f'": "msup(mi(f) mo(′))",
    "\\text{if }x": "mrow(mtext(if\u00a0) mi(x))",
    "\\left(x\\right]": "mrow(mo(() mi(x) mo(]))",
    "\\begin{pmatrix}a&b\\\\c&d\\end{pmatrix}": "mrow(mo(() mtable(mtr(mtd(mi(a)) mtd(mi(b))) mtr(mtd(mi(c)) mtd(mi(d)))) mo()))",
    "\\hat{x}": "mover(mi(x) mo(^))",
    "50\\%": "mrow(mn(50) mo(%))",
    "-1": "mrow(mo(−) mn(1))",
  };
  for (const [tex, tree] of Object.entries(known)) assert.equal(drawn(tex), tree, tex);
});

test("limits are below and above in a formula of its own, beside in a line", () => {
  assert.match(drawn("\\sum_{i=1}^n i", true), /^mrow\(munderover/);
  assert.match(drawn("\\sum_{i=1}^n i"), /^mrow\(msubsup/);
});

test("what is not understood is left as it was written", () => {
  const strange = ["\\unknown", "{", "}", "\\frac{a}", "\\begin{tikz}\\end{tikz}", "\\begin{matrix}a", "\\left(", "a&b", "\\constructor", "{".repeat(99) + "}".repeat(99), "x".repeat(5000), "$", "\\sqrt["];
  for (const tex of strange) assert.equal(formula(tex), null, tex.slice(0, 20));
});

test("no formula takes long", { timeout: 60000 }, () => {
  for (const piece of ["{", "\\frac", "^", "_", "\\left(", "\\begin{matrix}", "'", "\\sqrt[", "&", "\\\\"]) formula(piece.repeat(4000 / piece.length));
});
