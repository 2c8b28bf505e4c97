// The interface's language: chosen once, before anything is shown. To add one, copy en.js and page/en.js, translate them and
// name it in LANGUAGES; a test compares keys and placeholders. The widget does not load page/, the texts of the page alone.

/** @typedef {{one?: string, few?: string, many?: string, other: string}} Counted */
/** @typedef {typeof import("./en.js").default} English */
/** @typedef {{[Key in keyof English]: English[Key] extends string ? string : Counted}} Texts */
/** @typedef {{[Key in keyof typeof import("./page/en.js").default]: string}} PageTexts */

export const LANGUAGES = ["en", "de", "ur", "zh"];
const FROM_THE_RIGHT = new Set(["ur"]);

/** @type {Partial<Texts & PageTexts>} */
let texts = {}; // empty before `speak`
let current = "en";

// The first of the wanted languages ("de-AT", "zh_Hans", …) that has a file.
/** @param {readonly (string | null | undefined)[]} wanted */
export function chosen(wanted) {
  const names = wanted.map((name) => (name ?? "").toLowerCase().split(/[-_]/)[0] ?? "");
  return names.find((name) => LANGUAGES.includes(name)) ?? "en";
}

// From here on `say` speaks it.
/** @param {readonly (string | null | undefined)[]} wanted @param {{page?: boolean}} [options] */
export async function speak(wanted, { page = false } = {}) {
  const name = chosen(wanted);
  const files = await Promise.all([import(`./${name}.js`), page ? import(`./page/${name}.js`) : { default: {} }]);
  texts = Object.assign({}, ...files.map((file) => file.default));
  current = name;
  return language();
}

export const language = () => ({ lang: current, dir: FROM_THE_RIGHT.has(current) ? "rtl" : "ltr" });

/**
 * The text with its placeholders filled. A text that counts gets its number as `n`.
 * @param {keyof Texts | keyof PageTexts} key
 * @param {Record<string, string | number>} [values]
 * @returns {string}
 */
export const say = (key, values = {}) => parts(key, values).join("");

/**
 * The same as a list, for placeholders that are nodes.
 * @template Part
 * @param {keyof Texts | keyof PageTexts} key
 * @param {Record<string, Part>} values
 * @returns {(string | Part)[]}
 */
export function parts(key, values) {
  const text = texts[key] ?? "";
  const form = typeof text === "string" ? text : text[plural(values.n)] ?? text.other;
  return form.split(/\{(\w+)\}/).map((part, at) => (at % 2 ? shown(values[part]) : part));
}

/** @param {unknown} count */
const plural = (count) => /** @type {"one" | "few" | "many" | "other"} */ (new Intl.PluralRules(current).select(Number(count)));

/** @param {any} value */
const shown = (value) => (typeof value === "number" ? new Intl.NumberFormat(current).format(value) : value ?? "");

/** @param {number} share */
export const percent = (share) => new Intl.NumberFormat(current, { style: "percent" }).format(share);

/** @param {number} ms */
export const time = (ms) =>
  ms < 1000
    ? new Intl.NumberFormat(current, { style: "unit", unit: "millisecond", maximumFractionDigits: 0 }).format(ms)
    : new Intl.NumberFormat(current, { style: "unit", unit: "second", minimumFractionDigits: 1, maximumFractionDigits: 1 }).format(ms / 1000);
