// Reads an answer to those who hear the page: sentence by sentence while it is written, without the signs of Markdown. A
// screen reader says what is added to the log when it has finished what it is saying.

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

// The sentences that are complete, as they are spoken, and what is left. A full stop counts when space or more text follows
// it: 3.11 is one number, and the next piece may go on.
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

// Words without the signs of Markdown. Markers of sources are not read out: they are links in the answer.
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
