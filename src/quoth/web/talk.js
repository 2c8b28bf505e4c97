// A conversation with one book: its turns, the question box, and a passage in its context. The page is this with a title
// around it; the widget is this in a corner of somebody else's page.

import { calm, element } from "./nodes.js";
import { Trouble } from "./server.js";
import { Speaker } from "./speaker.js";
import { tab } from "./storage.js";
import { parts, say } from "./texts/index.js";
import { Turn } from "./turn.js";

/** @typedef {{node: Node, beside: boolean, opened: boolean, read: (source: import("./types.js").Source, bookId: string) => unknown}} Shows */

const LONGEST = 64000; // characters of a selection, as on the server

export class Talk {
  // `changed` is called when the conversation becomes empty or stops being empty; `noted(session, question)` when the server
  // knows a question; `arrived(turn, name, data)` with each event of an answer. `reader` shows passages; `filters()` gives the
  // filters of questions; `turn` has further options for each Turn.
  /**
   * @param {import("./server.js").Server} server
   * @param {{changed?: () => void, noted?: (session: string, question: string) => void,
   *   arrived?: (turn: Turn, name: string, data: any) => void, reader: Shows, filters?: () => object | undefined, turn?: object}} options
   */
  constructor(server, { changed = () => {}, noted = () => {}, arrived = () => {}, reader, filters = () => undefined, turn = {} }) {
    this.server = server;
    this.changed = changed;
    this.bookId = ""; // until one is opened
    this.opened = false; // the book is known and its conversation shown
    this.waiting = false; // a question was sent before that
    /** @type {string | null} */
    this.selected = null;
    /** @type {AbortController | null} */
    this.asking = null; // the AbortController of the current answer
    /** @type {{question: string, selected: string | null, node: HTMLElement}[]} */
    this.queue = []; // questions that wait for it
    this.noted = noted;
    this.arrived = arrived;
    this.filters = filters;
    this.options = turn;
    this.reader = reader;
    this.turns = element("div", { className: "turns", role: "group" });
    /** @type {Turn[]} */ this.told = [];
    this.speaker = new Speaker();
    this.dock = this.makeDock();
    this.nodes = [this.turns, this.dock, this.speaker.node, this.reader.node];
    this.label();
  }

  makeDock() {
    const stroke = (/** @type {string} */ path) => icon("path", { d: path });
    this.box = element("textarea", {
      id: "question", rows: "1", maxlength: "32000", dir: "auto", "aria-describedby": "keys",
      oninput: () => this.grow(), onkeydown: (/** @type {KeyboardEvent} */ event) => this.onKey(event),
    });
    this.sendButton = element("button", { type: "submit" }, stroke("M12 19V6m0 0-6 6m6-6 6 6"));
    this.stopButton = element(
      "button", { type: "button", className: "stop", hidden: true, onclick: () => this.stop() },
      icon("rect", { x: 7, y: 7, width: 10, height: 10, rx: 2 }),
    );
    this.name = element("label", { className: "unseen", for: "question" });
    this.form = element(
      "form", { className: "ask", autocomplete: "off", onsubmit: (/** @type {Event} */ event) => this.onSubmit(event) },
      this.name, this.box, this.sendButton, this.stopButton,
    );
    this.chip = element("div", { className: "selected", hidden: true });
    this.keys = element("p", { className: "keys", id: "keys" });
    return element("div", { className: "dock" }, this.chip, this.form, this.keys);
  }

  // Everything around the turns, in the current language.
  label() {
    this.turns.ariaLabel = say("conversation");
    this.name.textContent = say("yourQuestion");
    this.sendButton.ariaLabel = say("ask");
    this.stopButton.ariaLabel = say("stop");
    const hint = parts("keysHint", { enter: "Enter", shift: "Shift" });
    this.keys.replaceChildren(...hint.map((part, at) => (at % 2 ? element("kbd", {}, part) : part)));
    this.select(this.selected);
  }

  // The same conversation in another interface language.
  retell() {
    this.label();
    for (const turn of this.told) turn.retell();
    for (const { node, question, selected } of this.queue.splice(0)) {
      node.remove();
      this.wait(question, selected);
    }
  }

  get empty() {
    return !this.turns.children.length;
  }

  get sessionKey() {
    return `quoth.session.${this.bookId}`;
  }

  // Shows the book's conversation again; it lives on the server.
  /** @param {string} bookId */
  async open(bookId) {
    this.queue = [];
    this.stop();
    this.opened = false;
    this.bookId = bookId;
    this.turns.replaceChildren();
    this.told = [];
    const session = tab.get(this.sessionKey);
    if (session) await this.restore(session);
    if (this.bookId !== bookId) return; // the reader has opened another one meanwhile
    this.opened = true;
    this.changed();
    if (this.waiting) this.form.requestSubmit();
  }

  /** @param {string} session */
  async restore(session) {
    const { bookId, sessionKey } = this;
    try {
      const { entries } = await this.server.get(`history/${session}?limit=20`);
      if (this.bookId !== bookId) return;
      for (const entry of entries) {
        const turn = this.begin(entry.query);
        turn.restore(entry);
      }
      this.turns.lastElementChild?.scrollIntoView({ block: "start" });
    } catch (problem) {
      // Erased on the server, or another reader's: start anew. After an outage the conversation is back.
      if (problem instanceof Trouble && [403, 404].includes(problem.status)) tab.remove(sessionKey);
    }
  }

  /** @param {string} question @param {string | null} [selected] */
  begin(question, selected = null) {
    const read = (/** @type {import("./types.js").Source} */ source) => this.reader.read(source, this.bookId);
    const turn = new Turn(question, { ...this.options, selected, beside: this.reader.beside, read });
    this.told.push(turn);
    this.turns.insertBefore(turn.node, this.queue[0]?.node ?? null);
    return turn;
  }

