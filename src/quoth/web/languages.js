// The choice of the interface's language, for those whose browser was set by somebody else.

import { element } from "./nodes.js";
import { LANGUAGES, language } from "./texts/index.js";

// Each language is named in itself: who does not read the one that is shown still finds theirs.
/** @param {string} name */
const nameOf = (name) => new Intl.DisplayNames([name], { type: "language" }).of(name) ?? name;

/** @param {HTMLElement} node a <select> @param {(name: string) => void} choose */
export function languageSwitch(node, choose) {
  const select = /** @type {HTMLSelectElement} */ (node);
  select.replaceChildren(...LANGUAGES.map((name) => element("option", { value: name, lang: name }, nameOf(name))));
  select.value = language().lang;
  select.addEventListener("change", () => choose(select.value));
}
