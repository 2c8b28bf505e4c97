// The passage in its surroundings, inside this page: for books that are not published anywhere, and for a quick look.

import { render } from "/assets/markdown.js";
import { crumbs, element } from "/assets/nodes.js";
import { problemOf } from "/assets/server.js";

const dialog = document.getElementById("reader");
const title = document.getElementById("reader-title");
const text = document.getElementById("reader-text");

document.getElementById("reader-close").addEventListener("click", () => dialog.close());
dialog.addEventListener("click", (event) => {
  if (event.target === dialog) dialog.close(); // the backdrop
});

export async function read(source, bookId) {
  title.replaceChildren(...crumbs(source.breadcrumb));
  text.replaceChildren(element("p", { className: "progress" }, "Opening the page"));
  dialog.showModal();
  const where = new URLSearchParams({ prev: 2, next: 2, book_id: bookId });
  const response = await fetch(`/context/${encodeURIComponent(source.chunk_id)}?${where}`).catch(() => null);
  if (!response?.ok) {
    text.replaceChildren(element("p", {}, (await problemOf(response)).message));
    return;
  }
  const { chunks } = await response.json();
  text.replaceChildren(...chunks.map((chunk) => section(chunk, source)));
  const cited = text.querySelector(".cited");
  if (cited) text.scrollTop += cited.getBoundingClientRect().top - text.getBoundingClientRect().top - text.clientHeight / 4;
}

function section(chunk, source) {
  const lead = chunk.lead ? `${chunk.lead}\n` : "";
  const shown = lead + chunk.text;
  // Offsets of the server count characters; those of a string here count UTF-16 units.
  const units = (offset) => lead.length + [...chunk.text].slice(0, Math.max(0, offset - chunk.start)).join("").length;
  const mark = chunk.chunk_id === source.chunk_id ? [units(source.start), units(source.end)] : null;
  return element("section", {}, render(shown, { mark }));
}
