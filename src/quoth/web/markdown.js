// Markdown → DOM nodes. The text comes from a book, or one day from a model: it is never parsed as HTML, so nothing in it
// can run. Covers what answers and passages hold; anything else is shown as it was written.

import { element, link } from "./nodes.js";
import { say } from "./texts/index.js";

// `cite(n)` gives the node of a marker [n], or null when there is no such source.
// `mark` = [start, end]: blocks that overlap it are the ones relied on.
// `doubts`: the sentences that no source supports, as they stand in the text, each with a reason.
export function render(text, { cite = () => null, mark = null, doubts = [] } = {}) {
  const [written, reasons] = doubted(text, doubts);
  return drawn(written, { cite, mark, reasons, depth: 0 });
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

const FENCE = /^(\s*)(`{3,}|~{3,})\s*([\w+#.-]*)/;
const HEADING = /^\s{0,3}(#{1,6})\s+(.*?)(?:\s+#+)?(?:\s*\{#[^}]*\})?\s*$/;
const ITEM = /^(\s*)([-*+]|\d{1,9}[.)])\s+(.*)$/;
const TABLE_RULE = /^\s*\|?\s*:?-{1,}:?\s*(\|\s*:?-{1,}:?\s*)*\|?\s*$/;
const ADMONITION = /^\s*(:::+|!!!|\?\?\?\+?)\s*(\w+)?\s*(.*)$/;
const BLANK = /^\s*$/;
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
  if (heading) return [element("h4", {}, inline(heading[2], context)), at + 1];
  if (/^\s*([-*_])(\s*\1){2,}\s*$/.test(line)) return [element("hr"), at + 1];
  if (isTable(lines, at)) return table(lines, at, context);
  if (/^\s*>/.test(line)) return quoted(lines, at, context);
  if (ADMONITION.test(line)) return admonition(lines, at, context);
  if (ITEM.test(line)) return list(lines, at, context);
  return paragraph(lines, at, context);
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
  const doubtful = text.includes(OPEN);
  const code = element("code", {}, doubtful ? text.replaceAll(OPEN, "").replaceAll(CLOSE, "") : text);
  const attributes = { tabindex: "0", "data-language": language || null };
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
  const row = (text, tag) => {
    const doubt = text.includes(OPEN) ? { className: "doubt", title: context.reasons.shift() } : {};
    const plain = text.replaceAll(OPEN, "").replaceAll(CLOSE, "");
    return element("tr", doubt, cells(plain).map((cell) => element(tag, {}, inline(cell, context))));
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
  while (next < lines.length && /^\s*>/.test(lines[next].text)) {
    inner.push({ ...lines[next], text: lines[next].text.replace(/^\s*>\s?/, "") });
    next += 1;
  }
  return [element("blockquote", {}, blocks(inner, inside(context))), next];
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
  const head = element("p", { className: "note-name" }, inline(name, context));
  return [element("div", { className: "note" }, head, blocks(inner, inside(context))), open ? next + 1 : next];
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
  const nodes = items.map((inner) => element("li", {}, loose(inner, context)));
  return [element(ordered ? "ol" : "ul", { start: ordered ? parseInt(bullet, 10) : null }, nodes), next];
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
  return [element("p", {}, inline(text.join("\n"), context)), next];
}

// One alternative for each inline form, tried in this order.
const INLINE = new RegExp(
  [
    `${OPEN}(?<doubt>[^${CLOSE}]*)${CLOSE}`,
    "\\\\(?<escaped>[\\\\`*_{}\\[\\]()#+.!|<>~-])",
    "(?<ticks>`+)(?<code>[^`]|[^`][\\s\\S]*?[^`])\\k<ticks>(?!`)",
    "!\\[(?<alt>[^\\]]*)\\]\\([^()\\s]*(?:\\s+\"[^\"]*\")?\\)",
    "\\[(?<label>(?:[^\\[\\]]|\\[[^\\[\\]]*\\])+)\\]\\((?<href>[^()\\s]*(?:\\([^()\\s]*\\))?[^()\\s]*)(?:\\s+\"[^\"]*\")?\\)",
    "\\[(?<cited>\\d{1,3}(?:\\s*,\\s*\\d{1,3})*)\\]",
    "(?<![*\\w])\\*\\*(?<strong>\\S(?:[\\s\\S]*?\\S)?)\\*\\*",
    "(?<!\\w)__(?<strong2>\\S(?:[\\s\\S]*?\\S)?)__(?!\\w)",
    "\\*(?<em>[^*\\s](?:[^*]*[^*\\s])?)\\*",
    "(?<!\\w)_(?<em2>[^_\\s](?:[^_]*[^_\\s])?)_(?!\\w)",
    "~~(?<gone>[^~]+)~~",
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
  if (form.escaped !== undefined) return document.createTextNode(form.escaped);
  if (form.code !== undefined) return element("code", {}, form.code);
  if (form.alt !== undefined) return element("span", { className: "picture" }, form.alt || say("picture"));
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

function markers(numbers, context) {
  const out = document.createDocumentFragment();
  for (const number of numbers.split(",")) {
    const node = context.cite(Number(number));
    if (!node) return null;
    out.append(node);
  }
  return out;
}
