// The reader's page: choose a book, ask, and read the book beside the answer. The server decides everything; this file joins
// what shows it.

import { languageSwitch } from "./languages.js";
import { element } from "./nodes.js";
import { Reader } from "./reader.js";
import { offerSelection } from "./selection.js";
import { HOME, Server, Trouble } from "./server.js";
import { SharedOpinions } from "./sharing.js";
import { Side } from "./side.js";
import { contentsNode, Narrowing, Start } from "./start.js";
import { browser, tab } from "./storage.js";
import { Talk } from "./talk.js";
import { say, speak } from "./texts/index.js";

/** @typedef {{book_id: string, title: string, toolchain: string}} Book */

const get = (/** @type {string} */ id) => /** @type {HTMLElement} */ (document.getElementById(id));
const chooser = /** @type {HTMLSelectElement} */ (get("book"));
const WIDE = matchMedia("(min-width: 68rem)"); // the answer and the book have room beside each other
const PATIENCE = 40; // requests for questions to begin with, each of which waits for one more, a second at most
const ROOMY = matchMedia("(min-width: 100rem)"); // and the conversations too

await speakAs([browser.get("quoth.lang"), ...navigator.languages]); // before anything says a word

/** @type {typeof import("./adorn.js") | null} */
let adornments = null; // loaded while the reader looks around
const adorn = (/** @type {Element} */ node, /** @type {{settled?: boolean}} */ options = {}) => adornments?.adorn(node, options);

const server = new Server(HOME, tab.get("quoth.key") ?? "");
const narrowing = new Narrowing();
const reader = new Reader(server, { beside: true, adorn, changed: arrange, shown: point });
const talk = new Talk(server, { changed, noted: (id, question) => side.note(id, question), arrived, reader, filters: () => narrowing.filters(), turn: { adorn, lookup, tools: (/** @type {any} */ turn) => opinions.tools(turn) } });
const opinions = new SharedOpinions(server, () => tab.get(talk.sessionKey));
const side = new Side(get("side"), { open: resume, erase, changed: arrange });
get("main").append(...talk.nodes.filter((node) => node !== reader.node));
get("main").after(reader.node);
talk.form.after(narrowing.node);
languageSwitch(get("languages"), async (name) => {
  browser.set("quoth.lang", name);
  await speakAs([name]);
  retell();
});

const greeting = [...get("welcome").childNodes];
/** @type {Book[]} */
let books = [];
/** @type {(import("./start.js").Contents & {sharing: boolean}) | null} */
let contents = null; // of the book; null until it is known
let proposed = { questions: /** @type {string[]} */ ([]), complete: false }; // questions to begin with
/** @type {Start | null} */
let starting = null; // the start, where it is shown
let started = ""; // what it shows
let offered = false; // the reader has not opened or closed the book themselves since the question

const book = () => /** @type {Book} */ (books.find((candidate) => candidate.book_id === chooser.value) ?? books[0]);

// What a failed call tells the reader; a fault of ours is for the console.
function trouble(/** @type {unknown} */ problem) {
  if (problem instanceof Trouble) return problem;
  throw problem;
}

// --- opening ------------------------------------------------------------------------------------------------------------

async function start() {
  try {
    ({ books } = await server.get("books"));
  } catch (problem) {
    const { what, hint } = trouble(problem).told();
    return trouble(problem).status === 401 ? askForKey() : welcome(what, hint);
  }
  if (!books.length) return welcome(say("noBook"), "");
  chooser.replaceChildren(...books.map(({ book_id, title }) => element("option", { value: book_id }, title)));
  const wanted = new URLSearchParams(location.search).get("book") ?? tab.get("quoth.book") ?? browser.get("quoth.book");
  if (wanted && books.some((candidate) => candidate.book_id === wanted)) chooser.value = wanted;
  get("chooser").hidden = books.length < 2;
  get("title").classList.toggle("unseen", books.length > 1); // the choice says it
  await openBook();
  talk.box.focus();
  const asked = new URLSearchParams(location.search).get("q");
  if (asked && talk.empty) await talk.ask(asked);
}

/** @param {string} message @param {string} hint */
function welcome(message, hint) {
  get("welcome").replaceChildren(element("p", { className: "lede" }, message), element("p", {}, hint));
  talk.disable();
}

