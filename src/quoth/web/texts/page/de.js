// What only the page of its own says, in German: the start, the conversations, shared answers.

/** @type {import("../index.js").PageTexts} */
const texts = {
  skip: "Zur Frage springen",
  book: "Buch",
  newShort: "Neu",
  language: "Sprache",
  promiseWhole:
    "Antworten in den Worten des Buchs, jede mit der Stelle, aus der sie stammt. Was das Buch nicht sagt, steht auch hier nicht.",
  noBook: "Hier gibt es noch kein Buch, das man fragen kann.",
  key: "Schlüssel",
  keyNeeded: "Für diese Bibliothek braucht man einen Schlüssel.",
  keyWrong: "Dieser Schlüssel passt nicht zu dieser Bibliothek.",
  keyOpen: "Öffnen",
  conversations: "Gespräche",
  rename: "Umbenennen",
  renameNamed: "„{name}“ umbenennen",
  erase: "Löschen",
  eraseNamed: "„{name}“ löschen",
  eraseForGood: "Endgültig löschen",
  keep: "Behalten",
  save: "Speichern",
  startQuestions: "Fragen Sie zum Beispiel",
  recentQuestions: "Zuletzt gefragt",
  contents: "Inhalt",
  narrow: "Eingrenzen",
  narrowedTo: "Nur {filters}",
  wholeBook: "Das ganze Buch",
  all: "Alle",
  upToTier: "bis {n}",
  filter_module: "Modul",
  filter_chapter: "Kapitel",
  filter_hardware_tier: "Hardware",
  filter_proficiency_levels: "Niveau",
  filter_layer: "Ebene",
  share: "Teilen",
  linkCopied: "Link kopiert",
  sharedAnswer: "Jemand hat diese Antwort geteilt.",
  askYourself: "Das Buch selbst fragen",
  sharedGone: "Dieser Link führt zu keiner Antwort mehr.",
};

export default texts;
