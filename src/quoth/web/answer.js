// A shared answer on its own, as it was: its question, verdict and sources. Nothing can be asked here.

import { adorn } from "./adorn.js";
import { element } from "./nodes.js";
import { Reader } from "./reader.js";
import { HOME, Server } from "./server.js";
import { browser } from "./storage.js";
import { speak, say } from "./texts/index.js";
import { Turn } from "./turn.js";

const main = /** @type {HTMLElement} */ (document.getElementById("main"));
const title = /** @type {HTMLElement} */ (document.getElementById("title"));
Object.assign(document.documentElement, await speak([browser.get("quoth.lang"), ...navigator.languages], { page: true }));

const server = new Server(HOME);
const reader = new Reader(server, { adorn });

try {
  const shared = await server.get(`shared/${encodeURIComponent(decodeURIComponent(location.pathname.split("/").pop() ?? ""))}`);
  title.textContent = shared.title || say("askTheBook");
  document.title = `${shared.entry.query} · ${title.textContent}`;
  const turn = new Turn(shared.entry.query, { read: (source) => reader.read(source, shared.book_id), adorn });
  turn.restore(shared.entry);
  const home = new URL(HOME);
  home.searchParams.set("book", shared.book_id);
  main.append(
    element("p", { className: "shared-note" }, say("sharedAnswer"), " ", element("a", { href: String(home) }, say("askYourself"))),
    element("div", { className: "turns" }, turn.node),
    reader.node,
  );
} catch (problem) {
  const { told, status } = /** @type {any} */ (problem);
  if (!told) throw problem;
  title.textContent = say("askTheBook");
  main.append(element("p", { className: "lede" }, status === 404 ? say("sharedGone") : /** @type {any} */ (problem).told().what));
}
