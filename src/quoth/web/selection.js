// "Ask about this", next to what the reader has selected.

import { element } from "./nodes.js";
import { say } from "./texts/index.js";

const SHORTEST = 12; // characters: less is a word that was double-clicked

// `allowed(node)` says whether a selection that begins at this node may be asked about; `ask(text)` is called with it.
export function offerSelection({ place, allowed, ask }) {
  const button = element("button", { type: "button", className: "about", hidden: true }, say("askAboutThis"));
  let text = "";
  const hide = () => (button.hidden = true);
  const look = () => {
    const selection = getSelection();
    text = selection.isCollapsed ? "" : selection.toString().trim();
    if (text.length < SHORTEST || !allowed(selection.anchorNode)) return hide();
    const box = selection.getRangeAt(0).getBoundingClientRect();
    button.hidden = false;
    const left = Math.min(Math.max(box.right - button.offsetWidth, 8), innerWidth - button.offsetWidth - 8);
    const below = box.bottom + 8;
    const top = below + button.offsetHeight < innerHeight ? below : Math.max(8, box.top - button.offsetHeight - 8);
    button.style.left = `${left}px`;
    button.style.top = `${top}px`;
  };
  document.addEventListener("pointerup", (event) => event.composedPath().includes(button) || setTimeout(look));
  document.addEventListener("keyup", (event) => (event.shiftKey || event.key === "Shift") && look());
  document.addEventListener("selectionchange", () => getSelection().isCollapsed && hide());
  document.addEventListener("scroll", hide, { passive: true });
  button.addEventListener("pointerdown", (event) => event.preventDefault()); // or the selection would be lost
  button.addEventListener("click", () => {
    hide();
    ask(text);
  });
  place.append(button);
  look(); // the selection that made somebody call this
}
