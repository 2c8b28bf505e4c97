// One question and its outcome: the answer as it arrives, its verdict, its sources, or why there is none.

import { Cards } from "./cards.js";
import { render } from "./markdown.js";
import { crumbs, element, link } from "./nodes.js";
import { parts, say } from "./texts/index.js";
import { detailsOf, ofAnswer, ofMemory, verdictOf } from "./verdict.js";

/** @typedef {import("./types.js").Source} Source */

let made = 0;
const REFUSAL = "I don't have information about that in the book content"; // in English; the verdict says it in the reader's language

export class Turn {
  // `selected` is the only text that may answer; `read(source)` shows a passage in its context, next to the answer if
  // `beside`; `adorn(node, {settled})` makes drawn text more pleasant; `tools(turn)` gives more nodes for below the answer;
  // `lookup(section)` the source that `read` opens for a section near a refused question; without it the section is a link.
  /**
   * @param {string} question
   * @param {{selected?: string | null, read: (source: Source) => void, beside?: boolean,
   *   adorn?: (node: Element, options: {settled: boolean}) => void, tools?: (turn: Turn) => (Node | false | null)[],
   *   lookup?: ((section: import("./types.js").Near) => Source | null) | null}} options
   */
  constructor(question, { selected = null, read, beside = false, adorn = () => {}, tools = () => [], lookup = null }) {
    this.question = question;
    this.read = read;
    this.adorn = adorn;
    this.tools = tools;
    this.lookup = lookup;
    this.text = "";
    /** @type {import("./verdict.js").Facts | null} */ this.facts = null; // behind the verdict
    /** @type {[import("./server.js").Trouble, () => void] | null} */ this.failure = null; // why there is no answer, and how to ask again
    this.searched = ""; // the query
    this.request = ""; // the server's id for this answer
    /** @type {string | null} */ this.rating = null; // by the reader
    /** @type {{text: string, reason: string | null}[]} */ this.unsupported = [];
    this.drawing = 0;
    this.cards = new Cards(++made, { read, beside });
    this.margin = this.cards.node;
    this.answer = element("div", { className: "prose answer", "aria-busy": "true", dir: "auto" });
    this.progress = element("p", { className: "progress" }, say("looking"));
    this.head = element("div", { className: "head" }, this.progress);
    this.below = element("div", { className: "below" });
    this.node = element(
      "article", { className: "turn", "aria-label": question },
      element("h2", { className: "asked", dir: "auto" }, question),
      selected && element("blockquote", { className: "about-text", dir: "auto" }, selected.replace(/\s+/g, " ").slice(0, 300)),
      element("div", { className: "reply" }, this.head, this.answer, this.below),
      this.margin,
    );
  }

  get sources() {
    return this.cards.sources;
  }

  // An event of the stream.
  /** @param {string} name @param {any} data */
  take(name, data) {
    if (name === "status") this.stage(data.stage);
    else if (name === "retrieval") this.retrieved(data);
    else if (name === "delta") this.delta(data.delta);
    else if (name === "sources") this.cite(data.sources);
    else if (name === "grounding") this.ground(data);
    else if (name === "done") this.done(data);
  }

  // An exchange of the past.
  /** @param {any} entry */
  restore(entry) {
    this.text = entry.response || entry.fallback_message || "";
    this.unsupported = entry.unsupported;
    this.request = entry.request_id;
    this.rating = entry.rating;
    this.searchedAs(entry.searched_query);
    this.cite(entry.sources);
    this.conclude(ofMemory(entry));
  }

  /** @param {string} stage */
  stage(stage) {
    this.progress.textContent = say(stage === "generating" ? "writing" : "looking");
  }

  /** @param {{results: import("./types.js").Found[], searched_query: string}} data */
  retrieved({ results, searched_query: searched }) {
    this.searchedAs(searched);
    const pages = new Set(results.map((result) => result.title)).size;
    if (results.length) this.progress.textContent = say("reading", { passages: say("passages", { n: results.length }), pages: say("pages", { n: pages }) });
    this.cards.found(results.map(({ chunk_id, breadcrumb, source_url, title, section_title }) => ({ chunk_id, breadcrumb, source_url, section: section_title ?? title })));
  }

