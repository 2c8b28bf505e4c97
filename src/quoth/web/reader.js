// The book itself, open at the page that an answer cites, with the exact sentence highlighted. On the page it is beside the
// answer; in the widget, which has no room for it, it is a dialog.

import { drawnWords } from "./cards.js";
import { addressOf, characters, decisive } from "./cited.js";
import { render } from "./markdown.js";
import { crumbs, element, link, mark } from "./nodes.js";
import { say } from "./texts/index.js";

/** @typedef {import("./types.js").Source} Source */

/**
 * @typedef {object} BookPage what `GET /books/{book_id}/page` sends
 * @property {string} title
 * @property {string[]} breadcrumb
 * @property {string} source_url
 * @property {string} text
 * @property {{chunk_id: string, at: number}[]} places
 * @property {{title: string, chunk_id: string} | null} before
 * @property {{title: string, chunk_id: string} | null} after
 */

export class Reader {
  // `adorn(node)` makes drawn text more pleasant; `changed()` is called when it is opened or closed, `shown(source)` with what it is open at.
  /** @param {import("./server.js").Server} server @param {{beside?: boolean, adorn?: (node: Element) => void, changed?: () => void, shown?: (source: Source | null) => void}} [options] */
  constructor(server, { beside = false, adorn = () => {}, changed = () => {}, shown = () => {} } = {}) {
    this.shown = shown;
    this.server = server;
    this.beside = beside;
    this.adorn = adorn;
    this.changed = changed;
    /** @type {BookPage | null} */ this.page = null;
    /** @type {Source | null} */ this.source = null; // what it is open at
    this.bookId = "";
    this.wanted = 0; // the last request: an earlier page that arrives late is not shown
    /** @type {HTMLElement | null} */ this.from = null; // what the reader opened it with, to go back there
    this.title = element("h2", { id: "reader-title", dir: "auto" });
    this.place = element("span", { className: "reader-place" });
    this.text = element("div", { className: "prose reader-text", tabindex: "0", role: "region", "aria-labelledby": "reader-title" });
    this.turner = element("nav", { className: "reader-turner" });
    this.closer = element("button", { type: "button", className: "quiet", onclick: () => this.close() }, "✕");
    const inside = [element("header", {}, this.title, this.place, this.closer), this.text, this.turner];
    this.node = beside
      ? element("aside", { className: "book", "aria-labelledby": "reader-title", hidden: true }, inside)
      : element("dialog", { "aria-labelledby": "reader-title" }, inside);
    this.node.addEventListener("click", (/** @type {Event} */ event) => {
      if (!beside && event.target === this.node) this.close(); // the backdrop
    });
    this.label();
  }

  label() {
    this.turner.ariaLabel = say("pagesAround");
    this.closer.ariaLabel = say("close");
  }

  // The same page in another interface language.
  retell() {
    this.label();
    if (this.page && this.source) this.draw(this.source);
  }

  get opened() {
    return this.beside ? !this.node.hidden : /** @type {HTMLDialogElement} */ (this.node).open;
  }

  show() {
    if (this.opened) return;
    if (this.beside) this.node.hidden = false;
    else /** @type {HTMLDialogElement} */ (this.node).showModal();
    this.changed();
  }

  close() {
    if (!this.opened) return;
    const had = this.node.contains(document.activeElement);
    if (this.beside) this.node.hidden = true;
    else /** @type {HTMLDialogElement} */ (this.node).close();
    this.shown(null);
    this.changed();
    if (had && this.beside && this.from?.isConnected) this.from.focus();
  }

  // Something else in the book's place, such as its contents.
  /** @param {Node | null} node @param {string} title */
  list(node, title) {
    this.wanted += 1;
    this.page = null;
    this.shown(null);
    this.title.replaceChildren(title);
    this.place.replaceChildren();
    this.turner.replaceChildren();
    this.text.replaceChildren(...(node ? [node] : []));
    this.show();
    this.text.focus({ preventScroll: true });
  }

  // `quietly`: the reader did not ask for it, so they stay where they are.
  /** @param {Source} source @param {string} bookId @param {{quietly?: boolean}} [options] */
  async read(source, bookId, { quietly = false } = {}) {
    const turn = ++this.wanted;
    // Readers who turn pages return to where they first came from.
    if (!quietly && !this.node.contains(document.activeElement)) this.from = /** @type {HTMLElement | null} */ (document.activeElement);
    this.show();
    const known = this.bookId === bookId && this.page?.places.some((place) => place.chunk_id === source.chunk_id);
    if (!known) {
      this.title.replaceChildren(...crumbs(source.breadcrumb ?? []));
      this.text.replaceChildren(element("p", { className: "progress" }, say("openingPage")));
      try {
        const where = new URLSearchParams({ chunk_id: source.chunk_id ?? "" });
        const page = await this.server.get(`books/${encodeURIComponent(bookId)}/page?${where}`);
        if (turn !== this.wanted) return;
        [this.page, this.bookId] = [page, bookId];
      } catch (problem) {
        if (turn !== this.wanted) return;
        this.page = null;
        this.turner.replaceChildren();
        this.text.replaceChildren(element("p", {}, /** @type {any} */ (problem).told?.().what ?? say("away")));
        return;
      }
    }
    this.draw(source);
    if (!quietly) this.text.focus({ preventScroll: true });
  }

