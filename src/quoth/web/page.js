// The reader's page: choose a book, ask, read. The server decides everything; this file only shows it.

import { events } from "/assets/events.js";
import { element } from "/assets/nodes.js";
import { getJson, problemOf } from "/assets/server.js";
import { Turn } from "/assets/turn.js";

const get = (id) => document.getElementById(id);
const form = get("ask");
const box = get("question");
const turns = get("turns");
const chooser = get("book");

let books = [];
let asking = null; // the AbortController of the answer that is arriving

const book = () => books.find((candidate) => candidate.book_id === chooser.value) ?? books[0];
const sessionKey = () => `quoth.session.${book()?.book_id}`;

async function start() {
  try {
    ({ books } = await getJson("/books"));
  } catch (problem) {
    return welcome(problem.message, problem.hint);
  }
  if (!books.length) return welcome("There is no book yet.", "Add one in a terminal: quoth ingest my-docs/");
  for (const { book_id, title } of books) chooser.append(element("option", { value: book_id }, title));
  const wanted = new URLSearchParams(location.search).get("book") ?? sessionStorage.getItem("quoth.book");
  if (books.some((candidate) => candidate.book_id === wanted)) chooser.value = wanted;
  get("chooser").hidden = books.length < 2;
  await openBook();
  const asked = new URLSearchParams(location.search).get("q");
  if (asked && !turns.children.length) await ask(asked);
}

function welcome(message, hint) {
  get("welcome").replaceChildren(element("p", { className: "lede" }, message), element("p", {}, hint));
  box.disabled = get("send").disabled = true;
}

async function openBook() {
  const { book_id, title, toolchain } = book();
  sessionStorage.setItem("quoth.book", book_id);
  get("title").textContent = get("display").textContent = title;
  document.title = `${title} · Quoth`;
  document.body.dataset.toolchain = toolchain;
  turns.replaceChildren();
  await restore();
  fresh();
}

// A reload shows the conversation again; it lives on the server.
async function restore() {
  const session = sessionStorage.getItem(sessionKey());
  if (!session) return;
  try {
    const { entries } = await getJson(`/history/${session}?limit=20`);
    for (const entry of entries) {
      const turn = new Turn(entry.query, book().book_id);
      turns.append(turn.node);
      turn.text = entry.response;
      turn.unsupported = entry.unsupported;
      turn.cite(entry.sources);
      turn.settle();
      if (!entry.sources.length) turn.refuse();
    }
    turns.lastElementChild?.scrollIntoView({ block: "start" });
  } catch {
    sessionStorage.removeItem(sessionKey()); // erased on the server: start anew
  }
}

function fresh() {
  const empty = !turns.children.length;
  document.body.classList.toggle("fresh", empty);
  get("welcome").hidden = !empty;
  get("anew").hidden = empty;
}

async function ask(question) {
  const turn = new Turn(question, book().book_id);
  turns.append(turn.node);
  fresh();
  turn.node.scrollIntoView({ block: "start", behavior: "smooth" });
  busy(new AbortController());
  try {
    await converse(turn, question);
  } catch (error) {
    if (error.name === "AbortError") turn.interrupted();
    else turn.fail(error.message && error.hint !== undefined ? error : await problemOf(null), () => again(turn));
  } finally {
    busy(null);
  }
}

function again(turn) {
  turn.node.remove();
  ask(turn.question);
}

async function converse(turn, question) {
  const session_id = sessionStorage.getItem(sessionKey()) ?? undefined;
  const response = await fetch("/chat/stream", {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ query: question, book_id: turn.bookId, session_id }),
    signal: asking.signal,
  });
  if (!response.ok) throw await problemOf(response);
  let finished = false;
  for await (const { name, data } of events(response)) {
    if (name === "error") throw data;
    if (name === "done") {
      finished = true;
      sessionStorage.setItem(`quoth.session.${turn.bookId}`, data.session_id);
      get("spoken").textContent = data.answer ?? data.fallback_message;
    }
    show(turn, name, data);
  }
  if (!finished) throw { message: "The answer broke off.", hint: "The connection to the server was lost." };
}

function show(turn, name, data) {
  if (name === "status") turn.stage(data.stage);
  else if (name === "retrieval") turn.retrieved(data);
  else if (name === "delta") turn.delta(data.delta);
  else if (name === "sources") turn.cite(data.sources);
  else if (name === "grounding") turn.ground(data);
  else if (name === "done") turn.done(data);
}

function busy(controller) {
  asking = controller;
  get("send").hidden = Boolean(controller);
  get("stop").hidden = !controller;
}

function grow() {
  box.style.height = "auto";
  box.style.height = `${box.scrollHeight}px`;
}

form.addEventListener("submit", (event) => {
  event.preventDefault();
  const question = box.value.trim();
  if (!question || asking) return;
  box.value = "";
  grow();
  ask(question);
});

box.addEventListener("input", grow);
box.addEventListener("keydown", (event) => {
  if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
  event.preventDefault();
  form.requestSubmit();
});

document.addEventListener("keydown", (event) => {
  if (event.key === "/" && !/^(TEXTAREA|INPUT|SELECT)$/.test(document.activeElement?.tagName ?? "") && !document.querySelector("dialog[open]")) {
    event.preventDefault();
    box.focus();
  }
  if (event.key === "Escape" && asking) asking.abort();
});

get("stop").addEventListener("click", () => asking?.abort());
chooser.addEventListener("change", () => {
  asking?.abort();
  openBook();
});
get("anew").addEventListener("click", () => {
  asking?.abort();
  sessionStorage.removeItem(sessionKey());
  turns.replaceChildren();
  fresh();
  box.focus();
});

start();