  // A follow-up is searched with its subject before it: "launch file: and for parameters?"
  searchedAs(searched = this.searched) {
    this.searched = searched;
    this.node.querySelector(".searched")?.remove();
    const subject = squeezed(searched).replace(squeezed(this.question), "").replace(/: $/, "");
    if (subject) this.head.before(element("p", { className: "searched", dir: "auto" }, say("about", { subject })));
  }

  // The same in another interface language. An arriving answer changes with its next word.
  retell() {
    this.searchedAs();
    this.cards.label();
    if (this.sources.length) this.cite(this.sources);
    if (this.facts) this.conclude(this.facts);
    else if (this.failure) this.fail(...this.failure);
    else if (this.node.classList.contains("settled")) this.interrupted();
  }

  /** @param {string} text */
  delta(text) {
    this.text += text;
    this.progress.textContent = say("writing");
    // Draw once per frame, however many pieces arrive in it.
    this.drawing ||= requestAnimationFrame(() => this.draw());
  }

  draw() {
    cancelAnimationFrame(this.drawing);
    this.drawing = 0;
    this.answer.replaceChildren(render(this.text, { cite: (n) => this.cards.marker(n), doubts: this.unsupported }));
    this.adorn(this.answer, { settled: this.node.classList.contains("settled") });
  }

  /** @param {Source[]} sources */
  cite(sources) {
    this.cards.cite(sources);
    for (const quote of this.margin.querySelectorAll(".quote")) this.adorn(quote, { settled: false });
    this.draw();
  }

  /** @param {{sentences: {text: string, reason: string | null, supported: boolean}[]}} grounding */
  ground(grounding) {
    this.unsupported = grounding.sentences.filter((sentence) => !sentence.supported);
    this.draw();
  }

  /** @param {any} body */
  done(body) {
    this.text = body.answer ?? body.fallback_message ?? "";
    this.request = body.metadata.request_id;
    if (this.sources.length !== body.sources.length) this.cite(body.sources);
    this.ground(body.grounding);
    this.conclude(ofAnswer(body));
  }

  /** @param {import("./verdict.js").Facts} facts */
  conclude(facts) {
    this.facts = facts;
    this.settle();
    this.head.replaceChildren(verdictNode(facts));
    if (facts.refused) return this.refuse(facts);
    this.below.replaceChildren(element("p", { className: "facts" }, this.copier(), this.tools(this)));
  }

  // What screen readers say about the answer.
  get words() {
    return this.facts ? verdictOf(this.facts).words : "";
  }

  copier() {
    const copy = async (/** @type {Event} */ event) => {
      const button = /** @type {HTMLButtonElement} */ (event.currentTarget);
      const notes = this.sources.map((source) => `[${source.index}] ${source.source_url?.startsWith("http") ? source.source_url : (source.breadcrumb ?? [say("selectedText")]).join(" › ")}`);
      await navigator.clipboard.writeText([this.text.trim(), "", ...notes].join("\n"));
      button.textContent = say("copied");
      setTimeout(() => (button.textContent = say("copy")), 1500);
    };
    return navigator.clipboard ? element("button", { type: "button", className: "plain", onclick: copy }, say("copy")) : null;
  }

  /** @param {import("./verdict.js").Facts} facts */
  refuse({ missing, nearest }) {
    this.node.classList.add("refused");
    this.node.classList.toggle("plainly", this.text === REFUSAL);
    this.margin.remove();
    this.below.replaceChildren(
      ...[
        missing.length > 0 && element("p", {}, parts("neverMentions", { terms: missing.flatMap((term, at) => [at ? ", " : "", element("q", {}, term)]) })),
        nearest.length > 0 && element("h3", {}, say("nearest")),
        nearest.length > 0 && element("ul", { className: "nearest" }, nearest.map((section) => this.near(section))),
        element("p", { className: "facts" }, this.copier(), this.tools(this)),
      ].filter(Boolean),
    );
  }

