// Where an answer's words come from: sources grouped by section, the decisive words, the URL that highlights them.

import { plain } from "./speaker.js";

/** @typedef {import("./types.js").Source} Source */

const SHORT = 90; // characters; a longer text is named by its beginning and end
const ENDS = 5; // words of each
const FEW = 12; // characters beside a formula: too few to search for

// The server's offsets count characters; those of a string here count UTF-16 units.
/** @param {string} text @param {number} from @param {number} [to] */
export const characters = (text, from, to) => [...text].slice(from, to).join("");

// The sentence that answers; the rest of the quote is its context.
/** @param {Source} source */
export function decisive(source) {
  const [from, to] = source.highlight ?? [0, 0];
  return characters(source.quote ?? "", from, to) || (source.quote ?? "");
}

// The URL of the published page with the decisive words as a text fragment. If the browser does not support that, or the words
// look different there, it opens at the heading.
/** @param {Source} source */
export function addressOf(source) {
  const address = source.source_url ?? "";
  if (!/^https?:\/\//i.test(address)) return "";
  const words = fragment(decisive(source));
  return words ? `${address}${address.includes("#") ? "" : "#"}:~:text=${words}` : address;
}

/** @param {string} markdown */
export function fragment(markdown) {
  const line = markdown.split("\n").find((one) => /\p{L}/u.test(one) && !/^\s*(?:`{3}|~{3}|:::|\||[$\\])/.test(one)) ?? "";
  // A formula is drawn, not written: take the longest text around it.
  const pieces = line.split(/\$[^$]+\$|\\\(.*?\\\)/).filter((piece) => !/[$\\]/.test(piece));
  const around = pieces.sort((one, other) => other.length - one.length)[0] ?? "";
  const text = plain(around.replace(/^\s*(?:\d{1,9}[.)]|\[[ xX]\])\s+/, "").replace(/\{#[^}]*\}\s*$/, ""));
  if (around !== line && text.length < FEW) return "";
  const said = (/** @type {string} */ words) => encodeURIComponent(words).replaceAll("-", "%2D");
  const words = text.split(" ");
  if (text.length <= SHORT || words.length <= 2 * ENDS) return said(text);
  return `${said(words.slice(0, ENDS).join(" "))},${said(words.slice(-ENDS).join(" "))}`;
}

// One group for each section, in the order of their first source.
/** @template {Source} S @param {S[]} sources @returns {S[][]} */
export function bySection(sources) {
  /** @type {Map<string, S[]>} */
  const groups = new Map();
  for (const source of sources) {
    const key = source.breadcrumb ? JSON.stringify([source.breadcrumb, source.source_url]) : `selection ${source.index}`;
    groups.set(key, [...(groups.get(key) ?? []), source]);
  }
  return [...groups.values()];
}
