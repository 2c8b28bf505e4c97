// Before the first question: suggested and recent questions, and the book's contents to browse. Also the filters for
// questions, if the book has labels for them.

import { element } from "./nodes.js";
import { browser } from "./storage.js";
import { say } from "./texts/index.js";

/**
 * @typedef {{title: string, chunk_id: string, source_url: string, at: number}} Entry `at`: its place among pages and sections
 * @typedef {{title: string, at: number, pages: Entry[], sections: Section[]}} Section
 * @typedef {{module: string[], chapter: number[], hardware_tier: number[], proficiency_levels: string[], layer: string[]}} Choices
 * @typedef {{contents: Section, filters: Choices}} Contents what `GET /books/{book_id}/contents` sends
 */

const RECENT = 4;
const UNFOLDED = 12; // pages; a larger section is shown closed

export class Start {
  // The actions here: `ask(question)`, `open(session)`, `read(entry)`.
  /**
   * @param {Contents} book @param {import("./side.js").Remembered[]} remembered
   * @param {{ask: (question: string) => void, open: (session: string) => void, read: (entry: Entry) => void}} doing
   */
  constructor(book, remembered, { ask, open, read }) {
    this.ask = ask;
    this.list = element("ul", {});
    this.progress = element("p", { className: "progress" }, say("looking"));
    this.questions = section(say("startQuestions"), this.list, this.progress);
    const recent = remembered.slice(0, RECENT).map((one) => element("li", {}, starter(one.title, () => open(one.id))));
    const asked = recent.length ? section(say("recentQuestions"), element("ul", {}, recent)) : null;
    asked?.classList.add("recent");
    this.node = element("div", { className: "starts" }, element("div", {}, this.questions, asked), contentsNode(book.contents, read));
  }

  // They come one after another, and nothing else moves: what the reader has unfolded stays open.
  /** @param {string[]} proposed @param {boolean} complete */
  propose(proposed, complete) {
    const known = this.list.childElementCount;
    this.list.append(...proposed.slice(known).map((question) => element("li", {}, starter(question, () => this.ask(question)))));
    this.progress.hidden = complete || proposed.length > 0;
    this.questions.hidden = complete && !proposed.length;
  }
}

/** @param {string} title @param {...HTMLElement} nodes @returns {HTMLElement} */
const section = (title, ...nodes) => element("section", { className: "start" }, element("h2", {}, title), nodes);

/** @param {string} words @param {() => void} onclick */
const starter = (words, onclick) => element("button", { type: "button", className: "starter", dir: "auto", onclick }, words);

/** @param {Section} contents @param {(entry: Entry) => void} read */
export function contentsNode(contents, read) {
  if (!contents.pages.length && !contents.sections.length) return null;
  const few = counted(contents) <= UNFOLDED;
  return element("section", { className: "start contents" }, element("h2", { "data-say": "contents" }, say("contents")), branch(contents, read, few));
}

/** @param {Section} section @returns {number} */
const counted = (section) => section.pages.length + section.sections.reduce((sum, below) => sum + counted(below), 0);

/** @param {Section} section @param {(entry: Entry) => void} read @param {boolean} open @returns {HTMLElement} */
function branch(section, read, open) {
  const page = (/** @type {Entry} */ entry) => element("li", {}, element("button", { type: "button", className: "leaf", dir: "auto", onclick: () => read(entry) }, entry.title));
  const fold = (/** @type {Section} */ below) => element("li", {}, element("details", { open }, element("summary", { dir: "auto" }, below.title), branch(below, read, open)));
  const all = [...section.pages.map((entry) => ({ at: entry.at, node: page(entry) })), ...section.sections.map((below) => ({ at: below.at, node: fold(below) }))];
  return element("ul", { className: "tree" }, all.sort((one, other) => one.at - other.at).map(({ node }) => node));
}

// --- filters for questions ----------------------------------------------------------------------------------------------

export class Narrowing {
  constructor() {
    this.bookId = "";
    /** @type {Choices | null} */ this.choices = null;
    /** @type {Record<string, string>} */ this.chosen = {};
    /** @type {HTMLElement | null} */ this.summary = null;
    this.node = element("details", { className: "narrow", hidden: true });
  }

  get key() {
    return `quoth.filters.${this.bookId}`;
  }

  /** @param {string} bookId @param {Choices | null} choices */
  show(bookId, choices) {
    this.bookId = bookId;
    this.choices = choices;
    this.chosen = choices ? this.remembered(choices) : {};
    this.draw();
  }

  // Only what the book still has.
  /** @param {Choices} choices */
  remembered(choices) {
    try {
      const known = Object.entries(JSON.parse(browser.get(this.key) ?? "{}"));
      return Object.fromEntries(known.filter(([name, value]) => Object.hasOwn(choices, name) && choices[/** @type {keyof Choices} */ (name)].some((one) => String(one) === value)).map(([name, value]) => [name, String(value)]));
    } catch {
      return {};
    }
  }

  // In the server's form; undefined if nothing is chosen.
  filters() {
    const { module, chapter, hardware_tier, proficiency_levels, layer } = this.chosen;
    if (!Object.keys(this.chosen).length) return undefined;
    return {
      ...(module && { module }),
      ...(chapter && { chapter_min: Number(chapter), chapter_max: Number(chapter) }),
      ...(hardware_tier && { hardware_tier: Number(hardware_tier) }),
      ...(proficiency_levels && { proficiency_levels: [proficiency_levels] }),
      ...(layer && { layer }),
    };
  }

  draw() {
    const fields = Object.entries(this.choices ?? {}).filter(([, values]) => values.length > 0);
    this.node.hidden = fields.length === 0;
    const chosen = fields.flatMap(([name]) => (this.chosen[name] ? [`${say(/** @type {any} */ (`filter_${name}`))}: ${this.chosen[name]}`] : []));
    this.summary = element("summary", {}, chosen.length ? say("narrowedTo", { filters: chosen.join(" · ") }) : say("narrow"));
    const clear = element("button", { type: "button", className: "plain", onclick: () => (this.choose({}), this.summary?.focus()) }, say("wholeBook"));
    this.node.replaceChildren(
      this.summary,
      element("div", { className: "fields" }, fields.map(([name, values]) => this.field(name, values)), chosen.length > 0 && clear),
    );
  }

  /** @param {string} name @param {(string | number)[]} values */
  field(name, values) {
    const change = (/** @type {Event} */ event) => {
      const { value } = /** @type {HTMLSelectElement} */ (event.currentTarget);
      const { [name]: _, ...others } = this.chosen;
      this.choose(value ? { ...others, [name]: value } : others);
      /** @type {HTMLElement | null} */ (this.node.querySelector(`select[name=${name}]`))?.focus();
    };
    const options = values.map((value) => element("option", { value: String(value), selected: this.chosen[name] === String(value) }, name === "hardware_tier" ? say("upToTier", { n: Number(value) }) : String(value)));
    return element("label", {}, element("span", {}, say(/** @type {any} */ (`filter_${name}`))), element("select", { name, onchange: change }, element("option", { value: "" }, say("all")), options));
  }

  /** @param {Record<string, string>} chosen */
  choose(chosen) {
    this.chosen = chosen;
    if (Object.keys(chosen).length) browser.set(this.key, JSON.stringify(chosen));
    else browser.remove(this.key);
    this.draw();
  }
}
