// One verdict on an answer in a reader's words, from the server's confidence, the check of its sentences and how it came
// about. In: the last event of a stream, or an entry of the history. Out: a tone, a sentence, its details.

import { percent, say, time } from "./texts/index.js";

/**
 * @typedef {object} Facts what is known of an answer, fresh or remembered
 * @property {string} mode
 * @property {string | null} level
 * @property {number | null} confidence
 * @property {boolean} refused
 * @property {boolean} partial
 * @property {boolean} interrupted
 * @property {number} checked
 * @property {{text: string, reason: string | null}[]} doubts
 * @property {number} removed
 * @property {string | null} note what the server says beside the answer
 * @property {string | null} model
 * @property {number} time
 * @property {string[]} missing
 * @property {import("./types.js").Near[]} nearest
 */

/** @param {any} body @returns {Facts} */
export function ofAnswer(body) {
  const { metadata, grounding } = body;
  return {
    mode: metadata.mode,
    level: body.confidence_level,
    confidence: body.confidence,
    refused: metadata.mode === "no_results" || !body.should_answer,
    partial: Boolean(metadata.partial),
    interrupted: Boolean(metadata.interrupted),
    checked: grounding.total,
    doubts: grounding.sentences.filter((/** @type {any} */ sentence) => !sentence.supported),
    removed: grounding.removed,
    note: body.answer ? body.fallback_message : null,
    model: body.model,
    time: metadata.query_time_ms,
    missing: metadata.missing_terms ?? [],
    nearest: metadata.suggestions ?? [],
  };
}

/** @param {any} entry @returns {Facts} */
export function ofMemory(entry) {
  const insufficient = entry.confidence_level === "insufficient";
  return {
    mode: entry.mode,
    level: entry.confidence_level,
    confidence: entry.confidence,
    refused: entry.mode === "no_results" || (insufficient && !entry.interrupted),
    partial: entry.partial,
    interrupted: entry.interrupted,
    checked: Math.max(entry.checked, entry.unsupported.length),
    doubts: entry.unsupported,
    removed: entry.removed,
    note: entry.response ? entry.fallback_message : null,
    model: entry.model,
    time: entry.query_time_ms,
    missing: entry.missing_terms,
    nearest: entry.suggestions,
  };
}

/** @param {Facts} facts @returns {{tone: "good" | "fair" | "poor" | "none", words: string}} */
export function verdictOf(facts) {
  const { mode, level, checked, doubts } = facts;
  const counted = { n: doubts.length, total: checked };
  if (facts.refused) return { tone: "none", words: say(mode === "selected_text" ? "verdictNotSelected" : "verdictNone") };
  if (mode === "retrieval_only") return { tone: "fair", words: say("verdictSourcesOnly") };
  if (facts.interrupted) return { tone: "fair", words: say("verdictStopped") };
  if (doubts.length && doubts.length * 2 >= checked) return { tone: "poor", words: say("verdictDoubtful", counted) };
  if (level === "low") return { tone: "poor", words: say("verdictLoose") };
  if (facts.partial) return { tone: "fair", words: say("verdictPartial") };
  if (doubts.length) return { tone: "fair", words: say("verdictMostly", counted) };
  if (mode === "selected_text") return { tone: "good", words: say("verdictSelection") };
  if (level === "medium") return { tone: "fair", words: say(mode === "extractive" ? "verdictOwnWordsFair" : "verdictFair") };
  return { tone: "good", words: say(mode === "extractive" ? "verdictOwnWords" : "verdictBacked") };
}

// Sentences on how it came about, for curious readers.
/** @param {Facts} facts @returns {string[]} */
export function detailsOf({ confidence, refused, mode, checked, doubts, removed, note, model, time: ms }) {
  const known = confidence !== null && !refused && mode !== "selected_text";
  return [
    note,
    known && say("detailConfidence", { percent: percent(/** @type {number} */ (confidence)) }),
    checked > 0 && say("detailChecked", { n: checked, supported: checked - doubts.length }),
    removed > 0 && say("takenOut", { n: removed }),
    model && say("detailModel", { model, time: time(ms) }),
  ].filter((one) => typeof one === "string" && one !== "").map(String);
}
