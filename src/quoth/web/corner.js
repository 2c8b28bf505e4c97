// The widget's panel: the page's conversation, in a corner of the book's own site.

import { element } from "./nodes.js";
import { Opinions } from "./opinions.js";
import { isHere, showPassage, unlight } from "./passages.js";
import { codeOf, offerCode, offerSelection } from "./selection.js";
import { Server, Trouble } from "./server.js";
import { tab } from "./storage.js";
import { pageOf, partOf, starters } from "./surroundings.js";
import { Talk } from "./talk.js";
import { language, say } from "./texts/index.js";

/** @typedef {HTMLElement & {button: HTMLButtonElement, back: (on: boolean) => void}} Widget */
/** @typedef {Record<string, string | undefined>} Options the data-… attributes of the tag */

export class Corner {
  /** @param {Widget} widget @param {URL} base @param {Options} options */
  static async in(widget, base, options) {
    const root = /** @type {ShadowRoot} */ (widget.shadowRoot);
    // The reader's own text size: the widget takes none from the site, and a site's `rem` may be anything.
    const size = parseFloat(getComputedStyle(widget).fontSize) || 16;
    const styles = await sheet(new URL("corner.css", import.meta.url), size);
    const corner = new Corner(widget, base, options);
    root.adoptedStyleSheets.push(styles);
    root.append(corner.frame);
    corner.offer();
    return corner;
  }

  /** @param {Widget} widget @param {URL} base @param {Options} options */
  constructor(widget, base, options) {
    this.widget = widget;
    this.options = options;
    this.small = matchMedia("(max-width: 576px)"); // as in corner.css: the panel fills the screen
    this.server = new Server(base, options.key);
    this.talk = new Talk(this.server, { changed: () => this.changed(), filters: () => this.context(), reader: new LateReader(this.server), turn: { tools: (/** @type {any} */ turn) => opinions.tools(turn) } });
    const opinions = new Opinions(this.server, () => tab.get(this.talk.sessionKey));
    /** @type {Element | null} where the reader was before the panel opened */
    this.before = null;
    /** @type {Promise<void> | null} */
    this.opening = null;
    this.title = element("h2", { id: "corner-title", dir: "auto" }, options.title ?? say("askTheBook"));
    this.anew = element("button", { type: "button", className: "quiet", hidden: true, onclick: () => this.talk.anew() }, say("newConversation"));
    const close = element("button", { type: "button", className: "quiet", "aria-label": say("close"), onclick: () => this.close() }, "✕");
    this.note = element("div", { className: "welcome" });
    this.onlyPage = element("input", { type: "checkbox", id: "only-page" });
    this.talk.dock.append(element("label", { className: "only" }, this.onlyPage, say("onlyThisPage")));
    this.node = element(
      "section", { className: "corner", role: "dialog", "aria-labelledby": "corner-title", hidden: true },
      element("header", {}, this.title, this.anew, close),
      element("div", { className: "scroll" }, this.note, ...this.talk.nodes),
    );
    this.node.addEventListener("keydown", (/** @type {KeyboardEvent} */ event) => this.onKey(event));
    this.node.addEventListener("click", (/** @type {MouseEvent} */ event) => this.onClick(event));
    this.frame = element("div", { className: "frame", ...language() }, this.node);
    this.greet();
  }

  // An empty panel says what this is and suggests questions about the page.
  greet() {
    const ask = async (/** @type {string} */ question) => {
      await this.ready();
      await this.talk.ask(question);
    };
    const asked = starters(document, (heading) => say("starter", { heading }));
    const buttons = asked.map((question) =>
      element("li", {}, element("button", { type: "button", className: "starter", dir: "auto", onclick: () => ask(question) }, question)),
    );
    this.note.replaceChildren(
      element("p", { className: "lede" }, say("promise")),
      ...(buttons.length ? [element("ul", { className: "starters", "aria-label": say("starters") }, buttons)] : []),
    );
  }

  // The book is looked up once, when the panel is first opened.
  ready() {
    this.opening ??= this.choose().catch((trouble) => {
      this.opening = null;
      if (!(trouble instanceof Trouble)) throw trouble;
      const { what, hint } = trouble.told();
      const again = element("button", { type: "button", className: "quiet", onclick: () => this.ready() }, say("tryAgain"));
      this.note.replaceChildren(element("div", { className: "lede", role: "alert" }, element("p", {}, what), element("p", {}, hint), again));
    });
    return this.opening;
  }

  async choose() {
    const { books } = await this.server.get("books");
    const book = books.find((/** @type {any} */ one) => one.book_id === this.options.book) ?? (this.options.book ? null : books[0]);
    if (!book) throw new Trouble({ error_code: "UNKNOWN_BOOK" });
    this.title.textContent = this.options.title ?? book.title;
    this.greet();
    await this.talk.open(book.book_id);
  }

