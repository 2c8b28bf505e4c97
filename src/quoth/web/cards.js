// The sources of one answer, one card for each section: first all passages found, then the cited ones. Those that were read
// but not cited are folded away.

import { addressOf, bySection, decisive } from "./cited.js";
import { render } from "./markdown.js";
import { calm, crumbs, element, link, mark } from "./nodes.js";
import { say } from "./texts/index.js";

/** @typedef {import("./types.js").Source} Source */

export class Cards {
  // `read(source)` shows a passage in its context. With `beside` there is room for it next to the answer, and cards and markers
  // open it; otherwise they unfold the quote.
  /** @param {number} turn @param {{read: (source: Source) => void, beside?: boolean}} options */
  constructor(turn, { read, beside = false }) {
    this.turn = turn;
    this.read = read;
    this.beside = beside;
    /** @type {Source[]} */ this.sources = [];
    /** @type {Source[]} */ this.results = [];
    this.node = element("div", { className: "margin", role: "group" });
    this.label();
  }

  label() {
    this.node.ariaLabel = say("sources");
  }

  /** @param {Source[]} results */
  found(results) {
    this.results = results;
    this.node.replaceChildren(...bySection(results).map((group) => this.card(group)));
  }

  /** @param {Source[]} sources */
  cite(sources) {
    this.sources = sources;
    const cited = bySection(sources);
    const known = new Set(cited.map(([first]) => JSON.stringify(first?.breadcrumb)));
    const rest = bySection(this.results).filter(([first]) => !known.has(JSON.stringify(first?.breadcrumb)));
    this.node.replaceChildren(...cited.map((group) => this.card(group)), ...(rest.length && sources.length ? [this.unused(rest)] : []));
  }

  /** @param {Source[][]} groups */
  unused(groups) {
    const one = (/** @type {Source} */ source) =>
      element("li", {}, element("button", { type: "button", className: "plain", onclick: () => this.read(source) }, crumbs(source.breadcrumb ?? [])));
    return element(
      "details", { className: "unused" },
      element("summary", {}, say("alsoRead", { n: groups.length })),
      element("ul", {}, groups.flatMap(([first]) => (first ? [one(first)] : []))),
    );
  }

  /** @param {number} n */
  cardId(n) {
    return `source-${this.turn}-${n}`;
  }

  /** @param {number} n */
  cardOf(n) {
    const group = bySection(this.sources).find((sources) => sources.some((source) => source.index === n));
    return group ? this.node.querySelector(`#${this.cardId(group[0]?.index ?? 0)}`) : null;
  }

  // The node of a marker [n] in the answer; null if there is no such source.
  /** @param {number} n */
  marker(n) {
    const source = this.sources.find((candidate) => candidate.index === n);
    if (!source) return this.sources.length ? null : element("sup", { className: "marker" }, String(n));
    const open = (/** @type {Event} */ event) => {
      event.preventDefault();
      this.open({ ...source, said: saidBefore(/** @type {Element} */ (event.currentTarget).parentElement) });
    };
    const lit = (/** @type {boolean} */ on) => () => this.cardOf(n)?.classList.toggle("lit", on);
    return element(
      "sup", { className: "marker" },
      element("a", {
        href: `#${this.cardId(n)}`, role: "doc-noteref", "aria-label": say("sourceNamed", { n, name: source.section ?? say("selectedText") }),
        onclick: open, onmouseenter: lit(true), onmouseleave: lit(false), onfocus: lit(true), onblur: lit(false),
      }, String(n)),
    );
  }

  /** @param {Source} source */
  open(source) {
    if (this.beside && source.chunk_id) return this.read(source);
    const card = /** @type {HTMLElement | null} */ (this.cardOf(source.index ?? 0));
    card?.classList.add("open");
    card?.querySelector(".unfold[aria-expanded]")?.setAttribute("aria-expanded", "true");
    card?.scrollIntoView({ block: "nearest", behavior: calm() });
    card?.focus({ preventScroll: true });
  }

  /** @param {Source[]} group */
  card(group) {
    const source = /** @type {Source} */ (group[0]);
    const numbers = group.flatMap((one) => (one.index === undefined ? [] : [one.index]));
    const id = numbers.length ? this.cardId(/** @type {number} */ (numbers[0])) : null;
    const trail = source.breadcrumb ?? [say("selectedText")];
    const names = trail.join(", ");
    const opens = this.beside && source.chunk_id;
    const fold = (/** @type {Event} */ event) => {
      if (opens) return this.read(source);
      const open = card.classList.toggle("open");
      /** @type {Element} */ (event.currentTarget).setAttribute("aria-expanded", String(open));
    };
    const head = element(
      "button", { type: "button", className: "unfold", "aria-expanded": opens ? null : "false", onclick: fold },
      numbers.length > 0 && element("span", { className: "unseen" }, say("source", { n: numbers.join(", ") }), " "),
      numbers.map((n) => element("span", { className: "number", "aria-hidden": "true" }, String(n))),
      element("span", { className: "trail" }, crumbs(trail)),
    );
    const quotes = group.filter((one) => one.quote).map(quoted);
    const card = element(
      "section", { className: numbers.length ? "card" : "card found", id, role: "group", tabindex: "-1", "aria-label": numbers.length ? say("source", { n: numbers.join(", ") }) : names },
      head, quotes, numbers.length > 0 && this.place(source),
    );
    return card;
  }

  /** @param {Source} source */
  place(source) {
    if (!source.chunk_id) return null;
    const published = link(addressOf(source), `${say("openPage")} ↗`);
    const around = element("button", { type: "button", className: "plain", onclick: () => this.read(source) }, say("readAround"));
    return element("footer", {}, around, published.tagName === "A" && published);
  }
}

// What the answer says at a marker: the words of its block, since the marker before.
/** @param {Element | null} marker */
function saidBefore(marker) {
  let said = "";
  for (let node = marker?.previousSibling; node; node = node.previousSibling) {
    if (!/^(?:marker|box)$/.test(/** @type {Element} */ (node).className)) said = node.textContent + said;
    else if (said.trim()) break;
  }
  return said;
}

// The exact words, with the decisive sentence marked.
/** @param {Source} source */
function quoted(source) {
  const quote = element("blockquote", { className: "quote prose", dir: "auto" }, render(source.quote ?? ""));
  const words = decisive(source);
  if (words && words !== source.quote) mark(quote, drawnWords(words));
  return quote;
}

// The text a reader sees once these words are drawn. A row alone would not be drawn as one.
/** @param {string} words */
export function drawnWords(words) {
  const parts = words.startsWith("|") ? words.split("|") : [words];
  return parts.map((part) => element("div", {}, render(part)).textContent).join("");
}
