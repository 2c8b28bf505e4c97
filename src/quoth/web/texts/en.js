// What the page and the widget say, in English. The other languages have the same keys and the same {placeholders}; a text
// that counts has one form for each plural of its language (Intl.PluralRules) and always `other`.

/** @typedef {string | {one?: string, few?: string, many?: string, other: string}} Text */

const texts = {
  // the place to ask
  askTheBook: "Ask the book",
  skip: "Skip to the question",
  book: "Book",
  newConversation: "New conversation",
  newShort: "New",
  conversation: "Conversation",
  promise: "Answers in the book’s own words, each with the place it comes from.",
  promiseWhole:
    "Answers in the book’s own words, each with the place it comes from. What the book does not say, it does not say here either.",
  noBook: "There is no book to ask here yet.",
  noSuchBook: "This book is not here at the moment.",
  key: "Key",
  keyNeeded: "This library is opened with a key.",
  keyWrong: "That key does not open this library.",
  keyOpen: "Open",
  close: "Close",
  yourQuestion: "Your question",
  askPlaceholder: "Ask the book a question",
  askSelectionPlaceholder: "Ask about the selected text",
  ask: "Ask",
  stop: "Stop the answer",
  keysHint: "{enter} asks · {shift} {enter} starts a new line",
  askAboutThis: "Ask about this",
  selectedText: "Selected text",
  dropSelection: "Drop the selection",
  queued: "Waits for the answer above.",
  dropQueued: "Do not ask",

  // an answer on its way
  looking: "Looking through the book",
  writing: "Writing the answer",
  reading: "Reading {passages} from {pages}",
  passages: { one: "{n} passage", other: "{n} passages" },
  pages: { one: "{n} page", other: "{n} pages" },
  searchedFor: "Searched for: {query}",
  stopped: "Stopped.",

  // an answer
  confidenceHigh: "High confidence",
  confidenceMedium: "Medium confidence",
  confidenceLow: "Low confidence",
  confidenceNone: "Not in the book",
  confidence: "Confidence {percent}",
  modeExtractive: "the book’s own words",
  modeSelection: "from your selection",
  modeSourcesOnly: "sources only: the answer could not be written",
  sources: "Sources",
  source: "Source {n}",
  sourceNamed: "Source {n}: {name}",
  openPage: "Open the page",
  readAround: "Read around it",
  openingPage: "Opening the page",
  match: "{percent} match",
  matchTitle: "How well this passage fits the question",
  fileTitle: "File and line",
  unconfirmed: {
    one: "{n} of {total} sentences, marked above, could not be confirmed in the sources:",
    other: "{n} of {total} sentences, marked above, could not be confirmed in the sources:",
  },
  takenOut: {
    one: "{n} sentence that no source supports was taken out.",
    other: "{n} sentences that no source supports were taken out.",
  },
  unsupported: "(not supported by the source: {reason})",
  codeBlock: "A block of code",
  picture: "picture",
  copy: "Copy",
  copied: "Copied",

  // no answer
  neverMentions: "The book never mentions {terms}.",
  nearest: "The nearest sections",

  // something is wrong
  tryAgain: "Try again",
  request: "request {id}",
  requestTitle: "For the people who run this site",
  brokeOff: "The answer broke off.",
  brokeOffHint: "The connection was lost. What arrived before is kept.",
  silent: "The book cannot be reached.",
  silentHint: "Look at your connection, then try again.",
  away: "The book cannot be asked at the moment.",
  awayHint: "Nothing is lost. Try again in a few minutes.",
  notAllowed: "This page may not ask the book.",
  notAllowedHint: "The people who run this site can change that.",
  tooMany: "Many questions are being asked.",
  tooManyHint: { one: "You can ask again in {n} second.", other: "You can ask again in {n} seconds." },
  tooLong: "That is too long to ask.",
  tooLongHint: "Shorten the question or select less text.",
  notUnderstood: "This question could not be asked.",
};

export default texts;
