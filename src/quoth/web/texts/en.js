// @ts-check
// What the page and the widget say, in English. The other languages have the same keys and the same {placeholders}; a text
// that counts has one form for each plural of its language (Intl.PluralRules) and always `other`.

const texts = {
  // the place to ask
  askTheBook: "Ask the book",
  book: "Book",
  newConversation: "New conversation",
  conversation: "Conversation",
  promise: "Answers in the book’s own words, each with the place it comes from.",
  noSuchBook: "This book is not here at the moment.",
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
  askAboutCode: "Ask about this code",
  starters: "Questions about this page",
  starter: "What is “{heading}” about?",
  onlyThisPage: "Only this page",
  backToAnswer: "Back to the answer",

  // an answer on its way
  looking: "Looking through the book",
  writing: "Writing the answer",
  reading: "Reading {passages} from {pages}",
  passages: { one: "{n} passage", other: "{n} passages" },
  pages: { one: "{n} page", other: "{n} pages" },
  searchedFor: "Searched for: {query}",

  // an answer
  sources: "Sources",
  source: "Source {n}",
  sourceNamed: "Source {n}: {name}",
  openPage: "Open the page",
  readAround: "Read around it",
  openingPage: "Opening the page",
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

  // the page: what the verdict is, the book beside the answer, what was asked before
  taskDone: "done",
  taskOpen: "open",
  alsoRead: { one: "Also read, not cited: {n} section", other: "Also read, not cited: {n} sections" },
  verdictBacked: "Backed by the book, sentence by sentence.",
  verdictOwnWords: "In the book’s own words.",
  verdictOwnWordsFair: "In the book’s own words; check that they answer your question.",
  verdictFair: "Backed by the book; check that it answers your question.",
  verdictSelection: "From the text you selected.",
  verdictPartial: "The book answers a part of this.",
  verdictMostly: "Mostly backed by the book: {n} of {total} sentences could not be confirmed.",
  verdictDoubtful: "Treat with care: {n} of {total} sentences could not be confirmed in the book.",
  verdictLoose: "Treat with care: the book touches on this only loosely.",
  verdictNone: "Not in the book.",
  verdictNotSelected: "Not in the text you selected.",
  verdictSourcesOnly: "No answer could be written. These are the places to read.",
  verdictStopped: "Stopped before the end.",
  detailConfidence: "The chance that these passages hold the answer is put at {percent}.",
  detailChecked: { one: "{supported} of {n} sentence was found in its sources.", other: "{supported} of {n} sentences were found in their sources." },
  detailModel: "Written by {model} in {time}.",
  pagesAround: "Pages before and after",
  unconfirmed: "{n} of {total} sentences, marked in the answer, could not be confirmed:",
};

export default texts;
