// Markdown → DOM nodes. The text comes from a book or a model: it is never parsed as HTML, so nothing in it can run. Covers
// the forms in answers and passages; anything else is shown as written.

import { CLOSE, inline, OPEN } from "./inline.js";
import { element } from "./nodes.js";
import { say } from "./texts/index.js";

/**
 * @typedef {{text: string, start: number}} Line and where in the text it begins
 * @typedef {[any, number]} Drawn the node of a block, or null, and the line after it
 * @typedef {import("./inline.js").Spans & {mark: [number, number] | null, page: boolean, headings: {top: number, last: number}, depth: number}} Context
 */

// `cite(n)` gives the node of a marker [n], or null if there is no such source.
// `mark` = [start, end]: the answer relies on the blocks that overlap it.
// `doubts`: the sentences that no source supports, as written in the text, each with a reason.
// `figure(address, words)` gives the node of a picture, or null to show its words.
// `page`: a whole page of a book. Lines that only its toolchain reads (tags, imports) are left out.
// Formulas become <code class="tex">, for `adorn.js` to draw.
/**
 * @param {string} text
 * @param {{cite?: (n: number) => Node | null, mark?: [number, number] | null, doubts?: {text: string, reason?: string | null}[],
 *   figure?: (address: string, words: string) => Node | null, page?: boolean}} [options]
 * @returns {Node}
 */
