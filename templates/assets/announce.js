// What is spoken to who listens to a page: who came and who went, in a few
// words, now and then. It is loaded with the first of them.

const SETTLE = 1000; // ms in which what happens at once is heard of
const QUIET = 10_000; // ms from one word to the next, of the whole page

/** Who has something to say. @type {Set<Announcer>} */
const waiting = new Set();
let quietUntil = 0;

/**
 * @typedef {{alone: string, others: import("./texts.js").Plural}} Summary
 *   What to say of one user, and of one and some others.
 */

/**
 * What to say of names; nothing of none.
 * @param {import("./texts.js").Locale} locale
 * @param {Summary} form
 * @param {string[]} names
 */
export function summary(locale, { alone, others }, names) {
  const text = names.length > 1 ? locale.text(others, names.length - 1) : alone;
  return names.length ? text.replace("{name}", () => names[0]) + "." : "";
}

function speak() {
  quietUntil = Date.now() + QUIET;
  for (const announcer of waiting) announcer.speak();
  waiting.clear();
}

/** Speaks for one topic. */
export class Announcer {
  /** By user id. @type {Map<string, {name: string, came: boolean}>} */
  #news = new Map();
  #say;

  /** @param {(came: string[], went: string[]) => void} say is given names */
  constructor(say) {
    this.#say = say;
  }

  /** Takes that a user came, or went. Who did both meanwhile did nothing. */
  note(id, name, came) {
    if (this.#news.get(id)?.came === !came) this.#news.delete(id);
    else this.#news.set(id, { name, came });
    if (!waiting.size) setTimeout(speak, Math.max(SETTLE, quietUntil - Date.now()));
    waiting.add(this);
  }

  speak() {
    const names = (wanted) => [...this.#news.values()].filter(({ came }) => came === wanted).map(({ name }) => name);
    if (this.#news.size) this.#say(names(true), names(false));
    this.#news.clear();
  }
}
