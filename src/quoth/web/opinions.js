// Below an answer: was it worth something, and a link to show it to others. What is said here is kept with the answer and is
// erased with its conversation.

import { element } from "./nodes.js";
import { say } from "./texts/index.js";

/** @type {("reasonWrong" | "reasonIncomplete" | "reasonOffTopic" | "reasonSource")[]} */
const REASONS = ["reasonWrong", "reasonIncomplete", "reasonOffTopic", "reasonSource"];

export class Opinions {
  // `session()` is the conversation that the answers are of.
  /** @param {import("./server.js").Server} server @param {() => string | null} session */
  constructor(server, session) {
    this.server = server;
    this.session = session;
    this.sharing = false; // the server allows it
    /** @type {HTMLElement[]} */ this.sharers = [];
  }

  // An answer may be there before it is known whether it can be shared.
  /** @param {boolean} allowed */
  allow(allowed) {
    this.sharing = allowed;
    for (const button of this.sharers) button.hidden = !allowed;
  }

  /** @param {string} path @param {object} body */
  send(path, body) {
    return this.server.send(path, { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body) });
  }

  // The nodes for one answer.
  /** @param {{request: string, rating: string | null}} turn */
  tools(turn) {
    const session_id = this.session();
    if (!session_id || !turn.request) return [];
    const answer = { session_id, request_id: turn.request };
    const { thumbs, why } = this.rating(turn, answer);
    return [thumbs, ...this.sharer(answer), why];
  }

  /** @param {{rating: string | null}} turn @param {object} answer */
  rating(turn, answer) {
    const status = element("span", { role: "status", className: "thanks" });
    const why = element("span", { className: "why", hidden: true });
    const give = async (/** @type {string | null} */ rating, reason = "") => {
      try {
        await this.send("feedback", { ...answer, rating, reason });
      } catch (problem) {
        status.textContent = /** @type {any} */ (problem).told?.().what ?? say("away");
        return;
      }
      turn.rating = rating;
      if (why.contains(document.activeElement)) down.focus(); // it goes away
      why.hidden = rating !== "down" || reason !== "";
      status.textContent = rating && why.hidden ? say("thanks") : "";
      for (const button of [up, down]) button.setAttribute("aria-pressed", String(button.value === rating));
    };
    const thumb = (/** @type {string} */ value, /** @type {string} */ sign, /** @type {"helpful" | "notHelpful"} */ label) =>
      /** @type {HTMLButtonElement} */ (element("button", {
        type: "button", className: "thumb", value, "aria-label": say(label), title: say(label), "aria-pressed": String(turn.rating === value),
        onclick: () => give(turn.rating === value ? null : value),
      }, sign));
    const [up, down] = [thumb("up", "↑", "helpful"), thumb("down", "↓", "notHelpful")];
    why.append(say("whyNot"), ...REASONS.map((reason) => element("button", { type: "button", className: "plain", onclick: () => give("down", say(reason)) }, say(reason))));
    return { thumbs: element("span", { className: "rating" }, up, down, status), why };
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
