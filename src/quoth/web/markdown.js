// Markdown → DOM nodes. The text comes from a book, or one day from a model: it is never parsed as HTML, so nothing in it
// can run. Covers what answers and passages hold; anything else is shown as it was written.

import { element, link } from "./nodes.js";
import { say } from "./texts/index.js";

// `cite(n)` gives the node of a marker [n], or null when there is no such source.
// `mark` = [start, end]: blocks that overlap it are the ones relied on.
// `doubts`: the sentences that no source supports, as they stand in the text, each with a reason.
// `figure(address, words)` gives the node of a picture, or null: then its words are shown.
// `page`: a whole page of a book. Lines that only its toolchain reads (tags, imports) are left out.
// Formulas become <code class="tex">, for those who can draw them (`adorn.js`).
/**
 * @param {string} text
 * @param {{cite?: (n: number) => Node | null, mark?: [number, number] | null, doubts?: {text: string, reason?: string | null}[],
 *   figure?: (address: string, words: string) => Node | null, page?: boolean}} [options]
 * @returns {Node}
 */
export function render(text, { cite = () => null, mark = null, doubts = [], figure = () => null, page = false } = {}) {
  const [written, reasons] = doubted(text, doubts);
  const headings = { top: 7, last: 2 };
  for (const [, signs] of written.matchAll(/^ {0,3}(#{1,6})\s/gm)) headings.top = Math.min(headings.top, signs.length);
  return drawn(written, { cite, mark, reasons, figure, page, headings, notes: new Map(), depth: 0 });
}

// Two characters that no text has for its own use enclose a doubtful sentence.
const OPEN = "\uE000";
const CLOSE = "\uE001";

function doubted(text, doubts) {
  let out = "";
  let at = 0;
  const reasons = [];
  text = text.replace(/[\uE000\uE001]/g, "");
  for (const { text: sentence, reason } of doubts) {
    const start = text.indexOf(sentence, at);
    if (start < 0) continue;
    // A row or a block of code must stay the first thing on its line: the mark goes into its first line of text.
    const inner = /^(?:\s*(?:`{3,}|~{3,})[^\n]*\n|\|)/.exec(sentence)?.[0].length ?? 0;
    const length = inner ? sentence.slice(inner).split(/\n|\|/)[0].length : sentence.length;
    const [from, to] = [start + inner, start + inner + length];
    out += text.slice(at, from) + OPEN + text.slice(from, to) + CLOSE;
    at = to;
    reasons.push(reason ?? "");
  }
  return [out + text.slice(at), reasons];
}

function drawn(text, context) {
  const lines = [];
  let offset = 0;
  for (const line of text.split("\n")) {
    lines.push({ text: line.replace(/\r$/, ""), start: offset });
    offset += line.length + 1;
  }
  return blocks(lines, context);
}

const inside = (context) => ({ ...context, mark: null, depth: context.depth + 1 });

const FENCE = /^(\s*)(`{3,}|~{3,})\s*\{?\.?([\w+#.-]*)/;
const HEADING = /^\s{0,3}(#{1,6})\s+(.*?)(?:\s+#+)?(?:\s*\{#[^}]*\})?\s*$/;
const ITEM = /^(\s*)([-*+]|\d{1,9}[.)])\s+(.*)$/;
const TABLE_RULE = /^\s*\|?\s*:?-{1,}:?\s*(\|\s*:?-{1,}:?\s*)*\|?\s*$/;
const ADMONITION = /^\s*(:::+|!!!|\?\?\?\+?)\s*(\w+)?\s*(.*)$/;
const BLANK = /^\s*$/;
const FORMULA = /^\s*(\$\$|\\\[)/;
const FOOTNOTE = /^\s{0,3}\[\^([^\]\s]{1,40})\]:\s*(.*)$/;
const TASK = /^\[([ xX])\]\s+/;
const ALERT = /^\s*>\s*\[!(\w+)\]\s*$/;
const TAG_LINE = /^\s*<\/?[A-Za-z][^<>]*>\s*$/;
const MODULE_LINE = /^(?:import\s.*\sfrom\s+["']|import\s+["']|export\s+(?:const|default|function)\s)/;
const ONLY_MARKERS = /^\s*(?:\[\d{1,3}(?:\s*,\s*\d{1,3})*\]\s*)+$/;

function blocks(lines, context) {
  const out = document.createDocumentFragment();
  if (context.depth > 16) return element("p", {}, lines.map((line) => line.text).join("\n")); // no book nests like that
  let at = 0;
  while (at < lines.length) {
    const from = at;
    const [node, next] = block(lines, at, context);
    at = Math.max(next, from + 1);
    if (!node) continue;
    const end = at < lines.length ? lines[at].start : Infinity;
    if (context.mark && node.nodeType === 1 && lines[from].start < context.mark[1] && end > context.mark[0]) {
      node.classList.add("cited");
    }
    // Markers below a code block or a table belong to it.
    if (node.tagName === "P" && ONLY_MARKERS.test(lines[from].text) && out.lastElementChild) node.className = "tail";
    out.append(node);
  }
  return out;
}

function block(lines, at, context) {
  const line = lines[at].text;
  if (BLANK.test(line)) return [null, at + 1];
  const fence = FENCE.exec(line);
  if (fence) return fenced(lines, at, fence, context);
  const heading = HEADING.exec(line);
  if (heading) return [element(headingTag(heading[1].length, context), { dir: "auto" }, inline(heading[2], context)), at + 1];
  if (/^\s*([-*_])(\s*\1){2,}\s*$/.test(line)) return [element("hr"), at + 1];
  if (isTable(lines, at)) return table(lines, at, context);
  const formula = FORMULA.exec(line);
  if (formula && closes(lines, at, formula)) return displayed(lines, at, formula);
  const footnote = FOOTNOTE.exec(line);
  if (footnote) return noted(lines, at, footnote, context);
  if (context.page && (MODULE_LINE.test(line) || (TAG_LINE.test(line) && !/^\s*<(?:img|https?:)/.test(line)))) return [labelled(line), at + 1];
  if (/^\s*>/.test(line)) return quoted(lines, at, context);
  if (ADMONITION.test(line)) return admonition(lines, at, context);
  if (ITEM.test(line)) return list(lines, at, context);
  return paragraph(lines, at, context);
}

// The headings of a text begin below that of the question, and leave no level out.
function headingTag(level, { headings }) {
  headings.last = Math.max(3, Math.min(6, 3 + level - headings.top, headings.last + 1));
  return `h${headings.last}`;
}

// A tag that is alone on its line shows nothing, but a tab or a folded part may have a name.
function labelled(line) {
  const name = /\s(?:label|title|summary)=["']([^"']{1,80})["']/.exec(line);
  return name && element("p", { className: "note-name", dir: "auto" }, name[1]);
}

const closing = ([, sign]) => (sign === "$$" ? "$$" : "\\]");

function closes(lines, at, formula) {
  const rest = lines[at].text.slice(formula[0].length);
  return rest.includes(closing(formula)) || lines.slice(at + 1, at + 40).some((line) => line.text.includes(closing(formula)));
}

function displayed(lines, at, formula) {
  const end = closing(formula);
  let next = at;
  let text = lines[at].text.slice(formula[0].length);
  while (!text.includes(end)) text += `\n${lines[++next].text}`;
  const [tex, after] = [text.slice(0, text.indexOf(end)), text.slice(text.indexOf(end) + end.length).trim()];
  return [element("p", { className: "formula" }, element("code", { className: "tex", "data-display": true }, tex.trim()), after && ` ${after}`), next + 1];
}

// A footnote is shown where it is written; its mark in the text leads to it.
function noted(lines, at, [, name, first], context) {
  const text = [first];
  let next = at + 1;
  while (next < lines.length && /^\s{2,}\S/.test(lines[next].text)) text.push(lines[next++].text.trim());
  const node = element("p", { className: "footnote", tabindex: "-1", dir: "auto" }, element("sup", {}, name), " ", inline(text.join("\n"), context));
  context.notes.set(name, node);
  return [node, next];
}

function fenced(lines, at, [, indent, ticks, language], context) {
  const body = [];
  let next = at + 1;
  while (next < lines.length && !lines[next].text.trim().startsWith(ticks)) {
    const text = lines[next].text;
    body.push(text.startsWith(indent) ? text.slice(indent.length) : text.trimStart());
    next += 1;
  }
  const text = body.join("\n");
  if (language === "math") return [element("p", { className: "formula" }, element("code", { className: "tex", "data-display": true }, text)), next + 1];
  const doubtful = text.includes(OPEN);
  const code = element("code", {}, doubtful ? text.replaceAll(OPEN, "").replaceAll(CLOSE, "") : text);
  const attributes = { tabindex: "0", dir: "ltr", "data-language": language || null };
  if (doubtful) Object.assign(attributes, { className: "doubt", title: context.reasons.shift() });
  return [element("pre", attributes, code), next + 1];
}

const isRow = (line) => line !== undefined && line.text.includes("|") && !BLANK.test(line.text);
const isTable = (lines, at) => isRow(lines[at]) && (lines[at].text.trim().startsWith("|") || TABLE_RULE.test(lines[at + 1]?.text ?? ""));

function cells(line) {
  const kept = line.trim().replace(/^\|/, "").replace(/\|$/, "");
  return kept.split(/(?<!\\)\|/).map((cell) => cell.trim().replaceAll("\\|", "|"));
}

function table(lines, at, context) {
  let next = at;
  const rows = [];
  while (isRow(lines[next])) rows.push(lines[next++].text);
  const headed = rows.length > 1 && TABLE_RULE.test(rows[1]);
  const sides = headed ? cells(rows[1]).map((rule) => (rule.endsWith(":") ? (rule.startsWith(":") ? "center" : "end") : null)) : [];
  const row = (text, tag) => {
    const doubt = text.includes(OPEN) ? { className: "doubt", title: context.reasons.shift() } : {};
    const plain = text.replaceAll(OPEN, "").replaceAll(CLOSE, "");
    return element("tr", doubt, cells(plain).map((cell, at) => element(tag, { dir: "auto", className: sides[at] }, inline(cell, context))));
  };
  const body = rows.slice(headed ? 2 : 0).filter((text) => !TABLE_RULE.test(text));
  const grid = element(
    "table", {},
    headed && element("thead", {}, row(rows[0], "th")),
    element("tbody", {}, body.map((text) => row(text, "td"))),
  );
  return [element("div", { className: "wide", tabindex: "0" }, grid), next];
}

function quoted(lines, at, context) {
  let next = at;
  const inner = [];
  const alert = ALERT.exec(lines[at].text);
  if (alert) next += 1;
  while (next < lines.length && /^\s*>/.test(lines[next].text)) {
    inner.push({ ...lines[next], text: lines[next].text.replace(/^\s*>\s?/, "") });
    next += 1;
  }
  if (alert) return [note(alert[1].toLowerCase(), inner, context), next];
  return [element("blockquote", { dir: "auto" }, blocks(inner, inside(context))), next];
}

function admonition(lines, at, context) {
  const [, , kind, title] = ADMONITION.exec(lines[at].text);
  if (!kind) return [null, at + 1]; // the closing fence
  let next = at + 1;
  const inner = [];
  const open = lines[at].text.trim().startsWith(":");
  while (next < lines.length && (open ? !/^\s*:::/.test(lines[next].text) : /^(\s{2,}|$)/.test(lines[next].text))) {
    inner.push({ ...lines[next], text: open ? lines[next].text : lines[next].text.trim() });
    next += 1;
  }
  const name = title.replace(/^[[“"]|[\]”"]$/g, "") || kind;
  return [note(name, inner, context), open ? next + 1 : next];
}

function note(name, inner, context) {
  const head = element("p", { className: "note-name", dir: "auto" }, inline(name, context));
  return element("div", { className: "note" }, head, blocks(inner, inside(context)));
}

function list(lines, at, context) {
  const [, indent, bullet] = ITEM.exec(lines[at].text);
  const ordered = /\d/.test(bullet);
  const items = [];
  let next = at;
  while (next < lines.length) {
    const item = ITEM.exec(lines[next].text);
    if (item && item[1].length <= indent.length + 1) {
      if (/\d/.test(item[2]) !== ordered) break;
      items.push([{ ...lines[next], text: item[3] }]);
    } else if (BLANK.test(lines[next].text)) {
      const after = lines[next + 1]?.text ?? "";
      if (!ITEM.test(after) && !/^\s{2,}\S/.test(after)) break;
      items.at(-1).push(lines[next]);
    } else if (item || /^\s+\S/.test(lines[next].text)) {
      items.at(-1).push({ ...lines[next], text: lines[next].text.replace(/^\s{1,4}/, "") });
    } else break;
    next += 1;
  }
  const nodes = items.map((inner) => item(inner, context));
  return [element(ordered ? "ol" : "ul", { start: ordered ? parseInt(bullet, 10) : null }, nodes), next];
}

function item(inner, context) {
  const task = TASK.exec(inner[0].text);
  if (!task) return element("li", { dir: "auto" }, loose(inner, context));
  inner[0].text = inner[0].text.slice(task[0].length);
  const done = task[1] !== " ";
  const box = element("span", { className: "box", role: "img", "aria-label": say(done ? "taskDone" : "taskOpen") }, done ? "☑" : "☐");
  return element("li", { className: "task", dir: "auto" }, box, " ", loose(inner, context));
}

// An item of one paragraph is shown without the paragraph.
function loose(inner, context) {
  const content = blocks(inner, inside(context));
  const first = content.firstElementChild;
  if (first?.tagName === "P") first.replaceWith(...first.childNodes);
  return content;
}

const startsBlock = (lines, at) =>
  FENCE.test(lines[at].text) || HEADING.test(lines[at].text) || ITEM.test(lines[at].text) ||
  /^\s*>/.test(lines[at].text) || /^\s*:::/.test(lines[at].text) || isTable(lines, at);

function paragraph(lines, at, context) {
  let next = at;
  const text = [];
  while (next < lines.length && !BLANK.test(lines[next].text) && (next === at || !startsBlock(lines, next))) {
    text.push(lines[next++].text.trim());
  }
  return [element("p", { dir: "auto" }, inline(text.join("\n"), context)), next];
}

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
    "<(?<tag>sub|sup|kbd)>(?<small>[^<>]{1,200})</\\k<tag>>",
    "(?<!~)~(?<sub>[^~\\s]{1,30})~(?!~)",
    "\\^(?<sup>[^\\^\\s]{1,30})\\^",
    "(?<hidden><!--[\\s\\S]{0,2000}?-->)",
    "<(?<auto>https?://[^\\s<>]+)>",
    "(?<bare>https?://[^\\s<>()\\[\\]`]+[^\\s<>()\\[\\]`.,;:!?'\"])",
    "(?<pause><br\\s*/?>)",
  ].join("|"),
  "g",
);

function inline(text, context) {
  const out = document.createDocumentFragment();
  let at = 0;
  for (const found of text.matchAll(INLINE)) {
    const node = span(found.groups, context);
    if (!node) continue;
    out.append(text.slice(at, found.index), node);
    at = found.index + found[0].length;
  }
  out.append(text.slice(at));
  return out;
}

function span(form, context) {
  if (form.doubt !== undefined) {
    const reason = context.reasons.shift();
    return element(
      "mark", { className: "doubt", title: reason },
      inline(form.doubt, context),
      element("span", { className: "unseen" }, " ", say("unsupported", { reason })),
    );
  }
  const tex = form.round ?? form.square ?? form.dollar;
  if (tex !== undefined) return element("code", { className: "tex" }, tex.trim());
  if (form.escaped !== undefined) return document.createTextNode(form.escaped);
  if (form.code !== undefined) return element("code", {}, form.code);
  if (form.alt !== undefined) return picture(form.src, form.alt, context);
  if (form.img !== undefined) return picture(attribute(form.img, "src"), attribute(form.img, "alt"), context);
  if (form.foot !== undefined) return footmark(form.foot, context);
  if (form.tag !== undefined) return element(form.tag, {}, inline(form.small, context));
  if (form.sub !== undefined) return element("sub", {}, form.sub);
  if (form.sup !== undefined) return element("sup", {}, form.sup);
  if (form.hidden !== undefined) return document.createTextNode("");
  if (form.label !== undefined) return link(form.href, inline(form.label, context));
  if (form.cited !== undefined) return markers(form.cited, context);
  const strong = form.strong ?? form.strong2;
  if (strong !== undefined) return element("strong", {}, inline(strong, context));
  const em = form.em ?? form.em2;
  if (em !== undefined) return element("em", {}, inline(em, context));
  if (form.gone !== undefined) return element("s", {}, inline(form.gone, context));
  if (form.pause !== undefined) return element("br");
  const address = form.auto ?? form.bare;
  return link(address, address);
}

const attribute = (tag, name) => new RegExp(`\\s${name}=["'{]([^"'{}]*)["'}]`).exec(tag)?.[1] ?? "";

const picture = (src, alt, context) => context.figure(src, alt) ?? element("span", { className: "picture" }, alt || say("picture"));

function footmark(name, context) {
  const lead = (event) => {
    event.preventDefault();
    const note = context.notes.get(name);
    note?.scrollIntoView({ block: "center" });
    note?.focus({ preventScroll: true });
  };
  return element("sup", {}, element("a", { href: "#", className: "footmark", onclick: lead }, name));
}

function markers(numbers, context) {
  const out = document.createDocumentFragment();
  for (const number of numbers.split(",")) {
    const node = context.cite(Number(number));
    if (!node) return null;
    out.append(node);
  }
  return out;
}