  /** @param {string} question @param {string | null} [selected] */
  async ask(question, selected = this.selected) {
    if (this.asking) return this.wait(question, selected);
    const turn = this.begin(question, selected);
    this.changed();
    this.hold(turn.node);
    turn.node.scrollIntoView({ block: "start", behavior: calm() });
    const controller = new AbortController();
    this.busy(controller);
    try {
      await this.converse(turn, question, selected, controller.signal);
    } catch (error) {
      if (controller.signal.aborted) return turn.interrupted();
      const known = error instanceof Trouble;
      turn.fail(known ? error : new Trouble({ status: 500 }), () => this.again(turn, selected));
      if (!known) throw error; // our own bug: for the console
    } finally {
      this.busy(null);
      this.next();
    }
  }

  // The button that the reader pressed may be gone now: then focus the question.
  /** @param {HTMLElement} node */
  hold(node) {
    const { activeElement } = /** @type {Document | ShadowRoot} */ (this.turns.getRootNode());
    if (activeElement && activeElement !== document.body && activeElement.checkVisibility()) return;
    node.tabIndex = -1;
    node.focus({ preventScroll: true });
  }

  /** @param {Turn} turn @param {string | null} selected */
  again(turn, selected) {
    turn.node.remove();
    this.ask(turn.question, selected);
  }

  /** @param {Turn} turn @param {string} question @param {string | null} selected @param {AbortSignal} signal */
  async converse(turn, question, selected, signal) {
    const key = this.sessionKey; // the reader may open another book meanwhile
    const session_id = tab.get(key) ?? undefined;
    const selected_text = selected ?? undefined;
    const body = { query: question, book_id: this.bookId, session_id, selected_text, filters: selected ? undefined : this.filters() };
    this.speaker.begin(say("looking"));
    for await (const { name, data } of this.server.stream("chat/stream", body, signal)) {
      if (name === "retrieval") {
        tab.set(key, data.session_id); // readers who stop the answer can still continue
        this.noted(data.session_id, question);
      }
      if (name === "delta") this.speaker.add(data.delta);
      if (name === "done") this.speaker.end(data.answer ?? data.fallback_message ?? "");
      turn.take(name, data);
      if (name === "done") this.speaker.tell(turn.words);
      this.arrived(turn, name, data);
    }
  }

  // Another conversation about this book, or with null a new one.
  /** @param {string | null} session */
  async resume(session) {
    if (session) tab.set(this.sessionKey, session);
    else tab.remove(this.sessionKey);
    this.select(null);
    await this.open(this.bookId);
  }

  // Shown at once, asked when the answer before it is complete.
  /** @param {string} question @param {string | null} [selected] */
  wait(question, selected = this.selected) {
    const drop = () => {
      this.queue = this.queue.filter((one) => one !== waiting);
      waiting.node.remove();
      this.box.focus();
    };
    const waiting = {
      question, selected,
      node: element(
        "article", { className: "turn queued", "aria-label": question },
        element("h2", { className: "asked", dir: "auto" }, question),
        element("p", { className: "facts reply" }, say("queued"), element("button", { type: "button", className: "plain", onclick: drop }, say("dropQueued"))),
      ),
    };
    this.queue.push(waiting);
    this.turns.append(waiting.node);
  }

  next() {
    const waiting = this.queue.shift();
    if (!waiting) return;
    waiting.node.remove();
    this.ask(waiting.question, waiting.selected);
  }

  // From now on only this text may answer; null means the whole book again.
  /** @param {string | null} text */
  select(text) {
    this.selected = text ? [...text].slice(0, LONGEST).join("") : null;
    this.chip.hidden = !this.selected;
    this.box.placeholder = say(this.selected ? "askSelectionPlaceholder" : "askPlaceholder");
    this.chip.replaceChildren(
      element("span", { className: "selected-text" }, this.selected?.replace(/\s+/g, " ").slice(0, 200) ?? ""),
      element("button", { type: "button", className: "quiet", "aria-label": say("dropSelection"), onclick: () => this.select(null) }, "✕"),
    );
  }

  anew() {
    this.queue = [];
    this.stop();
    tab.remove(this.sessionKey);
    this.turns.replaceChildren();
    this.told = [];
    this.select(null);
    this.changed();
    this.box.focus();
  }

  stop() {
    this.asking?.abort();
  }

  disable(off = true) {
    this.box.disabled = this.sendButton.disabled = off;
  }

  /** @param {AbortController | null} controller */
  busy(controller) {
    this.asking = controller;
    this.stopButton.hidden = !controller;
  }

  grow() {
    this.box.style.height = "auto";
    this.box.style.height = `${this.box.scrollHeight}px`;
  }

  /** @param {KeyboardEvent} event */
  onKey(event) {
    if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
    event.preventDefault();
    this.form.requestSubmit();
  }

  /** @param {Event} event */
  onSubmit(event) {
    event.preventDefault();
    const question = this.box.value.trim();
    if (!question) return;
    this.waiting = !this.opened; // it stays in the box until there is a book to ask
    if (this.waiting) return;
    this.box.value = "";
    this.grow();
    if (this.asking) this.wait(question);
    else this.ask(question);
  }
}

/** @param {string} shape @param {Record<string, any>} attributes */
function icon(shape, attributes) {
  const make = (/** @type {string} */ tag, /** @type {Record<string, any>} */ given) => {
    const node = document.createElementNS("http://www.w3.org/2000/svg", tag);
    for (const [name, value] of Object.entries(given)) node.setAttribute(name, value);
    return node;
  };
  const picture = make("svg", { viewBox: "0 0 24 24", "aria-hidden": "true" });
  picture.append(make(shape, attributes));
  return picture;
}
