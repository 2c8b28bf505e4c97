// Below an answer on the page: was it helpful, and a link to share it, if the server allows that. The link ends with its
// conversation.

import { element } from "./nodes.js";
import { Opinions } from "./opinions.js";
import { say } from "./texts/index.js";

export class SharedOpinions extends Opinions {
  sharing = false; // the server allows it
  /** @type {HTMLElement[]} */ sharers = [];

  // An answer may arrive before we know whether it can be shared.
  /** @param {boolean} allowed */
  allow(allowed) {
    this.sharing = allowed;
    for (const button of this.sharers) button.hidden = !allowed;
  }

  /** @param {{request: string, rating: string | null}} turn */
  tools(turn) {
    const answer = this.answer(turn);
    if (!answer) return [];
    const [thumbs, why] = this.rating(turn, answer);
    return [thumbs, ...this.sharer(answer), why];
  }

  /** @param {object} answer */
  sharer(answer) {
    const share = async (/** @type {Event} */ event) => {
      const button = /** @type {HTMLButtonElement} */ (event.currentTarget);
      try {
        const { path } = await (await this.send("share", answer)).json();
        const address = String(new URL(path.replace(/^\//, ""), this.server.base));
        field.value = address;
        field.hidden = false;
        await navigator.clipboard?.writeText(address);
        button.textContent = say("linkCopied");
      } catch (problem) {
        if (/** @type {any} */ (problem).told) button.textContent = /** @type {any} */ (problem).told().what;
      }
    };
    const field = element("input", { className: "field", readonly: true, hidden: true, "aria-label": say("share") });
    const button = element("button", { type: "button", className: "plain", hidden: !this.sharing, onclick: share }, say("share"));
    this.sharers.push(button);
    return [button, field];
  }
}
