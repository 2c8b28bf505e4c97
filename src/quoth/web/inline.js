// One line of Markdown → DOM nodes: emphasis, code, formulas, links, pictures, footnotes, markers. Nothing is parsed as HTML.
// In: the text of a paragraph, a cell or a heading, and the context of `markdown.js`. Text that no form matches stays as is.

import { element, link } from "./nodes.js";
import { say } from "./texts/index.js";

// Two characters that no text uses itself enclose a doubtful sentence.
export const OPEN = "\uE000";
export const CLOSE = "\uE001";

/**
 * @typedef {object} Spans what the text around a line knows
 * @property {(n: number) => Node | null} cite
 * @property {(address: string, words: string) => Node | null} figure
 * @property {string[]} reasons why each sentence is doubtful, in the order of the text
 * @property {Map<string, HTMLElement>} notes the footnotes by their names
 */

// One alternative for each inline form, tried in this order.
const INLINE = new RegExp(
  [
    `${OPEN}(?<doubt>[^${CLOSE}]*)${CLOSE}`,
    "\\\\\\((?<round>[^\\n]{1,500}?)\\\\\\)",
    "\\\\\\[(?<square>[^\\n\\[\\]]{1,500}?[\\\\^_=][^\\n\\[\\]]{0,500}?)\\\\\\]",
    "(?<![\\w$\\\\])\\$(?<dollar>[^$\\s](?:[^$\\n]{0,500}[^$\\s\\\\])?)\\$(?![\\w$])",
    "\\\\(?<escaped>[\\\\`*_{}\\[\\]#+.!|<>~$-])",
    "(?<ticks>`+)(?<code>[^`]|[^`][\\s\\S]*?[^`])\\k<ticks>(?!`)",
    "!\\[(?<alt>[^\\]]*)\\]\\((?<src>[^()\\s]*)(?:\\s+\"[^\"]*\")?\\)(?:\\{[^{}\\n]{0,100}\\})?",
    "<img(?<img>\\s[^<>]{1,800})>",
    "\\[\\^(?<foot>[^\\]\\s]{1,40})\\]",
    "\\[(?<label>(?:[^\\[\\]]|\\[[^\\[\\]]*\\])+)\\]\\((?<href>[^()\\s]*(?:\\([^()\\s]*\\))?[^()\\s]*)(?:\\s+\"[^\"]*\")?\\)",
    "\\[(?<cited>\\d{1,3}(?:\\s*,\\s*\\d{1,3})*)\\]",
    "(?<![*\\w])\\*\\*(?<strong>\\S(?:[\\s\\S]*?\\S)?)\\*\\*",
    "(?<!\\w)__(?<strong2>\\S(?:[\\s\\S]*?\\S)?)__(?!\\w)",
    "\\*(?<em>[^*\\s](?:[^*]*[^*\\s])?)\\*",
    "(?<!\\w)_(?<em2>[^_\\s](?:[^_]*[^_\\s])?)_(?!\\w)",
    "~~(?<gone>[^~]+)~~",
    "<(?<tag>sub|sup|kbd|code|b|strong|i|em|small|u|s)(?:\\s[^<>]*)?>(?<small>[^<>]{1,200})</\\k<tag>>",
    "(?<!~)~(?<sub>[^~\\s]{1,30})~(?!~)",
    "\\^(?<sup>[^\\^\\s]{1,30})\\^",
    "(?<hidden><!--[\\s\\S]{0,2000}?-->|</?(?:span|a|p|div|b|strong|i|em|small|u|font|center|figure|figcaption|details|summary)(?:\\s[^<>]*)?>)",
    "<(?<auto>https?://[^\\s<>]+)>",
    "(?<bare>https?://[^\\s<>()\\[\\]`]+[^\\s<>()\\[\\]`.,;:!?'\"])",
    "(?<pause><br\\s*/?>)",
  ].join("|"),
  "g",
);

/** @param {string} text @param {Spans} context */
export function inline(text, context) {
  const out = document.createDocumentFragment();
  let at = 0;
  for (const found of text.matchAll(INLINE)) {
    const node = span(found.groups ?? {}, context);
    if (!node) continue;
    const before = text.slice(at, found.index);
    out.append(found.groups?.cited ? before.trimEnd() : before, node); // a marker stays with its word
    at = found.index + found[0].length;
  }
  out.append(text.slice(at));
  return out;
}

/** @typedef {(text: string, context: Spans, form: Record<string, string | undefined>) => Node | null} Draws */

/** @type {Draws} */
const formula = (text) => element("code", { className: "tex" }, text.trim());
/** @type {(tag: string) => Draws} */
const tagged = (tag) => (text, context) => element(tag, {}, inline(text, context));

// How to draw each form, by the name of its group.
/** @type {Record<string, Draws>} */
const SPANS = {
  doubt: doubtful,
  round: formula,
  square: formula,
  dollar: formula,
  escaped: (text) => document.createTextNode(text),
  code: (text) => element("code", {}, text),
  alt: (text, context, { src = "" }) => picture(src, text, context),
  img: (text, context) => picture(attribute(text, "src"), attribute(text, "alt"), context),
  foot: footmark,
  small: (text, context, { tag = "span" }) => element(tag, {}, inline(text, context)),
  sub: (text) => element("sub", {}, text),
  sup: (text) => element("sup", {}, text),
  hidden: () => document.createTextNode(""),
  label: (text, context, { href = "" }) => link(href, inline(text, context)),
  cited: markers,
  strong: tagged("strong"),
  strong2: tagged("strong"),
  em: tagged("em"),
  em2: tagged("em"),
  gone: tagged("s"),
  pause: () => element("br"),
  auto: (text) => link(text, text),
  bare: (text) => link(text, text),
};

/** @param {Record<string, string | undefined>} form @param {Spans} context */
function span(form, context) {
  const name = Object.keys(SPANS).find((known) => form[known] !== undefined) ?? "";
  return SPANS[name]?.(form[name] ?? "", context, form) ?? null;
}

/** @param {string} text @param {Spans} context */
function doubtful(text, context) {
  const reason = context.reasons.shift() ?? "";
  const aloud = element("span", { className: "unseen" }, " ", say("unsupported", { reason }));
  return element("mark", { className: "doubt", title: reason }, inline(text, context), aloud);
}

const attribute = (/** @type {string} */ tag, /** @type {string} */ name) => new RegExp(`\\s${name}=["'{]([^"'{}]*)["'}]`).exec(tag)?.[1] ?? "";

const picture = (/** @type {string} */ src, /** @type {string} */ alt, /** @type {Spans} */ context) => context.figure(src, alt) ?? element("span", { className: "picture" }, alt || say("picture"));

/** @param {string} name @param {Spans} context */
function footmark(name, context) {
  const lead = (/** @type {Event} */ event) => {
    event.preventDefault();
    const note = context.notes.get(name);
    note?.scrollIntoView({ block: "center" });
    note?.focus({ preventScroll: true });
  };
  return element("sup", {}, element("a", { href: "#", className: "footmark", onclick: lead }, name));
}

/** @param {string} numbers @param {Spans} context */
function markers(numbers, context) {
  const out = document.createDocumentFragment();
  for (const number of numbers.split(",")) {
    const node = context.cite(Number(number));
    if (!node) return null;
    out.append(node);
  }
  return out;
}
