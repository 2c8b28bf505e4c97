// The passage in its surroundings, without leaving: for books that are not published anywhere, and for a quick look.

import { render } from "./markdown.js";
import { crumbs, element } from "./nodes.js";
import { say } from "./texts/index.js";

export class Reader {
  constructor(server) {
    this.server = server;
    this.title = element("h2", { id: "reader-title" });
    this.text = element("div", { className: "prose reader-text", tabindex: "0" });
    const close = element("button", { type: "button", className: "quiet", "aria-label": say("close"), onclick: () => this.node.close() }, "✕");
    this.node = element("dialog", { "aria-labelledby": "reader-title" }, element("header", {}, this.title, close), this.text);
    this.node.addEventListener("click", (event) => {
      if (event.target === this.node) this.node.close(); // the backdrop
    });
  }

  async read(source, bookId) {
    this.title.replaceChildren(...crumbs(source.breadcrumb));
    this.text.replaceChildren(element("p", { className: "progress" }, say("openingPage")));
    this.node.showModal();
    const where = new URLSearchParams({ prev: 2, next: 2, book_id: bookId });
    try {
      const { chunks } = await this.server.get(`context/${encodeURIComponent(source.chunk_id)}?${where}`);
      this.text.replaceChildren(...chunks.map((chunk) => section(chunk, source)));
    } catch (problem) {
      this.text.replaceChildren(element("p", {}, problem.told().what));
      return;
    }
    const cited = this.text.querySelector(".cited");
    if (cited) this.text.scrollTop += cited.getBoundingClientRect().top - this.text.getBoundingClientRect().top - this.text.clientHeight / 4;
  }
}

function section(chunk, source) {
  const lead = chunk.lead ? `${chunk.lead}\n` : "";
  const shown = lead + chunk.text;
  // Offsets of the server count characters; those of a string here count UTF-16 units.
  const units = (offset) => lead.length + [...chunk.text].slice(0, Math.max(0, offset - chunk.start)).join("").length;
  const mark = chunk.chunk_id === source.chunk_id ? [units(source.start), units(source.end)] : null;
  return element("section", {}, render(shown, { mark }));
}
