// The conversations that this browser remembers, newest first: to continue, rename or delete. The server stores the messages;
// here are only ids and names.

import { element } from "./nodes.js";
import { browser } from "./storage.js";
import { say } from "./texts/index.js";

/** @typedef {{id: string, title: string, at: number}} Remembered */

const MOST = 50;

export class Side {
  // `open(session)` shows a conversation, null a new one; `erase(session)` deletes it on the server.
  /** @param {HTMLElement} node @param {{open: (session: string | null) => void, erase: (session: string) => Promise<void>, changed: () => void}} options */
  constructor(node, { open, erase, changed }) {
    this.node = node;
    this.open = open;
    this.erase = erase;
    this.changed = changed;
    this.bookId = "";
    /** @type {string | null} */ this.current = null;
    /** @type {boolean | null} */ this.folded = null; // null: depends on the room
    addEventListener("storage", (event) => event.key === this.key && this.draw()); // another tab
  }

  get key() {
    return `quoth.talks.${this.bookId}`;
  }

  /** @returns {Remembered[]} */
  get all() {
    try {
      const known = JSON.parse(browser.get(this.key) ?? "[]");
      return Array.isArray(known) ? known.filter((one) => typeof one?.id === "string" && typeof one.title === "string") : [];
    } catch {
      return []; // somebody else wrote there
    }
  }

  /** @param {Remembered[]} all */
  keep(all) {
    browser.set(this.key, JSON.stringify(all.slice(0, MOST)));
    this.draw();
  }

  /** @param {string} bookId @param {string | null} current */
  show(bookId, current) {
    this.bookId = bookId;
    this.current = current;
    this.draw();
  }

  // A question was asked: its conversation is the newest. The first question is its name.
  /** @param {string} id @param {string} question */
  note(id, question) {
    const known = this.all.find((one) => one.id === id);
    const title = known?.title ?? question.replace(/\s+/g, " ").slice(0, 120);
    this.current = id;
    this.keep([{ id, title, at: Date.now() }, ...this.all.filter((one) => one.id !== id)]);
  }

  /** @param {string} id */
  forget(id) {
    this.keep(this.all.filter((one) => one.id !== id));
  }

  draw() {
    this.node.ariaLabel = say("conversations");
    const anew = element("button", { type: "button", className: "quiet", onclick: () => this.open(null) }, `+ ${say("newConversation")}`);
    this.node.replaceChildren(
      element("h2", {}, say("conversations")),
      anew,
      element("ul", { className: "talks" }, this.all.map((one) => this.item(one))),
    );
    this.changed();
  }

  // The list was redrawn: keep the focus on the same conversation, or at the top.
  focus(id = "") {
    const nodes = /** @type {NodeListOf<HTMLElement>} */ (this.node.querySelectorAll("button"));
    ([...nodes].find((node) => node.dataset.id === id) ?? nodes[0])?.focus();
  }

  /** @param {Remembered} one */
  item(one) {
    const here = one.id === this.current;
    const name = element("button", { type: "button", className: "talk", "data-id": one.id, dir: "auto", "aria-current": here ? "true" : null, onclick: () => this.open(one.id) }, one.title);
    const rename = element("button", { type: "button", className: "quiet icon", "aria-label": say("renameNamed", { name: one.title }), title: say("rename"), onclick: () => this.rename(one, item) }, "✎");
    const erase = element("button", { type: "button", className: "quiet icon", "aria-label": say("eraseNamed", { name: one.title }), title: say("erase"), onclick: () => this.sure(one, item) }, "✕");
    const item = element("li", { className: here ? "current" : null }, name, rename, erase);
    return item;
  }

  /** @param {Remembered} one @param {HTMLElement} item */
  rename(one, item) {
    const field = /** @type {HTMLInputElement} */ (element("input", { className: "field", dir: "auto", maxlength: "120", value: one.title, "aria-label": say("rename") }));
    const done = (/** @type {Event} */ event) => {
      event.preventDefault();
      const title = field.value.trim() || one.title;
      this.keep(this.all.map((other) => (other.id === one.id ? { ...other, title } : other)));
      this.focus(one.id);
    };
    field.addEventListener("keydown", (event) => {
      if (event.key !== "Escape") return;
      event.stopPropagation();
      this.draw();
      this.focus(one.id);
    });
    item.replaceChildren(element("form", { onsubmit: done }, field, element("button", { type: "submit", className: "quiet" }, say("save"))));
    field.select();
  }

  // Ask once more: an erased conversation is gone for good.
  /** @param {Remembered} one @param {HTMLElement} item */
  sure(one, item) {
    const yes = element("button", { type: "button", className: "quiet danger", onclick: () => this.remove(one, item) }, say("eraseForGood"));
    const no = element("button", { type: "button", className: "quiet", onclick: () => (this.draw(), this.focus(one.id)) }, say("keep"));
    item.replaceChildren(element("p", { className: "sure", dir: "auto" }, one.title), yes, no);
    yes.focus();
  }

  /** @param {Remembered} one @param {HTMLElement} item */
  async remove(one, item) {
    try {
      await this.erase(one.id);
    } catch (problem) {
      item.append(element("p", { role: "alert" }, /** @type {any} */ (problem).told?.().what ?? say("away")));
      return;
    }
    this.forget(one.id);
    if (one.id === this.current) this.open(null);
    else this.focus();
  }
}
