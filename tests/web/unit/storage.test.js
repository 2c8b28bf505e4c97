// Things are kept for the reader even if the browser forbids it.

import assert from "node:assert/strict";
import test from "node:test";

class Shelf extends Map {
  getItem(key) {
    return this.get(key) ?? null;
  }
  setItem(key, value) {
    if (this.full) throw new DOMException("full", "QuotaExceededError");
    this.set(key, value);
  }
  removeItem(key) {
    this.delete(key);
  }
}

const shelf = new Shelf();
Object.defineProperty(globalThis, "sessionStorage", { get: () => shelf, configurable: true });
Object.defineProperty(globalThis, "localStorage", {
  get() {
    throw new DOMException("denied", "SecurityError");
  },
  configurable: true,
});
const { browser, tab } = await import("../../../src/quoth/web/storage.js");

test("what is kept is in the browser's storage", () => {
  tab.set("a", "1");
  assert.equal(shelf.get("a"), "1");
  assert.equal(tab.get("a"), "1");
  tab.remove("a");
  assert.equal(tab.get("a"), null);
});

test("a storage that is full or forbidden is replaced by memory", () => {
  shelf.full = true;
  tab.set("b", "2");
  assert.equal(tab.get("b"), "2");
  shelf.full = false;
  browser.set("c", "3");
  assert.equal(browser.get("c"), "3");
  browser.remove("c");
  assert.equal(browser.get("c"), null);
});
