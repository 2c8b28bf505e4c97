// Makes technical text pleasant: formulas, colours in code, a button that copies it. Not needed for reading, so it is loaded
// only if there is something to adorn. In: nodes from `markdown.js`. Out: the same nodes, adorned in place.

import { pieces } from "./colours.js";
import { drawn, formula } from "./math.js";
import { element } from "./nodes.js";
import { say } from "./texts/index.js";

/** @type {Map<string, Node>} an arriving answer is drawn many times */
const made = new Map();
const MOST = 200;

/** @param {string} key @param {() => Node} make */
function once(key, make) {
  if (!made.has(key)) {
    if (made.size >= MOST) made.clear();
    made.set(key, make());
  }
  return /** @type {Node} */ (made.get(key)).cloneNode(true);
}

// Only a quote that does not fit is faded out.
const lengths = new ResizeObserver((entries) => {
  for (const { target } of entries) target.classList.toggle("long", target.scrollHeight > target.clientHeight + 1);
});

// Of a long quote, the decisive sentence is what is seen first.
/** @param {Element} quote */
function fit(quote) {
  lengths.observe(quote);
  const decided = quote.querySelector("mark");
  if (decided) quote.scrollTop = decided.getBoundingClientRect().top - quote.getBoundingClientRect().top - 4;
}

// `settled`: the text will not change any more, so it can be copied.
/** @param {Element} node @param {{settled?: boolean}} [options] */
export function adorn(node, { settled = true } = {}) {
  for (const code of node.querySelectorAll("code.tex")) formulate(code);
  for (const block of node.querySelectorAll("pre")) {
    colour(block);
    if (settled) offerCopy(block);
  }
  if (node.matches(".quote")) fit(node);
}

/** @param {Element} code */
function formulate(code) {
  const tex = code.textContent ?? "";
  const display = code.hasAttribute("data-display");
  const tree = formula(tex, display);
  if (!tree) return;
  const lit = code.querySelector("mark"); // its words are part of what is cited
  const node = once(`${display}${tex}`, () => {
    const made = drawn(tree);
    made.setAttribute("aria-label", tex); // read as TeX where a browser says nothing of MathML
    return made;
  });
  code.replaceWith(lit ? element("mark", {}, node) : node);
}

/** @param {HTMLElement} block */
function colour(block) {
  const code = block.querySelector("code");
  const language = block.dataset.language;
  if (!code || !language || code.childElementCount) return;
  const text = code.textContent ?? "";
  code.replaceChildren(
    once(`${language}\n${text}`, () => {
      const out = document.createDocumentFragment();
      for (const [kind, piece] of pieces(text, language)) out.append(kind ? element("span", { className: `c-${kind}` }, piece) : piece);
      return out;
    }),
  );
}

/** @param {HTMLElement} block */
function offerCopy(block) {
  if (!navigator.clipboard || block.parentElement?.classList.contains("code")) return;
  const copy = async (/** @type {Event} */ event) => {
    const button = /** @type {HTMLButtonElement} */ (event.currentTarget);
    const said = await navigator.clipboard.writeText(block.querySelector("code")?.textContent ?? "").then(() => "copied", () => null);
    if (!said) return; // the browser does not allow it
    button.textContent = say("copied");
    setTimeout(() => (button.textContent = say("copy")), 1500);
  };
  const frame = element("div", { className: "code" });
  block.replaceWith(frame);
  frame.append(block, element("button", { type: "button", className: "copy", onclick: copy }, say("copy")));
}
