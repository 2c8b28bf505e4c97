// One question and what came of it: the answer as it arrives, its sources, or why there is none.

import { render } from "./markdown.js";
import { crumbs, element, link, mark } from "./nodes.js";
import { parts, percent, say, time } from "./texts/index.js";

const LEVELS = { high: "confidenceHigh", medium: "confidenceMedium", low: "confidenceLow", insufficient: "confidenceNone" };
const MODES = { extractive: "modeExtractive", selected_text: "modeSelection", retrieval_only: "modeSourcesOnly" };

let made = 0;

// Only a quote that does not fit is faded out.
const lengths = new ResizeObserver((entries) => {
  for (const { target } of entries) target.classList.toggle("long", target.scrollHeight > target.clientHeight + 1);
});

export class Turn {
  // `selected` is the text that alone may answer; `read(source)` shows a passage in its surroundings.
  constructor(question, { selected = null, read }) {
    this.question = question;
    this.read = read;
    this.number = ++made;
    this.text = "";
    this.sources = [];
    this.unsupported = [];
    this.drawing = 0;
    this.answer = element("div", { className: "prose answer", "aria-busy": "true" });
    this.progress = element("p", { className: "progress" }, say("looking"));
    this.below = element("div", { className: "below" });
    this.margin = element("aside", { className: "margin", "aria-label": say("sources") });
    this.node = element(
      "article", { className: "turn", "aria-label": question },
      element("h2", { className: "asked" }, question),
      selected && element("blockquote", { className: "about-text" }, selected.replace(/\s+/g, " ").slice(0, 300)),
      element("div", { className: "reply" }, this.progress, this.answer, this.below),
      this.margin,
    );
  }

  // An event of the stream.
  take(name, data) {
    if (name === "status") this.stage(data.stage);
    else if (name === "retrieval") this.retrieved(data);
    else if (name === "delta") this.delta(data.delta);
    else if (name === "sources") this.cite(data.sources);
    else if (name === "grounding") this.ground(data);
    else if (name === "done") this.done(data);
  }

  // An exchange of the past.
  restore({ response, unsupported, sources, interrupted, disclaimer }) {
    this.text = response;
    this.unsupported = unsupported;
    this.cite(sources);
    if (interrupted) return this.interrupted();
    this.settle();
    if (!sources.length) return this.refuse();
    if (disclaimer) this.below.replaceChildren(element("p", { className: "caution" }, disclaimer));
  }

  stage(stage) {
    this.progress.textContent = say(stage === "generating" ? "writing" : "looking");
  }

  retrieved({ results, searched_query: searched }) {
    if (searched && searched !== this.question) this.answer.before(element("p", { className: "searched" }, say("searchedFor", { query: searched })));
    const pages = new Set(results.map((result) => result.title)).size;
    if (results.length) this.progress.textContent = say("reading", { passages: say("passages", { n: results.length }), pages: say("pages", { n: pages }) });
  }

  delta(text) {
    this.text += text;
    this.progress.remove();
    // Drawn once a frame, however many pieces arrive in it.
    this.drawing ||= requestAnimationFrame(() => this.draw());
  }

  draw() {
    cancelAnimationFrame(this.drawing);
    this.drawing = 0;
    this.answer.replaceChildren(render(this.text, { cite: (n) => this.marker(n), doubts: this.unsupported }));
  }

  cite(sources) {
    this.sources = sources;
    this.margin.replaceChildren(...sources.map((source) => this.card(source)));
    for (const quote of this.margin.querySelectorAll(".quote")) {
      lengths.observe(quote);
      const decisive = quote.querySelector("mark");
      // Of a long quote, the decisive sentence is what is seen first.
      if (decisive) quote.scrollTop = decisive.getBoundingClientRect().top - quote.getBoundingClientRect().top - 4;
    }
    this.draw();
  }

  ground(grounding) {
    this.unsupported = grounding.sentences.filter((sentence) => !sentence.supported);
    this.draw();
  }

