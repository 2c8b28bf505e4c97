// The page around the widget: its headings as questions, its place in the site as a filter.

const MOST = 3;

// Up to three questions from the headings of a page.
/** @param {Document} page @param {(heading: string) => string} ask makes a question of a heading that is none */
export function starters(page, ask) {
  const main = page.querySelector("main, [role=main], article") ?? page.body;
  const found = [...main.querySelectorAll("h2, h3")].filter((heading) => !heading.closest("nav, aside, footer, header, [hidden]"));
  const names = found.map((heading) => named(heading.textContent ?? ""));
  const title = named(main.querySelector("h1")?.textContent ?? "");
  return questions(names.length ? names : [title], ask);
}

/** @param {string[]} names @param {(heading: string) => string} ask */
export function questions(names, ask) {
  const kept = names.filter((name, at) => name.length > 2 && name.length <= 80 && names.indexOf(name) === at);
  return kept.slice(0, MOST).map((name) => (/[?？؟]$/.test(name) ? name : ask(name)));
}

// Without the signs that themes add to headings: ¶, #, 🔗, zero-width spaces; and without a number such as "3.2".
/** @param {string} heading */
export const named = (heading) =>
  heading
    .replace(/[\u200b\u200c\u00b6\uf0c1🔗]/gu, "")
    .replace(/\s+/g, " ")
    .replace(/^[\d.]+\s+|\s*#\s*$/g, "")
    .trim();

const VERSION = /^(?:v?\d+(?:\.(?:\d+|x))*|latest|stable|next|current|main|master|dev|nightly)$/i;

// The part of the site that may answer. `under` is a path, or `version`: up to the part of the URL that names one.
/** @param {string | undefined} under @param {string} path @returns {string | null} */
export function partOf(under, path) {
  if (under !== "version") return under || null;
  const parts = path.split("/");
  const at = parts.findIndex((part) => VERSION.test(part));
  return at < 0 ? null : `${parts.slice(0, at + 1).join("/")}/`;
}

// A page's URL as its chunks have it: without the file name that a server adds.
/** @param {string} path */
export const pageOf = (path) => path.replace(/(?:index)?\.html$/, "");
