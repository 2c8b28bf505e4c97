// The shapes that the server sends, only for the type checker. /openapi.json describes every field.

/**
 * @typedef {object} Source a place that an answer cites, or a passage that was found
 * @property {number} [index] the n of [n]; missing if it was only found
 * @property {string} [chunk_id] missing for a part of the selected text
 * @property {string} [source_url]
 * @property {string[]} [breadcrumb]
 * @property {string} [section]
 * @property {string} [heading] to open the page at, if nothing is quoted
 * @property {string} [quote]
 * @property {string} [said] the words of the answer at the marker that the reader pressed
 * @property {[number, number] | null} [highlight]
 */

/**
 * @typedef {object} Found a passage as the search gives it
 * @property {string} chunk_id
 * @property {string} title of its page
 * @property {string | null} [section_title]
 * @property {string} source_url
 * @property {string[]} breadcrumb
 */

/** @typedef {{title: string, source_url: string, breadcrumb: string[]}} Near a section that is near to a refused question */

export {};