// Kept until the tab is closed, and never in the address.
function askForKey() {
  welcome(say(server.key ? "keyWrong" : "keyNeeded"), "");
  const field = element("input", { type: "password", className: "key", "aria-label": say("key"), placeholder: "qk_…", autocomplete: "off" });
  const enter = (/** @type {Event} */ event) => {
    event.preventDefault();
    server.key = field.value.trim();
    tab.set("quoth.key", server.key);
    startAgain();
  };
  get("welcome").append(element("form", { onsubmit: enter }, field, element("button", { type: "submit", className: "quiet" }, say("keyOpen"))));
  field.focus();
}

function startAgain() {
  get("welcome").replaceChildren(...greeting);
  talk.disable(false);
  start();
}

async function openBook() {
  const { book_id, title, toolchain } = book();
  tab.set("quoth.book", book_id);
  browser.set("quoth.book", book_id);
  get("title").textContent = get("display").textContent = title;
  get("title").removeAttribute("data-say"); // it has a name of its own now
  document.title = `${title} · Quoth`;
  document.body.dataset.toolchain = toolchain;
  [contents, proposed] = [null, { questions: [], complete: false }];
  started = "";
  reader.close();
  narrowing.show(book_id, null);
  look(book_id);
  await talk.open(book_id);
  side.show(book_id, tab.get(talk.sessionKey));
}

// What there is in the book. Without it the page can still be asked.
/** @param {string} bookId */
async function look(bookId) {
  try {
    const found = await server.get(`books/${encodeURIComponent(bookId)}/contents`);
    if (book().book_id !== bookId) return;
    contents = found;
    opinions.allow(found.sharing);
    narrowing.show(bookId, found.filters);
    arrange();
    // They are looked for on the server, one after the other: on a busy one that takes a while.
    for (let turn = 0; turn < PATIENCE && !proposed.complete; turn += 1) {
      const found = await server.get(`books/${encodeURIComponent(bookId)}/questions?known=${proposed.questions.length}`);
      if (book().book_id !== bookId) return;
      proposed = found;
      arrange();
    }
  } catch (problem) {
    trouble(problem);
  }
}

// --- the language -------------------------------------------------------------------------------------------------------

/** @param {(string | null)[]} wanted */
async function speakAs(wanted) {
  Object.assign(document.documentElement, await speak(wanted, { page: true }));
  for (const node of document.querySelectorAll("[data-say]")) node.textContent = say(/** @type {any} */ (node.getAttribute("data-say")));
  for (const node of document.querySelectorAll("[data-label]")) node.ariaLabel = say(/** @type {any} */ (node.getAttribute("data-label")));
}

// What is shown, in the language of now. Nothing of it is asked again.
function retell() {
  talk.retell();
  reader.retell();
  if (!books.length) return startAgain(); // there is only a message
  narrowing.draw();
  started = "";
  side.draw(); // and all that is arranged around it
}

// --- the conversation ---------------------------------------------------------------------------------------------------

/** @param {string | null} session */
async function resume(session) {
  if (!ROOMY.matches) fold(true);
  reader.close();
  if (session) await talk.resume(session);
  else talk.anew();
  side.show(talk.bookId, tab.get(talk.sessionKey));
}

/** @param {string} session */
async function erase(session) {
  try {
    await server.send(`session/${session}`, { method: "DELETE" });
  } catch (problem) {
    if (trouble(problem).status !== 404) throw problem; // it is gone already
  }
}

function changed() {
  side.show(talk.bookId, tab.get(talk.sessionKey));
  arrange();
}

// Where there is room the book opens by itself: at the best passage before the first word, at the first cited sentence when
// it is known. A reader who closes it keeps it closed until they open it again.
/** @param {import("./turn.js").Turn} turn @param {string} name @param {any} data */
function arrived(turn, name, data) {
  if (name === "retrieval") offered = Boolean(data.results.length) && WIDE.matches && browser.get("quoth.book.closed") === null;
  if (!offered || (name !== "retrieval" && !reader.opened)) return;
  if (name === "retrieval") reader.read(data.results[0], talk.bookId, { quietly: true });
  if (name === "sources" && data.sources[0]?.chunk_id) reader.read(data.sources[0], talk.bookId, { quietly: true });
  if (name === "done") point(reader.opened ? reader.source : null); // the answer was drawn anew
  if (name === "done" && (turn.facts?.refused || !data.sources[0]?.chunk_id)) reader.close();
}

