// One question and what came of it: the answer as it arrives, its sources, or why there is none.

import { render } from "./markdown.js";
import { crumbs, element, link, mark } from "./nodes.js";

const LEVELS = {
  high: "High confidence",
  medium: "Medium confidence",
  low: "Low confidence",
  insufficient: "Not in the book",
};
const MODES = {
  extractive: "the book’s own words",
  selected_text: "from your selection",
  retrieval_only: "sources only: the language model did not answer",
};

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
    this.progress = element("p", { className: "progress" }, "Looking through the book");
    this.below = element("div", { className: "below" });
    this.margin = element("aside", { className: "margin", "aria-label": "Sources" });
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
    this.progress.textContent = stage === "generating" ? "Writing the answer" : "Looking through the book";
  }

  retrieved({ results, searched_query: searched }) {
    if (searched && searched !== this.question) this.answer.before(element("p", { className: "searched" }, "Searched for: ", searched));
    const pages = new Set(results.map((result) => result.title)).size;
    if (results.length) this.progress.textContent = `Reading ${results.length} passages from ${pages} ${pages === 1 ? "page" : "pages"}`;
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
        href: `#${this.cardId(n)}`, role: "doc-noteref", "aria-label": `Source ${n}: ${source.section ?? "selected text"}`,
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
    const trail = source.breadcrumb ?? ["Selected text"];
    const fold = (event) => {
      const open = card.classList.toggle("open");
      event.currentTarget.setAttribute("aria-expanded", String(open));
    };
    const head = element(
      "button", { type: "button", className: "unfold", "aria-expanded": "false", "aria-controls": `${id}-quote`, "aria-label": `Source ${source.index}: ${trail.join(", ")}`, onclick: fold },
      element("span", { className: "number" }, String(source.index)),
      element("span", { className: "trail" }, crumbs(trail)),
    );
    const card = element(
      "section", { className: "card", id, tabindex: "-1", "aria-label": `Source ${source.index}` },
      head,
      quoted(`${id}-quote`, source),
      this.place(source),
    );
    return card;
  }

  place(source) {
    if (!source.chunk_id) return null;
    const published = link(source.source_url, "Open the page ↗");
    return element(
      "footer", {},
      published.tagName === "A" && published,
      element("button", { type: "button", className: "plain", onclick: () => this.read(source) }, "Read around it"),
      element("span", { className: "match", title: "How well this passage fits the question" }, `${percent(source.similarity_score)} match`),
      element("code", { className: "file", title: "File and line" }, `${source.source_file}:${source.line}`),
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
        removed > 0 && element("p", { className: "caution" }, `${removed} ${removed === 1 ? "sentence that" : "sentences that"} no source supports ${removed === 1 ? "was" : "were"} taken out.`),
        this.facts(body),
      ].filter(Boolean),
    );
  }

  doubts(total) {
    const each = this.unsupported.map(({ text, reason }) => element("li", {}, named(text), reason && `: ${reason}`));
    return element(
      "div", { className: "caution" },
      element("p", {}, `⚠ ${each.length} of ${total} sentences, marked above, could not be confirmed in the sources:`),
      element("ul", {}, each),
    );
  }

  facts(body) {
    const mode = MODES[body.metadata.mode] ?? body.model;
    return element(
      "p", { className: "facts" },
      element("span", { className: `badge ${body.confidence_level}`, title: `Confidence ${percent(body.confidence)}` }, LEVELS[body.confidence_level]),
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
      button.textContent = "Copied";
      setTimeout(() => (button.textContent = "Copy"), 1500);
    };
    return navigator.clipboard ? element("button", { type: "button", className: "plain", onclick: copy }, "Copy") : null;
  }

  refuse(metadata = {}) {
    this.node.classList.add("refused");
    this.margin.remove();
    const { missing_terms: missing = [], suggestions = [] } = metadata;
    this.below.replaceChildren(
      ...[
        missing.length > 0 && element("p", {}, "The book never mentions ", missing.flatMap((term, at) => [at ? ", " : "", element("q", {}, term)]), "."),
        suggestions.length > 0 && element("h3", {}, "The nearest sections"),
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
    this.below.replaceChildren(element("p", { className: "facts" }, "Stopped."));
  }

  fail(problem, retry) {
    this.settle();
    this.node.classList.add("failed");
    this.margin.remove();
    this.below.replaceChildren(
      element(
        "div", { className: "failure", role: "alert" },
        element("p", { className: "what" }, problem.message),
        problem.hint && element("p", {}, render(problem.hint)),
        element(
          "p", { className: "facts" },
          element("button", { type: "button", className: "plain", onclick: retry }, "Try again"),
          problem.error_code && element("code", {}, problem.error_code),
          problem.request_id && element("span", { title: "For whoever runs this server" }, `request ${problem.request_id.slice(0, 8)}`),
        ),
      ),
    );
  }
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
  if (/^\s*(?:`{3}|~{3})/.test(text)) return "A block of code";
  const words = text.startsWith("|") ? text.split("\n")[0].replace(/^\||\|$/g, "").split("|").map((cell) => cell.trim()).join(" · ") : text;
  return element("q", {}, words.replace(/\s*\[\d{1,3}(?:\s*,\s*\d{1,3})*\]/g, ""));
}

function nearest(suggestion) {
  const trail = crumbs(suggestion.breadcrumb.length ? suggestion.breadcrumb : [suggestion.title]);
  return element("li", {}, link(suggestion.source_url, trail));
}

const percent = (share) => `${Math.round(share * 100)} %`;
const time = (ms) => (ms < 1000 ? `${Math.round(ms)} ms` : `${(ms / 1000).toFixed(1)} s`);
