// TeX → MathML, for the part of TeX that books use in formulas. If it does not understand the TeX it gives null, and the TeX is
// shown as written. In: the text of a formula. Out: a tree of [tag, attributes, ...children], and the nodes it describes.

const NAMES =
  "alpha α beta β gamma γ delta δ epsilon ϵ varepsilon ε zeta ζ eta η theta θ vartheta ϑ iota ι kappa κ lambda λ mu μ nu ν xi ξ pi π " +
  "varpi ϖ rho ρ varrho ϱ sigma σ varsigma ς tau τ upsilon υ phi ϕ varphi φ chi χ psi ψ omega ω Gamma Γ Delta Δ Theta Θ Lambda Λ " +
  "Xi Ξ Pi Π Sigma Σ Upsilon Υ Phi Φ Psi Ψ Omega Ω infty ∞ partial ∂ nabla ∇ ell ℓ hbar ℏ Re ℜ Im ℑ aleph ℵ emptyset ∅ varnothing ∅ " +
  "imath ı jmath ȷ top ⊤ bot ⊥ angle ∠ prime ′";
const SIGNS =
  "pm ± mp ∓ times × div ÷ cdot ⋅ ast ∗ star ⋆ circ ∘ bullet ∙ oplus ⊕ otimes ⊗ odot ⊙ le ≤ leq ≤ ge ≥ geq ≥ ne ≠ neq ≠ ll ≪ gg ≫ " +
  "approx ≈ sim ∼ simeq ≃ cong ≅ equiv ≡ propto ∝ in ∈ notin ∉ ni ∋ subset ⊂ subseteq ⊆ supset ⊃ supseteq ⊇ cup ∪ cap ∩ setminus ∖ " +
  "land ∧ wedge ∧ lor ∨ vee ∨ lnot ¬ neg ¬ forall ∀ exists ∃ to → rightarrow → leftarrow ← gets ← Rightarrow ⇒ Leftarrow ⇐ iff ⇔ " +
  "Leftrightarrow ⇔ leftrightarrow ↔ mapsto ↦ implies ⟹ longrightarrow ⟶ uparrow ↑ downarrow ↓ mid ∣ parallel ∥ perp ⊥ colon : " +
  "ldots … dots … cdots ⋯ vdots ⋮ ddots ⋱ langle ⟨ rangle ⟩ lfloor ⌊ rfloor ⌋ lceil ⌈ rceil ⌉ lvert | rvert | vert | lVert ‖ rVert ‖ " +
  "Vert ‖ lbrace { rbrace } backslash \\ models ⊨ vdash ⊢ prec ≺ succ ≻ triangle △ square □ degree °";
const LARGE = "sum ∑ prod ∏ coprod ∐ int ∫ iint ∬ iiint ∭ oint ∮ bigcup ⋃ bigcap ⋂ bigoplus ⨁ bigotimes ⨂ bigvee ⋁ bigwedge ⋀";
const WORDS = "sin cos tan cot sec csc arcsin arccos arctan sinh cosh tanh log ln exp det dim ker deg gcd arg hom Pr";
const LIMITS = "lim max min sup inf limsup liminf argmax argmin";
const ACCENTS = "hat ^ widehat ^ bar ¯ overline ‾ tilde ˜ widetilde ˜ vec → dot ˙ ddot ¨ overrightarrow → overbrace ⏞";
const FACES = new Set(["mathrm", "mathbf", "boldsymbol", "bm", "mathit", "mathbb", "mathcal", "mathscr", "mathfrak", "mathsf", "mathtt"]);
/** @type {Record<string, string>} */
const SPACES = { ",": "0.17em", ":": "0.22em", ";": "0.28em", " ": "0.33em", "~": "0.33em", "!": "-0.17em", quad: "1em", qquad: "2em", thinspace: "0.17em", enspace: "0.5em" };
/** @type {Record<string, [string, string]>} */
const FENCES = { pmatrix: ["(", ")"], bmatrix: ["[", "]"], Bmatrix: ["{", "}"], vmatrix: ["|", "|"], Vmatrix: ["‖", "‖"], cases: ["{", ""] };
const GRIDS = new Set(["matrix", "smallmatrix", "array", "aligned", "align", "align*", "gathered", "split", "equation", "equation*", "gather", "gather*", ...Object.keys(FENCES)]);

