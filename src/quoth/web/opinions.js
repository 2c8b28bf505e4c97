// Below an answer: was it helpful? The rating is stored with the answer and erased with its conversation.

import { element } from "./nodes.js";
import { say } from "./texts/index.js";

/** @type {("reasonWrong" | "reasonIncomplete" | "reasonOffTopic" | "reasonSource")[]} */
const REASONS = ["reasonWrong", "reasonIncomplete", "reasonOffTopic", "reasonSource"];

export class Opinions {
  // `session()` is the conversation of the answers.
  /** @param {import("./server.js").Server} server @param {() => string | null} session */
  constructor(server, session) {
    this.server = server;
    this.session = session;
  }

  /** @param {string} path @param {object} body */
  send(path, body) {
    return this.server.send(path, { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body) });
  }

  // The nodes for one answer.
  /** @param {{request: string, rating: string | null}} turn @returns {HTMLElement[]} */
  tools(turn) {
    const answer = this.answer(turn);
    return answer ? this.rating(turn, answer) : [];
  }

  // The answer as the server knows it; null if it is not stored.
  /** @param {{request: string}} turn */
  answer({ request }) {
    const session_id = this.session();
    return session_id && request ? { session_id, request_id: request } : null;
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
      if (why.matches(":focus-within")) down.focus(); // it goes away
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
    return [element("span", { className: "rating" }, up, down, status), why];
  }
}
