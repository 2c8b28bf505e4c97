// What the widget opens: the conversation of the page, in a corner of the book's own site.

import { element } from "./nodes.js";
import { offerSelection } from "./selection.js";
import { Server, Trouble } from "./server.js";
import { tab } from "./storage.js";
import { Talk } from "./talk.js";
import { language, say, speak } from "./texts/index.js";

export class Corner {
  static async in(widget, base, options) {
    await speak([options.lang, document.documentElement.lang, ...navigator.languages]);
    const sheets = await Promise.all(["quoth.css", "corner.css"].map((name) => sheet(new URL(name, import.meta.url))));
    const corner = new Corner(widget, base, options);
    widget.shadowRoot.adoptedStyleSheets.push(...sheets);
    widget.shadowRoot.append(corner.node);
    if (options.selection !== "off") corner.offerSelection();
    return corner;
  }

  constructor(widget, base, options) {
    this.widget = widget;
    this.options = options;
    this.server = new Server(base, options.key);
    this.talk = new Talk(this.server, { changed: () => this.changed() });
    this.title = element("h2", { id: "corner-title" }, options.title ?? say("askTheBook"));
    this.anew = element("button", { type: "button", className: "quiet", hidden: true, onclick: () => this.talk.anew() }, say("newConversation"));
    const close = element("button", { type: "button", className: "quiet", "aria-label": say("close"), onclick: () => this.close() }, "✕");
    this.note = element("p", { className: "lede" }, say("promise"));
    this.node = element(
      "section", { className: "corner", role: "dialog", ...language(), "aria-labelledby": "corner-title", hidden: true },
      element("header", {}, this.title, this.anew, close),
      element("div", { className: "scroll" }, this.note, ...this.talk.nodes),
    );
    this.node.addEventListener("keydown", (event) => this.onKey(event));
  }

  // The book is looked up once, when the panel is first opened.
  ready() {
    this.opening ??= this.choose().catch((trouble) => {
      this.opening = null;
      if (!(trouble instanceof Trouble)) throw trouble;
      const { what, hint } = trouble.told();
      this.note.textContent = `${what} ${hint}`;
      this.note.setAttribute("role", "alert");
    });
    return this.opening;
  }

  async choose() {
    const { books } = await this.server.get("books");
    const book = books.find((candidate) => candidate.book_id === this.options.book) ?? (this.options.book ? null : books[0]);
    if (!book) throw new Trouble({ error_code: "UNKNOWN_BOOK" });
    this.title.textContent = this.options.title ?? book.title;
    await this.talk.open(book.book_id);
  }

  async open() {
    this.node.hidden = false;
    this.widget.button.ariaExpanded = "true";
    tab.set("quoth.open", "yes"); // also on the next page of the site
    await this.ready();
    this.talk.box.focus();
  }

  close() {
    this.node.hidden = true;
    this.widget.button.ariaExpanded = "false";
    tab.remove("quoth.open");
    this.widget.button.focus();
  }

  toggle() {
    return this.node.hidden ? this.open() : this.close();
  }

  changed() {
    this.note.hidden = !this.talk.empty;
    this.anew.hidden = this.talk.empty;
  }

  onKey(event) {
    event.stopPropagation(); // or the site's own shortcuts would take what is typed here
    if (event.key !== "Escape" || this.talk.reader.node.open) return;
    if (this.talk.asking) this.talk.stop();
    else this.close();
  }

  offerSelection() {
    offerSelection({
      place: this.widget.shadowRoot,
      allowed: (node) => !this.widget.contains(node) && !node.parentElement?.closest("input, textarea, [contenteditable]"),
      ask: (text) => {
        this.talk.select(text); // at once: who is quick asks before the book is known
        return this.open();
      },
    });
  }
}

async function sheet(address) {
  const made = new CSSStyleSheet();
  made.replaceSync(await (await fetch(address)).text());
  return made;
}