const MOST = 4000; // characters of a formula
const DEEPEST = 40;

/** @typedef {[string, Record<string, string>, ...(string | any[])[]]} Tree */

/** @param {string} pairs @returns {Map<string, string>} */
function table(pairs) {
  const words = pairs.split(" ");
  return new Map(words.filter((_, at) => at % 2 === 0).map((name, at) => [name, words[2 * at + 1] ?? ""]));
}

const names = table(NAMES);
const signs = table(SIGNS);
const large = table(LARGE);
const accents = table(ACCENTS);
const words = new Set(WORDS.split(" "));
const limits = new Set(LIMITS.split(" "));

class NotUnderstood extends Error {}

// The tree of a formula, or null.
/** @param {string} tex @param {boolean} [display] @returns {Tree | null} */
export function formula(tex, display = false) {
  try {
    if (tex.length > MOST) return null;
    const reading = new Reading(tex, display);
    const body = reading.row(() => reading.at >= reading.tokens.length);
    return ["math", display ? { display: "block" } : {}, body];
  } catch (error) {
    if (error instanceof NotUnderstood) return null;
    throw error;
  }
}

/** @param {Tree} tree @returns {Element} */
export function drawn([tag, attributes, ...children]) {
  const node = document.createElementNS("http://www.w3.org/1998/Math/MathML", tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  for (const child of children) node.append(typeof child === "string" ? child : drawn(/** @type {Tree} */ (child)));
  return node;
}

class Reading {
  /** @param {string} tex @param {boolean} display */
  constructor(tex, display) {
    this.tokens = tex.match(/\\(?:[A-Za-z]+\*?|[\s\S])|\s+|\d+(?:[.,]\d+)*|[\s\S]/g) ?? [];
    this.at = 0;
    this.depth = 0;
    this.display = display;
  }

  space() {
    while (/^\s/.test(this.tokens[this.at] ?? "")) this.at += 1;
  }

  peek() {
    this.space();
    return this.tokens[this.at];
  }

  next() {
    this.space();
    const token = this.tokens[this.at++];
    if (token === undefined) throw new NotUnderstood("it ends too early");
    return token;
  }

  /** @param {string} wanted */
  expect(wanted) {
    if (this.next() !== wanted) throw new NotUnderstood(`no ${wanted}`);
  }

  // The text between two braces, as written.
  verbatim() {
    this.expect("{");
    let text = "";
    for (let open = 1; ; ) {
      const token = this.tokens[this.at++];
      if (token === undefined) throw new NotUnderstood("an open brace");
      if (token === "{") open += 1;
      if (token === "}" && --open === 0) return text;
      text += token;
    }
  }

  /** @param {() => boolean} ended @returns {Tree} */
  row(ended) {
    if (++this.depth > DEEPEST) throw new NotUnderstood("too deep");
    /** @type {Tree[]} */
    const found = [];
    for (this.space(); !ended(); this.space()) {
      if (this.at >= this.tokens.length) throw new NotUnderstood("it ends too early");
      const one = this.scripted();
      if (one) found.push(one);
    }
    this.depth -= 1;
    return found.length === 1 && found[0] ? found[0] : ["mrow", {}, ...found];
  }

  // A group in braces, or the next single thing.
  /** @returns {Tree} */
  argument() {
    const token = this.peek() ?? "";
    if (/^\d\d/.test(token)) this.tokens.splice(this.at, 1, token.charAt(0), token.slice(1)); // without braces, only one digit
    if (token !== "{") return this.atom() ?? ["mrow", {}];
    this.at += 1;
    const group = this.row(() => this.peek() === "}");
    this.at += 1;
    return group;
  }

  // A thing with its superscript and subscript.
  /** @returns {Tree | null} */
  scripted() {
    const base = /^[\^_']$/.test(this.peek() ?? "") ? /** @type {Tree} */ (["mrow", {}]) : this.atom();
    if (!base) return null;
    /** @type {Tree | null} */ let below = null;
    /** @type {Tree | null} */ let above = null;
    for (let sign = this.peek(); sign === "_" || sign === "^" || sign === "'"; sign = this.peek()) {
      this.at += 1;
      if (sign === "_") below = this.argument();
      else if (sign === "^") above = this.argument();
      else above = ["mo", {}, `${above?.[2] ?? ""}′`];
    }
    if (!below && !above) return base;
    const under = this.display && base[1].movablelimits === "true";
    const [both, low, high] = under ? ["munderover", "munder", "mover"] : ["msubsup", "msub", "msup"];
    if (below && above) return [both, {}, base, below, above];
    return below ? [low, {}, base, below] : [high, {}, base, /** @type {Tree} */ (above)];
  }

  /** @returns {Tree | null} */
  atom() {
    const token = this.next();
    if (token === "{") {
      this.at -= 1;
      return this.argument();
    }
    if (token.startsWith("\\")) return this.command(token.slice(1));
    if (/^\d/.test(token)) return ["mn", {}, token];
    if (/^\p{L}$/u.test(token)) return ["mi", {}, token];
    if (/^[}&#%$]$/.test(token)) throw new NotUnderstood(token);
    return ["mo", {}, token === "-" ? "−" : token === "*" ? "∗" : token];
  }

  /** @param {string} name @returns {Tree | null} */
  command(name) {
    const known = this.symbol(name) ?? this.structure(name);
    if (known) return known;
    if (["displaystyle", "textstyle", "limits", "nolimits", "nonumber", "notag"].includes(name)) return null;
    throw new NotUnderstood(name);
  }

  /** @param {string} name @returns {Tree | null} */
  symbol(name) {
    const word = names.get(name);
    if (word) return ["mi", {}, word];
    const sign = signs.get(name);
    if (sign) return ["mo", {}, sign];
    const sum = large.get(name);
    if (sum) return ["mo", { movablelimits: name.includes("int") ? "false" : "true", largeop: "true" }, sum];
    if (words.has(name)) return ["mi", {}, name];
    if (limits.has(name)) return ["mo", { movablelimits: "true" }, name];
    if (Object.hasOwn(SPACES, name)) return ["mspace", { width: SPACES[name] ?? "" }];
    if (/^[{}%$&#_|]$/.test(name)) return ["mo", {}, name === "|" ? "‖" : name];
    return null;
  }

  /** @param {string} name @returns {Tree | null} */
  structure(name) {
    if (/^[dtc]?frac$/.test(name)) return ["mfrac", {}, this.argument(), this.argument()];
    if (name === "binom") return ["mrow", {}, ["mo", {}, "("], ["mfrac", { linethickness: "0" }, this.argument(), this.argument()], ["mo", {}, ")"]];
    if (name === "sqrt") return this.root();
    if (/^(?:text|textrm|textbf|textit|mbox|texttt)$/.test(name)) return ["mtext", {}, this.verbatim().replaceAll(" ", "\u00a0")];
    if (/^operatorname\*?$/.test(name)) return ["mi", {}, this.verbatim()];
    if (FACES.has(name)) return faced(this.argument(), name);
    const accent = accents.get(name);
    if (accent) return ["mover", { accent: "true" }, this.argument(), ["mo", { stretchy: /^(?:wide|over)/.test(name) ? "true" : "false" }, accent]];
    if (name === "underline" || name === "underbrace") return ["munder", {}, this.argument(), ["mo", {}, name === "underline" ? "_" : "⏟"]];
    if (name === "overset" || name === "stackrel") return flipped("mover", this.argument(), this.argument());
    if (name === "underset") return flipped("munder", this.argument(), this.argument());
    if (name === "left") return this.fenced();
    if (name === "begin") return this.grid();
    return null;
  }

  /** @returns {Tree} */
  root() {
    if (this.peek() !== "[") return ["msqrt", {}, this.argument()];
    this.at += 1;
    const degree = this.row(() => this.peek() === "]");
    this.at += 1;
    return ["mroot", {}, this.argument(), degree];
  }

  /** @returns {Tree} */
  fence() {
    const token = this.next();
    if (token === ".") return ["mrow", {}];
    const sign = token.startsWith("\\") ? this.symbol(token.slice(1))?.[2] : token;
    if (typeof sign !== "string") throw new NotUnderstood(token);
    return ["mo", { fence: "true", stretchy: "true" }, sign];
  }

  /** @returns {Tree} */
  fenced() {
    const open = this.fence();
    const inner = this.row(() => this.peek() === "\\right");
    this.at += 1;
    return ["mrow", {}, open, inner, this.fence()];
  }

  /** @returns {Tree} */
  grid() {
    const kind = this.verbatim();
    if (!GRIDS.has(kind)) throw new NotUnderstood(kind);
    if (kind === "array") this.verbatim(); // the alignment of its columns
    const ended = () => ["&", "\\\\", "\\end"].includes(this.peek() ?? "");
    /** @type {Tree[]} */ const rows = [];
    /** @type {Tree[]} */ const cells = [];
    for (let sign = ""; sign !== "\\end"; ) {
      cells.push(["mtd", {}, this.row(ended)]);
      sign = this.next();
      if (sign !== "&") rows.push(["mtr", {}, ...cells.splice(0)]);
    }
    if (this.verbatim() !== kind) throw new NotUnderstood("another end");
    const body = /** @type {Tree} */ (["mtable", /^(?:align|split|cases)/.test(kind) ? { columnalign: kind === "cases" ? "left" : "right left" } : {}, ...rows]);
    const [open, close] = FENCES[kind] ?? ["", ""];
    const fence = (/** @type {string} */ sign) => (sign ? [/** @type {Tree} */ (["mo", { fence: "true", stretchy: "true" }, sign])] : []);
    return ["mrow", {}, ...fence(open), body, ...fence(close)];
  }
}

/** @param {string} tag @param {Tree} moved @param {Tree} base @returns {Tree} */
const flipped = (tag, moved, base) => [tag, {}, base, moved];

// Browsers draw other faces only for other letters: where each face's "A" and "a" are, and the exceptions.
/** @type {Record<string, [number, number, string]>} */
const FIRST = {
  mathbb: [0x1d538, 0x1d552, "C ℂ H ℍ N ℕ P ℙ Q ℚ R ℝ Z ℤ"],
  mathcal: [0x1d49c, 0x1d4b6, "B ℬ E ℰ F ℱ H ℋ I ℐ L ℒ M ℳ R ℛ e ℯ g ℊ o ℴ"],
  mathfrak: [0x1d504, 0x1d51e, "C ℭ H ℌ I ℑ R ℜ Z ℨ"],
  mathbf: [0x1d400, 0x1d41a, ""],
};
/** @type {Record<string, string>} */
const ALIKE = { mathscr: "mathcal", boldsymbol: "mathbf", bm: "mathbf" };

/** @param {any} tree @param {string} face @returns {Tree} */
function faced(tree, face) {
  const [tag, attributes, ...children] = tree;
  const [letter] = children;
  if (tag !== "mi") return [tag, attributes, ...children.map((/** @type {any} */ child) => (typeof child === "string" ? child : faced(child, face)))];
  if (face === "mathrm") return ["mi", { mathvariant: "normal" }, letter];
  const [large, small, elsewhere] = FIRST[ALIKE[face] ?? face] ?? [0, 0, ""];
  if (!large || !/^[A-Za-z]$/.test(letter)) return tree;
  const code = letter < "a" ? large + letter.charCodeAt(0) - 65 : small + letter.charCodeAt(0) - 97;
  return ["mi", { mathvariant: "normal" }, table(elsewhere).get(letter) ?? String.fromCodePoint(code)];
}
