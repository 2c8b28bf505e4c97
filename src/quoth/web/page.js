// The reader's page: choose a book, ask, read. The server decides everything; this file only shows it.

import { element } from "./nodes.js";
import { offerSelection } from "./selection.js";
import { HOME, Server } from "./server.js";
import { tab } from "./storage.js";
import { Talk } from "./talk.js";
import { say, speak } from "./texts/index.js";

const get = (id) => document.getElementById(id);
const chooser = get("book");
Object.assign(document.documentElement, await speak(navigator.languages)); // before anything says a word
for (const node of document.querySelectorAll("[data-say]")) node.textContent = say(node.dataset.say);
const server = new Server(HOME, tab.get("quoth.key") ?? "");
const talk = new Talk(server, { changed });
get("main").append(...talk.nodes);

const greeting = [...get("welcome").childNodes];
let books = [];

const book = () => books.find((candidate) => candidate.book_id === chooser.value) ?? books[0];

async function start() {
  try {
    ({ books } = await server.get("books"));
  } catch (problem) {
    const { what, hint } = problem.told();
    return problem.status === 401 ? askForKey() : welcome(what, hint);
  }
  if (!books.length) return welcome(say("noBook"), "");
  for (const { book_id, title } of books) chooser.append(element("option", { value: book_id }, title));
  const wanted = new URLSearchParams(location.search).get("book") ?? tab.get("quoth.book");
  if (books.some((candidate) => candidate.book_id === wanted)) chooser.value = wanted;
  get("chooser").hidden = books.length < 2;
  await openBook();
  talk.box.focus();
  const asked = new URLSearchParams(location.search).get("q");
  if (asked && talk.empty) await talk.ask(asked);
}

function welcome(message, hint) {
  get("welcome").replaceChildren(element("p", { className: "lede" }, message), element("p", {}, hint));
  talk.disable();
}

// Kept until the tab is closed, and never in the address.
function askForKey() {
  welcome(say(server.key ? "keyWrong" : "keyNeeded"), "");
  const field = element("input", { type: "password", className: "key", "aria-label": say("key"), placeholder: "qk_…", autocomplete: "off" });
  const enter = (event) => {
    event.preventDefault();
    server.key = field.value.trim();
    tab.set("quoth.key", server.key);
    get("welcome").replaceChildren(...greeting);
    talk.disable(false);
    start();
  };
  get("welcome").append(element("form", { onsubmit: enter }, field, element("button", { type: "submit", className: "quiet" }, say("keyOpen"))));
  field.focus();
}

async function openBook() {
  const { book_id, title, toolchain } = book();
  tab.set("quoth.book", book_id);
  get("title").textContent = get("display").textContent = title;
  document.title = `${title} · Quoth`;
  document.body.dataset.toolchain = toolchain;
  await talk.open(book_id);
}

function changed() {
  document.body.classList.toggle("fresh", talk.empty);
  get("welcome").hidden = !talk.empty;
  get("anew").hidden = talk.empty;
}

document.addEventListener("keydown", (event) => {
  if (event.key === "/" && !/^(TEXTAREA|INPUT|SELECT)$/.test(document.activeElement?.tagName ?? "") && !document.querySelector("dialog[open]")) {
    event.preventDefault();
    talk.box.focus();
  }
  if (event.key === "Escape") talk.stop();
});

// A dialog is above everything else, so the offer has to be in it.
for (const place of [document.body, talk.reader.node]) {
  offerSelection({
    place,
    allowed: (node) => {
      const prose = node?.parentElement?.closest(".prose");
      return Boolean(prose) && (place === document.body) === !prose.closest("dialog");
    },
    ask: (text) => {
      talk.reader.node.close();
      talk.select(text);
      talk.box.focus();
    },
  });
}

chooser.addEventListener("change", () => {
  talk.select(null); // it was of the other book
  openBook();
});
get("anew").addEventListener("click", () => talk.anew());

start();