export function render(text, { cite = () => null, mark = null, doubts = [], figure = () => null, page = false } = {}) {
  const [written, reasons] = doubted(text, doubts);
  const headings = { top: 7, last: 2 };
  for (const [, signs] of written.matchAll(/^ {0,3}(#{1,6})\s/gm)) headings.top = Math.min(headings.top, signs?.length ?? 7);
  return drawn(written, { cite, mark, reasons, figure, page, headings, notes: new Map(), depth: 0 });
}

/** @param {string} text @param {{text: string, reason?: string | null}[]} doubts @returns {[string, string[]]} */
function doubted(text, doubts) {
  let out = "";
  let at = 0;
  /** @type {string[]} */
  const reasons = [];
  text = text.replace(/[\uE000\uE001]/g, "");
  for (const { text: sentence, reason } of doubts) {
    const start = text.indexOf(sentence, at);
    if (start < 0) continue;
    // A row or a block of code must stay the first thing on its line: the mark goes into its first line of text.
    const inner = /^(?:\s*(?:`{3,}|~{3,})[^\n]*\n|\|)/.exec(sentence)?.[0].length ?? 0;
    const length = inner ? sentence.slice(inner).split(/\n|\|/, 1).join("").length : sentence.length;
    const [from, to] = [start + inner, start + inner + length];
    out += text.slice(at, from) + OPEN + text.slice(from, to) + CLOSE;
    at = to;
    reasons.push(reason ?? "");
  }
  return [out + text.slice(at), reasons];
}

/** @param {string} text @param {Context} context */
function drawn(text, context) {
  const lines = [];
  let offset = 0;
  for (const line of text.split("\n")) {
    lines.push({ text: line.replace(/\r$/, ""), start: offset });
    offset += line.length + 1;
  }
  return blocks(lines, context);
}

// Callers look only at existing lines.
const lineAt = (/** @type {Line[]} */ lines, /** @type {number} */ at) => /** @type {Line} */ (lines[at]);

/** @param {Context} context */
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

/** @param {Line[]} lines @param {Context} context @returns {DocumentFragment | HTMLElement} */
function blocks(lines, context) {
  const out = document.createDocumentFragment();
  if (context.depth > 16) return element("p", {}, lines.map((line) => line.text).join("\n")); // no book nests like that
  let at = 0;
  while (at < lines.length) {
    const from = at;
    const [node, next] = block(lines, at, context);
    at = Math.max(next, from + 1);
    if (!node) continue;
    const [first, end] = [lineAt(lines, from), lines[at]?.start ?? Infinity];
    if (context.mark && node.nodeType === 1 && first.start < context.mark[1] && end > context.mark[0]) {
      node.classList.add("cited");
    }
    // Markers below a code block or a table belong to it.
    if (node.tagName === "P" && ONLY_MARKERS.test(first.text) && out.lastElementChild) node.className = "tail";
    out.append(node);
  }
  return out;
}

/** @param {Line[]} lines @param {number} at @param {Context} context @returns {Drawn} */
function block(lines, at, context) {
  const line = lineAt(lines, at).text;
  if (BLANK.test(line)) return [null, at + 1];
  const fence = FENCE.exec(line);
  if (fence) return fenced(lines, at, fence, context);
  const heading = HEADING.exec(line);
  if (heading) return [element(headingTag(heading[1]?.length ?? 1, context), { dir: "auto" }, inline(heading[2] ?? "", context)), at + 1];
  if (/^\s*([-*_])(\s*\1){2,}\s*$/.test(line)) return [element("hr"), at + 1];
  if (isTable(lines, at)) return table(lines, at, context);
  const formula = FORMULA.exec(line);
  if (formula && closes(lines, at, formula)) return displayed(lines, at, formula, context);
  const footnote = FOOTNOTE.exec(line);
  if (footnote) return noted(lines, at, footnote, context);
  if (context.page && (MODULE_LINE.test(line) || (TAG_LINE.test(line) && !/^\s*<(?:img|https?:)/.test(line)))) return [labelled(line), at + 1];
  if (/^\s*>/.test(line)) return quoted(lines, at, context);
  if (ADMONITION.test(line)) return admonition(lines, at, context);
  if (ITEM.test(line)) return list(lines, at, context);
  return paragraph(lines, at, context);
}

// The headings of a text begin one level below the question's, and skip no level.
/** @param {number} level @param {Context} context */
function headingTag(level, { headings }) {
  headings.last = Math.max(3, Math.min(6, 3 + level - headings.top, headings.last + 1));
  return `h${headings.last}`;
}

// A tag alone on its line shows nothing, but a tab or a folded part may have a name.
/** @param {string} line */
function labelled(line) {
  const name = /\s(?:label|title|summary)=["']([^"']{1,80})["']/.exec(line);
  return name && element("p", { className: "note-name", dir: "auto" }, name[1]);
}

/** @param {RegExpExecArray} formula */
const closing = ([, sign]) => (sign === "$$" ? "$$" : "\\]");

/** @param {Line[]} lines @param {number} at @param {RegExpExecArray} formula */
function closes(lines, at, formula) {
  const rest = lineAt(lines, at).text.slice(formula[0].length);
  return rest.includes(closing(formula)) || lines.slice(at + 1, at + 40).some((line) => line.text.includes(closing(formula)));
}

/** @param {Line[]} lines @param {number} at @param {RegExpExecArray} formula @param {Context} context @returns {Drawn} */
function displayed(lines, at, formula, context) {
  const end = closing(formula);
  let next = at;
  let text = lineAt(lines, at).text.slice(formula[0].length);
  while (!text.includes(end)) text += `\n${lineAt(lines, ++next).text}`;
  const [tex, after] = [text.slice(0, text.indexOf(end)), text.slice(text.indexOf(end) + end.length).trim()];
  return [element("p", { className: "formula" }, element("code", { className: "tex", "data-display": true }, tex.trim()), after && [" ", inline(after, context)]), next + 1];
}

// A footnote is shown where it was written; its mark in the text leads to it.
/** @param {Line[]} lines @param {number} at @param {RegExpExecArray} found @param {Context} context @returns {Drawn} */
function noted(lines, at, [, name = "", first = ""], context) {
  const text = [first];
  let next = at + 1;
  while (/^\s{2,}\S/.test(lines[next]?.text ?? "")) text.push(lineAt(lines, next++).text.trim());
  const node = element("p", { className: "footnote", tabindex: "-1", dir: "auto" }, element("sup", {}, name), " ", inline(text.join("\n"), context));
  context.notes.set(name, node);
  return [node, next];
}

/** @param {Line[]} lines @param {number} at @param {RegExpExecArray} fence @param {Context} context @returns {Drawn} */
function fenced(lines, at, [, indent = "", ticks = "", language = ""], context) {
  const body = [];
  let next = at + 1;
  while (next < lines.length && !lineAt(lines, next).text.trim().startsWith(ticks)) {
    const { text } = lineAt(lines, next);
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

/** @param {Line | undefined} line */
const isRow = (line) => line !== undefined && line.text.includes("|") && !BLANK.test(line.text);
/** @param {Line[]} lines @param {number} at */
const isTable = (lines, at) => isRow(lines[at]) && (lineAt(lines, at).text.trim().startsWith("|") || TABLE_RULE.test(lines[at + 1]?.text ?? ""));

/** @param {string} line */
function cells(line) {
  const kept = line.trim().replace(/^\|/, "").replace(/\|$/, "");
  return kept.split(/(?<!\\)\|/).map((cell) => cell.trim().replaceAll("\\|", "|"));
}

// Columns and bullets follow the text's direction, not the page's. A `dir` of auto would not look into cells and items.
const direction = (/** @type {string} */ text) => (/^\P{L}*[\u0590-\u08FF\uFB1D-\uFEFC]/u.test(text) ? "rtl" : "ltr");

/** @param {Line[]} lines @param {number} at @param {Context} context @returns {Drawn} */
function table(lines, at, context) {
  let next = at;
  /** @type {string[]} */
  const rows = [];
  while (isRow(lines[next])) rows.push(lineAt(lines, next++).text);
  const [names = "", rule = ""] = rows;
  const headed = TABLE_RULE.test(rule);
  const sides = headed ? cells(rule).map((rule) => (rule.endsWith(":") ? (rule.startsWith(":") ? "center" : "end") : null)) : [];
  const row = (/** @type {string} */ text, /** @type {string} */ tag) => {
    const doubt = text.includes(OPEN) ? { className: "doubt", title: context.reasons.shift() } : {};
    const plain = text.replaceAll(OPEN, "").replaceAll(CLOSE, "");
    return element("tr", doubt, cells(plain).map((cell, at) => element(tag, { dir: "auto", className: sides[at] }, inline(cell, context))));
  };
  const body = rows.slice(headed ? 2 : 0).filter((text) => !TABLE_RULE.test(text));
  const grid = element(
    "table", { dir: direction(names) },
    headed && element("thead", {}, row(names, "th")),
    element("tbody", {}, body.map((text) => row(text, "td"))),
  );
  return [element("div", { className: "wide", tabindex: "0" }, grid), next];
}

/** @param {Line[]} lines @param {number} at @param {Context} context @returns {Drawn} */
function quoted(lines, at, context) {
  let next = at;
  /** @type {Line[]} */
  const inner = [];
  const alert = ALERT.exec(lineAt(lines, at).text);
  if (alert) next += 1;
  while (/^\s*>/.test(lines[next]?.text ?? "")) {
    const line = lineAt(lines, next++);
    inner.push({ ...line, text: line.text.replace(/^\s*>\s?/, "") });
  }
  if (alert) return [note(alert[1]?.toLowerCase() ?? "", inner, context), next];
  return [element("blockquote", { dir: "auto" }, blocks(inner, inside(context))), next];
}

/** @param {Line[]} lines @param {number} at @param {Context} context @returns {Drawn} */
function admonition(lines, at, context) {
  const opening = lineAt(lines, at).text;
  const [, , kind, title = ""] = ADMONITION.exec(opening) ?? [];
  if (!kind) return [null, at + 1]; // the closing fence
  let next = at + 1;
  /** @type {Line[]} */
  const inner = [];
  const open = opening.trim().startsWith(":");
  while (next < lines.length) {
    const line = lineAt(lines, next);
    if (open ? /^\s*:::/.test(line.text) : !/^(\s{2,}|$)/.test(line.text)) break;
    inner.push({ ...line, text: open ? line.text : line.text.trim() });
    next += 1;
  }
  const name = title.replace(/^[[“"]|[\]”"]$/g, "") || kind;
  return [note(name, inner, context), open ? next + 1 : next];
}

/** @param {string} name @param {Line[]} inner @param {Context} context */
function note(name, inner, context) {
  const head = element("p", { className: "note-name", dir: "auto" }, inline(name, context));
  return element("div", { className: "note" }, head, blocks(inner, inside(context)));
}

/** @param {Line[]} lines @param {number} at @param {Context} context @returns {Drawn} */
function list(lines, at, context) {
  const [, indent = "", bullet = ""] = ITEM.exec(lineAt(lines, at).text) ?? [];
  const ordered = /\d/.test(bullet);
  /** @type {Line[][]} */
  const items = [];
  let next = at;
  while (next < lines.length) {
    const line = lineAt(lines, next);
    const [found, before = "", sign = "", text = ""] = ITEM.exec(line.text) ?? [];
    if (found !== undefined && before.length <= indent.length + 1) {
      if (/\d/.test(sign) !== ordered) break;
      items.push([{ ...line, text }]);
    } else if (BLANK.test(line.text)) {
      const after = lines[next + 1]?.text ?? "";
      if (!ITEM.test(after) && !/^\s{2,}\S/.test(after)) break;
      items.at(-1)?.push(line);
    } else if (/^\s+\S/.test(line.text)) {
      items.at(-1)?.push({ ...line, text: line.text.replace(/^\s{1,4}/, "") });
    } else break;
    next += 1;
  }
  const nodes = items.map((inner) => item(inner, context));
  const dir = direction(lineAt(lines, at).text);
  return [element(ordered ? "ol" : "ul", { start: ordered ? parseInt(bullet, 10) : null, dir }, nodes), next];
}

/** @param {Line[]} inner @param {Context} context */
function item(inner, context) {
  const first = lineAt(inner, 0);
  const task = TASK.exec(first.text);
  if (!task) return element("li", { dir: "auto" }, loose(inner, context));
  first.text = first.text.slice(task[0].length);
  const done = task[1] !== " ";
  const box = element("span", { className: "box", role: "img", "aria-label": say(done ? "taskDone" : "taskOpen") }, done ? "☑" : "☐");
  return element("li", { className: "task", dir: "auto" }, box, " ", loose(inner, context));
}

// An item with one paragraph is shown without <p>.
/** @param {Line[]} inner @param {Context} context */
function loose(inner, context) {
  const content = blocks(inner, inside(context));
  const first = content.firstElementChild;
  if (first?.tagName === "P") first.replaceWith(...first.childNodes);
  return content;
}

const STARTS = [FENCE, HEADING, ITEM, /^\s*>/, /^\s*:::/];

/** @param {Line[]} lines @param {number} at */
const startsBlock = (lines, at) => STARTS.some((form) => form.test(lineAt(lines, at).text)) || isTable(lines, at);

/** @param {Line[]} lines @param {number} at @param {Context} context @returns {Drawn} */
function paragraph(lines, at, context) {
  let next = at;
  const text = [];
  while (!BLANK.test(lines[next]?.text ?? "") && (next === at || !startsBlock(lines, next))) {
    text.push(lineAt(lines, next++).text.trim());
  }
  return [element("p", { dir: "auto" }, inline(text.join("\n"), context)), next];
}
