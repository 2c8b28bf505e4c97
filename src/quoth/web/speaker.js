// Reads an answer to screen reader users: sentence by sentence as it is written, without Markdown. A screen reader reads each
// addition to the log once it has finished the one before.

import { element } from "./nodes.js";

export class Speaker {
  constructor() {
    this.node = element("div", { className: "unseen", role: "log" });
    this.rest = "";
    this.silent = true;
  }

  /** @param {string} sentence */
  tell(sentence) {
    this.node.append(element("p", { dir: "auto" }, sentence));
  }

  /** @param {string} opening said while the book is looked through */
  begin(opening) {
    this.node.replaceChildren();
    this.rest = "";
    this.silent = true;
    this.tell(opening);
  }

  /** @param {string} delta */
  add(delta) {
    const [whole, rest] = sentences(this.rest + delta);
    this.rest = rest;
    for (const sentence of whole) this.tell(sentence);
    if (whole.length) this.silent = false;
  }

  /** @param {string} answer said whole when nothing of it was said before */
  end(answer) {
    const last = plain(this.silent ? answer : this.rest);
    this.rest = "";
    if (last) this.tell(last);
  }
}

// The complete sentences, as spoken, and the rest. A full stop counts only if space or more text follows it: 3.11 is one
// number, and the next piece may continue it.
/** @param {string} text @returns {[string[], string]} */
export function sentences(text) {
  const whole = [];
  let from = 0;
  for (const { index, 0: end } of text.matchAll(/[.!?](?:["”’)\]]|\[\d+\])*\s+|[。！？۔؟](?:[”」）]|\[\d+\])*\s*|\n\s*/gu)) {
    const sentence = plain(text.slice(from, index + end.length));
    from = index + end.length;
    if (sentence) whole.push(sentence);
  }
  return [whole, text.slice(from)];
}

// Words without Markdown. Source markers are not read out: they are links in the answer.
/** @param {string} markdown */
export function plain(markdown) {
  return markdown
    .replace(/^\s*(?:`{3,}|~{3,}).*$/gm, "")
    .replace(/!?\[([^\]]*)\]\([^)]*\)/g, "$1")
    .replace(/\s*\[\d{1,3}(?:\s*,\s*\d{1,3})*\]/g, "")
    .replace(/^\s*(?:#{1,6}|>|[-*+](?: \[[ xX]\])?|\|)\s+/gm, "")
    .replace(/\*\*|__|`|(?<!\w)[*_](?=\S)|(?<=\S)[*_](?!\w)|~~/g, "")
    .replace(/\s*\|\s*/g, " ")
    .replace(/\s+/g, " ")
    .trim();
}
