// Words of the book on a page of its site: named by a URL (`#:~:text=`, made in cited.js), found and highlighted.

const LIGHT = "quoth-cited";

// The words that a URL names, as [first, last]; null if it names none.
/** @param {string} address @returns {[string, string] | null} */
export function wordsOf(address) {
  const named = /:~:(?:.*&)?text=([^&]+)/.exec(address)?.[1];
  if (!named) return null;
  const said = named.split(",").filter((part) => !part.startsWith("-") && !part.endsWith("-"));
  try {
    const [first = "", last = first] = said.map(decodeURIComponent);
    return first ? [first, last] : null;
  } catch {
    return null; // not made by us
  }
}

const squeezed = (/** @type {string} */ text) => text.replace(/\s+/g, "").toLowerCase();

// Where a page has these words, however space and tags divide them. Skips hidden text and `except`.
/** @param {Element} root @param {[string, string]} words @param {(node: Element) => boolean} [except] @returns {Range | null} */
export function find(root, [first, last], except = () => false) {
  const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT | NodeFilter.SHOW_ELEMENT, (node) => {
    if (node.nodeType === Node.TEXT_NODE) return NodeFilter.FILTER_ACCEPT;
    const element = /** @type {Element} */ (node);
    const shown = !/^(SCRIPT|STYLE|NOSCRIPT|TEMPLATE|NAV|TEXTAREA|SELECT)$/.test(element.tagName) && !except(element);
    return shown ? NodeFilter.FILTER_SKIP : NodeFilter.FILTER_REJECT;
  });
  let page = "";
  /** @type {{node: Text, from: number}[]} where in `page` each text begins */
  const texts = [];
  while (walker.nextNode()) {
    const node = /** @type {Text} */ (walker.currentNode);
    texts.push({ node, from: page.length });
    page += squeezed(node.data);
  }
  const start = page.indexOf(squeezed(first));
  if (start < 0) return null;
  const ending = squeezed(last);
  const end = first === last ? start : page.indexOf(ending, start + squeezed(first).length);
  const range = document.createRange();
  range.setStart(...placeIn(texts, start));
  const [node, offset] = placeIn(texts, (end < 0 ? start + squeezed(first).length : end + ending.length) - 1);
  range.setEnd(node, offset + 1);
  return range;
}

// The node and offset of the letter at this position of the squeezed text.
/** @param {{node: Text, from: number}[]} texts @param {number} position @returns {[Text, number]} */
function placeIn(texts, position) {
  const text = /** @type {{node: Text, from: number}} */ (texts.findLast(({ from, node }) => from <= position && squeezed(node.data)));
  let left = position - text.from;
  for (let at = 0; at < text.node.data.length; at += 1) {
    if (/\s/.test(text.node.data.charAt(at))) continue;
    if (left <= 0) return [text.node, at];
    left -= squeezed(text.node.data.charAt(at)).length;
  }
  return [text.node, Math.max(0, text.node.data.length - 1)];
}

// Highlights the words in the page itself, without changing its nodes, and scrolls to them.
/** @param {Range} range */
export function light(range) {
  const calm = matchMedia("(prefers-reduced-motion: reduce)").matches;
  const at = range.startContainer.parentElement;
  at?.closest("details:not([open])")?.setAttribute("open", "");
  at?.scrollIntoView({ block: "center", behavior: calm ? "auto" : "smooth" });
  if (typeof Highlight === "undefined") {
    const selection = getSelection();
    selection?.removeAllRanges();
    selection?.addRange(range);
    return;
  }
  if (!CSS.highlights.has(LIGHT)) {
    const sheet = new CSSStyleSheet();
    sheet.replaceSync(`::highlight(${LIGHT}) { color: #24211c; background-color: #ffe08a; }`);
    document.adoptedStyleSheets.push(sheet);
  }
  CSS.highlights.set(LIGHT, new Highlight(range));
}

export const unlight = () => globalThis.CSS?.highlights?.get(LIGHT)?.clear();

// Without the file name that servers add.
const plainPath = (/** @type {string} */ path) => path.replace(/(?:index)?\.html$/, "").replace(/(?<=.)\/$/, "");

/** @param {URL} address */
export const isHere = (address) =>
  address.origin === location.origin && plainPath(address.pathname) === plainPath(location.pathname) && address.search === location.search;

// Scrolls to the cited words of this page and highlights them; if there are none, to the heading.
/** @param {string} address */
export function showPassage(address) {
  const target = new URL(address);
  if (!isHere(target)) return;
  const words = wordsOf(address);
  const range = words && find(document.body, words, (node) => node.localName === "quoth-widget");
  // The URL stays: sites that swap pages by script would redraw this one, and the highlight would be gone.
  if (range) light(range);
  else location.hash = target.hash.slice(1).split(":~:")[0] ?? "";
}