// The markers of what the book is open at.
/** @param {import("./types.js").Source | null} shown */
function point(shown) {
  for (const turn of talk.told) {
    const open = new Set(turn.sources.filter((one) => shown?.quote && one.chunk_id === shown.chunk_id && one.quote === shown.quote).map((one) => String(one.index)));
    for (const link of turn.answer.querySelectorAll(".marker a")) link.toggleAttribute("data-open", open.has(link.textContent ?? ""));
  }
}

// --- the room -----------------------------------------------------------------------------------------------------------

/** @param {boolean} folded */
function fold(folded) {
  side.folded = folded;
  arrange();
}

function arrange() {
  const fresh = talk.empty;
  const known = side.all.length > 0;
  document.body.classList.toggle("fresh", fresh);
  document.body.classList.toggle("reading", reader.opened);
  get("welcome").hidden = !fresh;
  get("anew").hidden = fresh;
  get("side-button").hidden = !known;
  const shown = known && !(side.folded ?? !ROOMY.matches);
  side.node.hidden = !shown;
  get("side-button").setAttribute("aria-expanded", String(shown));
  get("contents-button").hidden = fresh || !contents;
  const shows = fresh && contents ? JSON.stringify([talk.bookId, side.all]) : "";
  if (shows !== started) {
    started = shows;
    starting?.node.remove();
    starting = contents && shows ? new Start(contents, side.all, { ask: (question) => talk.ask(question), open: resume, read: leaf }) : null;
    if (starting) get("main").append(starting.node);
  }
  starting?.propose(proposed.questions, proposed.complete);
}

// A section that is known by its address alone: the page of the contents that has it.
/** @param {import("./types.js").Near} section */
function lookup({ source_url, breadcrumb }) {
  const address = source_url.split("#", 1).join("");
  /** @param {import("./start.js").Section} section @returns {import("./start.js").Entry | undefined} */
  const among = (section) => section.pages.find((entry) => entry.source_url === address) ?? section.sections.map(among).find(Boolean);
  const entry = contents && among(contents.contents);
  return entry ? { chunk_id: entry.chunk_id, breadcrumb, heading: breadcrumb.at(-1) } : null;
}

const leaf = (/** @type {import("./start.js").Entry} */ entry) => reader.read({ chunk_id: entry.chunk_id, breadcrumb: [entry.title] }, talk.bookId);

// The contents, where the book lies.
get("contents-button").addEventListener("click", () => {
  reader.from = get("contents-button");
  if (contents) reader.list(contentsNode(contents.contents, leaf), book().title);
});
get("side-button").addEventListener("click", () => {
  fold(!side.node.hidden);
  side.node.querySelector("button")?.focus();
});
for (const query of [WIDE, ROOMY]) query.addEventListener("change", () => arrange());

reader.node.querySelector("header button").addEventListener("click", () => browser.set("quoth.book.closed", "yes"));
document.addEventListener("click", (event) => {
  if (event.target instanceof Element && event.target.closest(".marker a, .unfold, .leaf, .card footer button, .nearest button")) {
    offered = false;
    browser.remove("quoth.book.closed");
  }
});

document.addEventListener("keydown", (event) => {
  if (event.key === "/" && !/^(TEXTAREA|INPUT|SELECT)$/.test(document.activeElement?.tagName ?? "")) {
    event.preventDefault();
    talk.box.focus();
  }
  if (event.key !== "Escape") return;
  if (talk.asking) talk.stop();
  else if (reader.opened && reader.node.contains(document.activeElement)) reader.close();
  else if (!side.node.hidden && !ROOMY.matches) fold(true);
  else reader.close();
});

offerSelection({
  place: document.body,
  allowed: (node) => Boolean(node?.parentElement?.closest(".prose")),
  ask: (text) => {
    if (!WIDE.matches) reader.close();
    talk.select(text);
    talk.box.focus();
  },
});

chooser.addEventListener("change", () => {
  talk.select(null); // it was of the other book
  openBook();
});
get("anew").addEventListener("click", () => resume(null));

start();
import("./adorn.js").then((loaded) => {
  adornments = loaded;
  for (const node of document.querySelectorAll(".settled .prose, .reader-text")) loaded.adorn(node);
}, () => {}); // the texts can be read without
