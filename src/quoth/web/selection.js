// "Ask about this", next to the reader's selection or the code they look at.

import { element } from "./nodes.js";
import { say } from "./texts/index.js";

const SHORTEST = 12; // characters: less is a double-clicked word
const GAP = 8; // pixels

/** @param {"askAboutThis" | "askAboutCode"} label @param {ParentNode} place @param {() => void} pressed */
function floating(label, place, pressed) {
  const button = element("button", { type: "button", className: "about", hidden: true });
  button.addEventListener("pointerdown", (/** @type {Event} */ event) => event.preventDefault()); // or the selection would be lost
  button.addEventListener("click", pressed);
  place.append(button);
  return {
    button,
    hide: () => (button.hidden = true),
    /** @param {number} right @param {(height: number) => number} topOf */
    show(right, topOf) {
      button.textContent = say(label); // in the current language
      button.hidden = false;
      const left = Math.min(Math.max(right - button.offsetWidth, GAP), innerWidth - button.offsetWidth - GAP);
      Object.assign(button.style, { left: `${left}px`, top: `${topOf(button.offsetHeight)}px` });
    },
  };
}

/**
 * @param {object} given
 * @param {ParentNode} given.place where the button is put
 * @param {(node: Node | null) => boolean} given.allowed may a selection that begins here be asked about?
 * @param {(text: string) => unknown} given.ask
 */
export function offerSelection({ place, allowed, ask }) {
  let text = "";
  const { button, show, hide } = floating("askAboutThis", place, () => {
    hide();
    ask(text);
  });
  const look = () => {
    const selection = getSelection();
    text = !selection || selection.isCollapsed ? "" : selection.toString().trim();
    if (!selection || text.length < SHORTEST || !allowed(selection.anchorNode)) return hide();
    const box = selection.getRangeAt(0).getBoundingClientRect();
    return show(box.right, (height) => (box.bottom + GAP + height < innerHeight ? box.bottom + GAP : Math.max(GAP, box.top - height - GAP)));
  };
  document.addEventListener("pointerup", (event) => event.composedPath().includes(button) || setTimeout(look));
  document.addEventListener("keyup", (event) => (event.shiftKey || event.key === "Shift") && look());
  document.addEventListener("selectionchange", () => getSelection()?.isCollapsed && hide());
  document.addEventListener("scroll", hide, { passive: true });
  look(); // at the selection that caused this call
}

/**
 * The same for a block of code under the pointer or with the focus. The button sits on its lower edge: the upper corner is
 * where sites have a button of their own to copy it.
 * @param {object} given
 * @param {ParentNode} given.place
 * @param {(text: string) => unknown} given.ask
 */
export function offerCode({ place, ask }) {
  /** @type {Element | null} */
  let block = null;
  const { button, show, hide } = floating("askAboutCode", place, () => {
    hide();
    if (block) ask(codeOf(block));
  });
  const draw = () => {
    const box = block?.getBoundingClientRect();
    if (!box || box.bottom < GAP || box.top > innerHeight - GAP || getSelection()?.isCollapsed === false) return hide();
    return show(box.right - GAP, (height) => Math.min(box.bottom, innerHeight - GAP) - height / 2);
  };
  const look = (/** @type {Event} */ event) => {
    if (event.composedPath().includes(button)) return;
    const under = event.target instanceof Element ? event.target.closest("pre") : null;
    block = under && codeOf(under).length >= SHORTEST ? under : null;
    draw();
  };
  for (const name of ["pointerover", "focusin"]) document.addEventListener(name, look);
  // It stays with its block. Hidden, it would not come back: a pointer resting on the code enters nothing.
  document.addEventListener("scroll", draw, { passive: true, capture: true });
  const here = document.querySelector("pre:hover, pre:focus-within");
  if (here) look(/** @type {any} */ ({ target: here, composedPath: () => [] })); // what caused this call
}

// Without line numbers and button labels, which are not part of the code.
/** @param {Element} block */
export const codeOf = (block) => (block.querySelector("code") ?? block).textContent?.trim() ?? "";