  cardId(n) {
    return `source-${this.number}-${n}`;
  }

  cardOf(n) {
    return this.margin.querySelector(`#${this.cardId(n)}`);
  }

  marker(n) {
    const source = this.sources.find((candidate) => candidate.index === n);
    if (!source) return this.sources.length ? null : element("sup", { className: "marker" }, String(n));
    const open = (event) => {
      event.preventDefault();
      this.open(n);
    };
    const lit = (on) => () => this.cardOf(n)?.classList.toggle("lit", on);
    return element(
      "sup", { className: "marker" },
      element("a", {
        href: `#${this.cardId(n)}`, role: "doc-noteref", "aria-label": say("sourceNamed", { n, name: source.section ?? say("selectedText") }),
        onclick: open, onmouseenter: lit(true), onmouseleave: lit(false), onfocus: lit(true), onblur: lit(false),
      }, String(n)),
    );
  }

  open(n) {
    const card = this.cardOf(n);
    card.classList.add("open");
    card.querySelector(".unfold")?.setAttribute("aria-expanded", "true");
    card.scrollIntoView({ block: "nearest", behavior: "smooth" });
    card.focus({ preventScroll: true });
  }

  card(source) {
    const id = this.cardId(source.index);
    const trail = source.breadcrumb ?? [say("selectedText")];
    const fold = (event) => {
      const open = card.classList.toggle("open");
      event.currentTarget.setAttribute("aria-expanded", String(open));
    };
    const head = element(
      "button", { type: "button", className: "unfold", "aria-expanded": "false", "aria-controls": `${id}-quote`, "aria-label": say("sourceNamed", { n: source.index, name: trail.join(", ") }), onclick: fold },
      element("span", { className: "number" }, String(source.index)),
      element("span", { className: "trail" }, crumbs(trail)),
    );
    const card = element(
      "section", { className: "card", id, tabindex: "-1", "aria-label": say("source", { n: source.index }) },
      head,
      quoted(`${id}-quote`, source),
      this.place(source),
    );
    return card;
  }

  place(source) {
    if (!source.chunk_id) return null;
    const published = link(source.source_url, `${say("openPage")} ↗`);
    return element(
      "footer", {},
      published.tagName === "A" && published,
      element("button", { type: "button", className: "plain", onclick: () => this.read(source) }, say("readAround")),
      element("span", { className: "match", title: say("matchTitle") }, say("match", { percent: percent(source.similarity_score) })),
      element("code", { className: "file", title: say("fileTitle") }, `${source.source_file}:${source.line}`),
    );
  }

  done(body) {
    this.text = body.answer ?? body.fallback_message ?? "";
    this.sources.length || this.cite(body.sources);
    this.ground(body.grounding);
    this.settle();
    if (body.metadata.mode === "no_results" || !body.should_answer) return this.refuse(body.metadata);
    const { removed, total } = body.grounding;
    this.below.replaceChildren(
      ...[
        body.metadata.disclaimer && element("p", { className: "caution" }, body.metadata.disclaimer),
        body.answer && body.fallback_message && element("p", { className: "caution" }, body.fallback_message),
        this.unsupported.length > 0 && this.doubts(total),
        removed > 0 && element("p", { className: "caution" }, say("takenOut", { n: removed })),
        this.facts(body),
      ].filter(Boolean),
    );
  }

  doubts(total) {
    const each = this.unsupported.map(({ text, reason }) => element("li", {}, named(text), reason && `: ${reason}`));
    return element(
      "div", { className: "caution" },
      element("p", {}, `⚠ ${say("unconfirmed", { n: each.length, total })}`),
      element("ul", {}, each),
    );
  }

  facts(body) {
    const mode = body.metadata.mode in MODES ? say(MODES[body.metadata.mode]) : body.model;
    return element(
      "p", { className: "facts" },
      element("span", { className: `badge ${body.confidence_level}`, title: say("confidence", { percent: percent(body.confidence) }) }, say(LEVELS[body.confidence_level])),
      mode && element("span", {}, mode),
      element("span", {}, time(body.metadata.query_time_ms)),
      this.copier(),
    );
  }