  /** @param {Source} source */
  draw(source) {
    this.source = source;
    this.shown(source);
    const page = /** @type {BookPage} */ (this.page);
    this.title.replaceChildren(...crumbs(page.breadcrumb));
    const published = link(addressOf(source.quote ? source : { source_url: page.source_url }), "↗");
    if (published.tagName === "A") published.setAttribute("aria-label", say("openPage"));
    this.place.replaceChildren(...(published.tagName === "A" ? [published] : []));
    const span = spanOf(page, source);
    const titled = /^\s*#{1,2}\s/.test(page.text) || page.text.startsWith("<"); // else its title is only in its front matter
    this.text.replaceChildren(titled ? "" : element("h3", { className: "page-title", dir: "auto" }, page.title), render(page.text, { mark: span, page: true, figure: (src, alt) => this.figure(src, alt) }));
    const target = this.light(source, span); // before formulas replace their words
    this.adorn(this.text);
    this.turner.replaceChildren(...this.neighbours(page));
    const top = target ? target.getBoundingClientRect().top - this.text.getBoundingClientRect().top : 0;
    this.text.scrollTop = target ? this.text.scrollTop + top - (source.quote ? this.text.clientHeight / 4 : 16) : 0;
  }

  // The offsets tell which blocks hold the words; in them, the words are highlighted. Returns the node to scroll to.
  /** @param {Source} source @param {[number, number] | null} span */
  light(source, span) {
    const blocks = [...this.text.querySelectorAll(".cited")];
    const lit = wordsOf(source).some((words) => blocks.some((block) => mark(block, words)));
    if (lit) for (const block of blocks) block.classList.remove("cited");
    if (!source.quote) for (const block of blocks) block.classList.remove("cited");
    const heading = source.heading && [...this.text.querySelectorAll("h3, h4, h5, h6")].find((one) => one.textContent === source.heading);
    return heading || (this.text.querySelector("mark") ?? (span && blocks[0]) ?? null);
  }

  /** @param {BookPage} page */
  neighbours(page) {
    const turn = (/** @type {{title: string, chunk_id: string} | null} */ other, /** @type {string} */ sign, /** @type {string} */ side) =>
      other && element("button", { type: "button", className: `quiet ${side}`, dir: "auto", onclick: () => this.read({ chunk_id: other.chunk_id }, this.bookId) }, side === "before" ? `${sign} ${other.title}` : `${other.title} ${sign}`);
    return [turn(page.before, "←", "before"), turn(page.after, "→", "after")].filter((one) => one !== null);
  }

  // A picture of the book, from the same server as this script; otherwise, or if there is none, its words.
  /** @param {string} src @param {string} alt */
  figure(src, alt) {
    if (!src || this.server.base.origin !== location.origin || /^(?:[a-z][a-z0-9+.-]*:|\/\/)/i.test(src)) return null;
    const where = new URLSearchParams({ chunk_id: this.page?.places[0]?.chunk_id ?? "", src });
    const path = `books/${encodeURIComponent(this.bookId)}/figure?${where}`;
    const words = () => element("span", { className: "picture" }, alt || say("picture"));
    if (this.server.key) return painted(this.server, path, alt, words);
    const picture = element("img", { alt, loading: "lazy", src: String(new URL(path, this.server.base)) });
    picture.addEventListener("error", () => picture.replaceWith(words()));
    return picture;
  }
}

// An <img> cannot send a key, so a picture behind a key is fetched by script.
/** @param {import("./server.js").Server} server @param {string} path @param {string} alt @param {() => Node} words */
function painted(server, path, alt, words) {
  const canvas = /** @type {HTMLCanvasElement} */ (element("canvas", { role: "img", "aria-label": alt || say("picture"), width: 1, height: 1 }));
  const paint = async () => {
    const bitmap = await createImageBitmap(await (await server.send(path, {})).blob());
    [canvas.width, canvas.height] = [bitmap.width, bitmap.height];
    canvas.getContext("2d")?.drawImage(bitmap, 0, 0);
  };
  paint().catch(() => canvas.replaceWith(words()));
  return canvas;
}

// What may be lit, best first: the words of the answer at the marker that was pressed, where the decisive ones are others.
/** @param {Source} source */
function wordsOf(source) {
  const decided = source.quote ? drawnWords(decisive(source)) : "";
  const said = source.quote ? (source.said ?? "") : "";
  const bare = (/** @type {string} */ text) => text.replace(/\s+/g, "");
  const other = bare(said) && !bare(said).includes(bare(decided)) && bare(drawnWords(source.quote ?? "")).includes(bare(said));
  return [...(other ? [said] : []), decided].filter(Boolean);
}

// Where in the text of the page the source is, in UTF-16 units: the decisive words of a quote, or the beginning of a chunk.
/** @param {BookPage} page @param {Source} source @returns {[number, number] | null} */
function spanOf(page, source) {
  const place = page.places.find((one) => one.chunk_id === source.chunk_id);
  if (!place || (!source.quote && place === page.places[0])) return null;
  const chunk = characters(page.text, 0, place.at).length;
  const quote = source.quote ? page.text.indexOf(source.quote, chunk) : -1;
  if (quote < 0) return [chunk, chunk + 1];
  if (wordsOf(source).length > 1) return [quote, quote + (source.quote ?? "").length];
  const before = characters(source.quote ?? "", 0, source.highlight?.[0] ?? 0).length;
  const from = quote + before;
  return [from, from + decisive(source).length];
}
