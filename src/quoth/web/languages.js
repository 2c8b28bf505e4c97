// The choice of the interface's language, for readers whose browser somebody else set up.

import { element } from "./nodes.js";
import { LANGUAGES, language } from "./texts/index.js";

// Each language is named in itself, so that readers find theirs whatever is shown.
/** @param {string} name */
const nameOf = (name) => new Intl.DisplayNames([name], { type: "language" }).of(name) ?? name;

/** @param {HTMLElement} node a <select> @param {(name: string) => void} choose */
export function languageSwitch(node, choose) {
  const select = /** @type {HTMLSelectElement} */ (node);
  select.replaceChildren(...LANGUAGES.map((name) => element("option", { value: name, lang: name }, nameOf(name))));
  select.value = language().lang;
  select.addEventListener("change", () => choose(select.value));
}