  copier() {
    const copy = async (event) => {
      const button = event.currentTarget;
      const notes = this.sources.map((source) => `[${source.index}] ${source.source_url || `${source.source_file}:${source.line}`}`);
      await navigator.clipboard.writeText([this.text.trim(), "", ...notes].join("\n"));
      button.textContent = say("copied");
      setTimeout(() => (button.textContent = say("copy")), 1500);
    };
    return navigator.clipboard ? element("button", { type: "button", className: "plain", onclick: copy }, say("copy")) : null;
  }

  refuse(metadata = {}) {
    this.node.classList.add("refused");
    this.margin.remove();
    const { missing_terms: missing = [], suggestions = [] } = metadata;
    this.below.replaceChildren(
      ...[
        missing.length > 0 && element("p", {}, parts("neverMentions", { terms: missing.flatMap((term, at) => [at ? ", " : "", element("q", {}, term)]) })),
        suggestions.length > 0 && element("h3", {}, say("nearest")),
        suggestions.length > 0 && element("ul", { className: "nearest" }, suggestions.map(nearest)),
      ].filter(Boolean),
    );
  }

  settle() {
    this.progress.remove();
    this.draw();
    this.answer.setAttribute("aria-busy", "false");
    this.node.classList.add("settled");
  }

  interrupted() {
    this.settle();
    this.below.replaceChildren(element("p", { className: "facts" }, say("stopped")));
  }

  // What had arrived stays. `retry` asks once more; after a limit that is possible when its time has passed.
  fail(trouble, retry) {
    this.settle();
    this.node.classList.add("failed");
    if (!this.sources.length) this.margin.remove();
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
          trouble.code && trouble.code !== "BROKEN" && element("code", {}, trouble.code),
          trouble.request && element("span", { title: say("requestTitle") }, say("request", { id: trouble.request.slice(0, 8) })),
        ),
      ),
    );
    if (trouble.status === 429) countDown(trouble, hint, again);
  }
}

// Says how long the reader has to wait. Only the last word of it is an alert: a number that changes each second is not.
function countDown(trouble, hint, again) {
  again.disabled = trouble.wait > 0;
  if (trouble.wait <= 0) return hint.remove();
  hint.setAttribute("aria-live", "off");
  hint.textContent = trouble.told().hint;
  trouble.wait -= 1;
  setTimeout(() => countDown(trouble, hint, again), 1000);
}

// The exact words, with the decisive sentence marked. Offsets count characters, not the halves that JavaScript counts.
function quoted(id, source) {
  const quote = element("blockquote", { id, className: "quote prose" }, render(source.quote));
  const [start, end] = source.highlight ?? [0, 0];
  const decisive = [...source.quote].slice(start, end).join("");
  if (!decisive || decisive === source.quote) return quote;
  const cells = decisive.startsWith("|") ? decisive.split("|") : [decisive]; // a row alone would not be drawn as one
  mark(quote, cells.map((words) => element("div", {}, render(words)).textContent).join(""));
  return quote;
}

// A doubtful sentence as it is named below the answer: without the signs that only its form needs.
function named(text) {
  if (/^\s*(?:`{3}|~{3})/.test(text)) return say("codeBlock");
  const words = text.startsWith("|") ? text.split("\n")[0].replace(/^\||\|$/g, "").split("|").map((cell) => cell.trim()).join(" · ") : text;
  return element("q", {}, words.replace(/\s*\[\d{1,3}(?:\s*,\s*\d{1,3})*\]/g, ""));
}

function nearest(suggestion) {
  const trail = crumbs(suggestion.breadcrumb.length ? suggestion.breadcrumb : [suggestion.title]);
  return element("li", {}, link(suggestion.source_url, trail));
}
