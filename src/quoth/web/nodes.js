// Small builders for DOM nodes. Text goes in as text, never as HTML.

/** @param {string} tag @param {Record<string, any>} [attributes] @param {...any} children @returns {any} the element of that tag */
export function element(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else node.setAttribute(name === "className" ? "class" : name, value === true ? "" : value);
  }
  node.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false));
  return node;
}

// Only absolute addresses: one that is relative to a page of the book is shown as plain words.
/** @param {string} href @param {any} label */
export function link(href, label) {
  if (!/^https?:\/\//i.test(href)) return element("span", {}, label);
  const address = parsed(href);
  if (!address) return element("span", {}, label); // a book may write anything
  const here = address.origin === location.origin; // the widget is on the book's own site
  return element("a", here ? { href } : { href, target: "_blank", rel: "noopener noreferrer" }, label);
}

/** @param {string} href */
function parsed(href) {
  try {
    return new URL(href);
  } catch {
    return null;
  }
}

// How to scroll for this reader.
export const calm = () => (matchMedia("(prefers-reduced-motion: reduce)").matches ? "auto" : "smooth");

/** @param {string[]} trail */
export function crumbs(trail) {
  const shown = trail.filter((name, at) => name.toLowerCase() !== trail[at - 1]?.toLowerCase());
  return shown.flatMap((name, at) => [
    at ? element("span", { className: "sep" }, " › ") : "",
    element("span", { className: at === shown.length - 1 ? "here" : null }, name),
  ]);
}

// Marks the first place in a node with these words, however space and tags divide them. False if there is none.
/** @param {Node} node @param {string} words */
export function mark(node, words) {
  const wanted = words.replace(/\s+/g, "");
  /** @type {{text: Text, letter: string, at: number, end: number}[]} */
  const letters = [];
  const texts = document.createTreeWalker(node, NodeFilter.SHOW_TEXT);
  while (texts.nextNode()) {
    const text = /** @type {Text} */ (texts.currentNode);
    [...text.data].reduce((at, letter) => {
      if (letter.trim()) letters.push({ text, letter, at, end: at + letter.length });
      return at + letter.length;
    }, 0);
  }
  const found = letters.map(({ letter }) => letter).join("").indexOf(wanted);
  if (!wanted || found < 0) return false;
  // Positions in the joined text count UTF-16 units.
  let passed = 0;
  const inside = letters.filter(({ letter }) => {
    const here = passed >= found && passed < found + wanted.length;
    passed += letter.length;
    return here;
  });
  for (const text of new Set(inside.map((one) => one.text))) {
    const own = inside.filter((one) => one.text === text);
    // The space between two parts belongs to the words, the space around them does not.
    const [first, last] = [own[0]?.at ?? 0, own.at(-1)?.end ?? 0];
    const from = own[0] !== inside[0] && !text.data.slice(0, first).trim() ? 0 : first;
    const to = own.at(-1) !== inside.at(-1) && !text.data.slice(last).trim() ? text.data.length : last;
    const middle = text.splitText(from);
    middle.splitText(to - from);
    const marked = element("mark", {});
    middle.replaceWith(marked);
    marked.append(middle);
  }
  return true;
}
