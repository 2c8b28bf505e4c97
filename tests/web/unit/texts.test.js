// Every language says the same things with the same values.

import assert from "node:assert/strict";
import { readdirSync } from "node:fs";
import test from "node:test";

import { LANGUAGES, chosen, language, parts, percent, say, speak, time } from "../../../src/quoth/web/texts/index.js";

const FOLDER = new URL("../../../src/quoth/web/texts/", import.meta.url);
const texts = Object.fromEntries(
  await Promise.all(
    LANGUAGES.map(async (name) => {
      const [shared, page] = await Promise.all([`${name}.js`, `page/${name}.js`].map((file) => import(new URL(file, FOLDER))));
      return [name, { ...shared.default, ...page.default }];
    }),
  ),
);
const forms = (text) => (typeof text === "string" ? { other: text } : text);
const placeholders = (text) => [...text.matchAll(/\{(\w+)\}/g)].map((found) => found[1]).sort();

test("there is one file for each language, and one for its page, and no other", () => {
  const own = LANGUAGES.map((name) => `${name}.js`).sort();
  assert.deepEqual(readdirSync(FOLDER).filter((name) => name !== "index.js" && name !== "page").sort(), own);
  assert.deepEqual(readdirSync(new URL("page/", FOLDER)).sort(), own);
});

test("what the page says is only loaded for the page", async () => {
  await speak(["en"]);
  assert.equal(say("contents"), "");
  await speak(["en"], { page: true });
  assert.equal(say("contents"), "Contents");
});

for (const name of LANGUAGES) {
  test(`${name} has the keys and the placeholders of English`, () => {
    assert.deepEqual(Object.keys(texts[name]), Object.keys(texts.en));
    for (const [key, text] of Object.entries(texts.en)) {
      const own = forms(texts[name][key]);
      assert.ok(own.other.trim(), key);
      for (const form of Object.values(own)) assert.deepEqual(placeholders(form), placeholders(forms(text).other), key);
    }
  });

  test(`${name} has a form for each plural that whole numbers have in it`, () => {
    const plurals = new Set(Array.from({ length: 200 }, (_, n) => new Intl.PluralRules(name).select(n)));
    for (const [key, text] of Object.entries(texts[name])) {
      if (typeof text !== "string") assert.deepEqual(new Set(Object.keys(text)), plurals, key);
    }
  });
}

test("the first wanted language that there is gets chosen", () => {
  assert.equal(chosen(["de-AT", "en"]), "de");
  assert.equal(chosen([undefined, "", null, "fr", "zh_Hans_CN", "de"]), "zh");
  assert.equal(chosen(["fr", "tlh"]), "en");
});

test("numbers, plurals and direction follow the language", async () => {
  await speak(["en"]);
  assert.equal(say("takenOut", { n: 1 }), "1 sentence without support in the sources was removed.");
  assert.deepEqual(await speak(["ur-PK"]), { lang: "ur", dir: "rtl" });
  assert.equal(say("passages", { n: 2 }), "2 اقتباسات");
  assert.deepEqual(await speak(["de"]), { lang: "de", dir: "ltr" });
  assert.equal(say("takenOut", { n: 1234 }), "1.234 Sätze, die keine Quelle stützt, wurden entfernt.");
  assert.equal(percent(0.471), "47\u00a0%");
  assert.equal(time(1250), "1,3 Sek.");
  const node = {};
  assert.deepEqual(parts("neverMentions", { terms: node }), ["Im Buch nicht erwähnt: ", node, "."]);
  assert.deepEqual(language(), { lang: "de", dir: "ltr" });
});