  // Where an answer may come from: the whole book, the version of this page, or this page alone.
  context() {
    const prefix = this.onlyPage.checked ? pageOf(location.pathname) : partOf(this.options.under, location.pathname);
    return prefix ? { source_url_prefix: prefix } : undefined;
  }

  async open({ focus = true } = {}) {
    this.before = document.activeElement;
    const code = this.before?.closest("pre");
    if (code) this.talk.select(codeOf(code));
    this.node.hidden = false;
    this.node.setAttribute("aria-modal", String(this.small.matches));
    this.widget.button.ariaExpanded = "true";
    this.widget.back(false);
    tab.set("quoth.open", "yes"); // on the site's next page too
    tab.remove("quoth.back");
    if (focus) this.talk.box.focus();
    await this.ready();
  }

  hide() {
    this.node.hidden = true;
    this.widget.button.ariaExpanded = "false";
    tab.remove("quoth.open");
  }

  close() {
    this.hide();
    const there = this.before instanceof HTMLElement && this.before.isConnected && !this.before.matches("body, quoth-widget");
    (there ? /** @type {HTMLElement} */ (this.before) : this.widget.button).focus();
  }

  toggle() {
    return this.node.hidden ? this.open() : this.close();
  }

  changed() {
    this.note.hidden = !this.talk.empty;
    this.anew.hidden = this.talk.empty;
    if (this.talk.empty) unlight();
  }

  /** @param {KeyboardEvent} event */
  onKey(event) {
    const shortcut = event.ctrlKey || event.metaKey;
    if (!shortcut) event.stopPropagation(); // or the site's own shortcuts would catch what is typed here
    if (event.key !== "Escape" || this.talk.reader.opened) return;
    if (this.talk.asking) this.talk.stop();
    else this.close();
  }

  // A citation of this site, by its number or its link. On this page its words are highlighted; on a small screen the panel makes room for them, and
  // the button leads back to the answer, here and on the next page.
  /** @param {MouseEvent} event */
  onClick(event) {
    const pressed = event.composedPath().find((node) => node instanceof HTMLAnchorElement && node.href);
    if (!(pressed instanceof HTMLAnchorElement) || event.ctrlKey || event.metaKey || event.shiftKey) return;
    const marker = pressed.closest(".marker"); // it has opened its source's card
    const link = marker ? this.widget.shadowRoot?.activeElement?.closest(".card")?.querySelector("a") : pressed;
    const target = link ? new URL(link.href) : null;
    if (target?.origin !== location.origin || (marker && !isHere(target))) return;
    if (this.small.matches) this.leave();
    if (!isHere(target)) {
      tab.set("quoth.lit", target.href); // the widget of the next page looks for the words
      return;
    }
    event.preventDefault();
    showPassage(target.href);
  }

  leave() {
    this.hide();
    tab.set("quoth.back", "yes");
    this.widget.back(true);
  }

  offer() {
    const about = (/** @type {string} */ text) => {
      this.talk.select(text); // at once: quick readers ask before the book is known
      return this.open();
    };
    const outside = (/** @type {Node | null} */ node) =>
      !this.widget.contains(node) && !node?.parentElement?.closest("input, textarea, [contenteditable]");
    if (this.options.selection !== "off") offerSelection({ place: this.frame, allowed: outside, ask: about });
    if (this.options.code !== "off") offerCode({ place: this.frame, ask: about });
  }
}

// A passage in its context. Its code is loaded only on demand: most readers follow the link into the site.
class LateReader {
  beside = false;
  node = element("div");
  /** @type {import("./reader.js").Reader | null} */
  real = null;

  /** @param {Server} server */
  constructor(server) {
    this.server = server;
  }

  get opened() {
    return this.real?.opened ?? false;
  }

  /** @param {import("./types.js").Source} source @param {string} bookId */
  async read(source, bookId) {
    const { Reader } = await import("./reader.js");
    this.real ??= new Reader(this.server);
    this.node.replaceChildren(this.real.node);
    await this.real.read(source, bookId);
  }
}

// A style sheet for the shadow tree: its own sizes instead of the site's, and no fonts, which belong to pages.
/** @param {URL} address @param {number} size pixels */
async function sheet(address, size) {
  const text = await (await fetch(address)).text();
  const made = new CSSStyleSheet();
  made.replaceSync(
    text
      .replace(/(-?[\d.]+)rem\b/g, (_, count) => `${Math.round(count * size * 100) / 100}px`)
      .replace(/@font-face\s*\{[^}]*\}/g, "")
      .replace(/:root,\s*:host\b/g, ".frame"),
  );
  return made;
}