  /** @param {import("./types.js").Near} section */
  near(section) {
    const { read, lookup } = this;
    const trail = crumbs(section.breadcrumb.length ? section.breadcrumb : [section.title]);
    if (!lookup) return element("li", { dir: "auto" }, link(section.source_url, trail));
    const open = () => read(lookup(section) ?? { breadcrumb: section.breadcrumb });
    return element("li", { dir: "auto" }, element("button", { type: "button", className: "plain", onclick: open }, trail));
  }

  settle() {
    this.progress.remove();
    this.node.classList.add("settled");
    this.draw();
    this.answer.setAttribute("aria-busy", "false");
  }

  interrupted() {
    this.settle();
    this.head.replaceChildren(element("p", { className: "verdict fair" }, say("verdictStopped")));
  }

  // What has arrived stays. `retry` asks once more; after a rate limit, only when the wait is over.
  /** @param {import("./server.js").Trouble} trouble @param {() => void} retry */
  fail(trouble, retry) {
    this.failure = [trouble, retry];
    this.settle();
    this.node.classList.add("failed");
    if (!this.margin.childElementCount) this.margin.remove();
    const hint = element("p", {}, trouble.told().hint);
    const again = element("button", { type: "button", className: "plain", onclick: retry }, say("tryAgain"));
    this.below.replaceChildren(
      element(
        "div", { className: "failure", role: "alert" },
        element("p", { className: "what" }, trouble.told().what),
        hint,
        element(
          "p", { className: "facts" },
          again,
          trouble.request && element("span", { title: say("requestTitle") }, say("request", { id: trouble.request.slice(0, 8) })),
        ),
      ),
    );
    if (trouble.status === 429) countDown(trouble, hint, again);
  }
}

const squeezed = (/** @type {string} */ text) => text.replace(/\s+/g, " ").trim();

// Says how long the reader has to wait. Only the last word of it is an alert: a number that changes each second is not.
/** @param {import("./server.js").Trouble} trouble @param {HTMLElement} hint @param {HTMLButtonElement} again */
function countDown(trouble, hint, again) {
  again.disabled = trouble.wait > 0;
  if (trouble.wait <= 0) return hint.remove();
  hint.setAttribute("aria-live", "off");
  hint.textContent = trouble.told().hint;
  trouble.wait -= 1;
  setTimeout(() => again.isConnected && countDown(trouble, hint, again), 1000);
}

// A doubtful sentence as named below the verdict: without Markdown.
/** @param {string} text */
function named(text) {
  if (/^\s*(?:`{3}|~{3})/.test(text)) return say("codeBlock");
  const words = text.startsWith("|") ? text.split("\n", 1).join("").replace(/^\||\|$/g, "").split("|").map((cell) => cell.trim()).join(" · ") : text;
  return element("q", {}, words.replace(/\s*\[\d{1,3}(?:\s*,\s*\d{1,3})*\]/g, ""));
}

// The verdict as shown: one sentence, and its reasons on demand.
/** @param {import("./verdict.js").Facts} facts */
function verdictNode(facts) {
  const { tone, words } = verdictOf(facts);
  const details = detailsOf(facts).map((sentence) => element("p", { dir: "auto" }, sentence));
  const doubts = facts.doubts.map(({ text, reason }) => element("li", { dir: "auto" }, named(text), reason && `: ${reason}`));
  if (!details.length && !doubts.length) return element("p", { className: `verdict ${tone}` }, words);
  return element(
    "details", { className: `verdict ${tone}` },
    element("summary", {}, element("span", {}, words)),
    doubts.length > 0 && element("p", {}, say("unconfirmed", { n: doubts.length, total: facts.checked })),
    doubts.length > 0 && element("ul", {}, doubts),
    details,
  );
}
