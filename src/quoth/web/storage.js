// Stored for the reader. A browser may forbid it (private windows, blocked cookies, a frame of another site): then it is kept
// in memory until the reader leaves the page.

/** @param {() => Storage} open */
function keeper(open) {
  /** @type {Map<string, string>} */
  const memory = new Map();
  /** @type {Storage | null} */
  let storage = null;
  try {
    storage = open();
  } catch {
    // forbidden: reading the property already throws
  }
  return {
    /** @param {string} key */
    get(key) {
      return memory.get(key) ?? storage?.getItem(key) ?? null;
    },
    /** @param {string} key @param {string} value */
    set(key, value) {
      try {
        if (!storage) throw new Error("no storage");
        storage.setItem(key, value);
        memory.delete(key);
      } catch {
        memory.set(key, value); // forbidden or full
      }
    },
    /** @param {string} key */
    remove(key) {
      memory.delete(key);
      storage?.removeItem(key);
    },
  };
}

export const tab = keeper(() => sessionStorage); // until the tab is closed
export const browser = keeper(() => localStorage); // until the reader clears it
