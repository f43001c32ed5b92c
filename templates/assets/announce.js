// News for screen readers: short texts, at intervals, that say which users came and went.
// Loaded with the first news.

const SETTLE = 1000; // ms to collect joins and leaves that come together
const QUIET = 10_000; // ms between two announcements on a page

/** The announcers that have news. @type {Set<Announcer>} */
const waiting = new Set();
let quietUntil = 0;

/**
 * @typedef {{alone: string, others: import("./texts.js").Plural}} Summary
 *   The texts for one user, and for one user and {n} others.
 */

/**
 * Returns the text for names; "" for no names.
 * @param {import("./texts.js").Locale} locale
 * @param {Summary} form
 * @param {string[]} names
 */
export function summary(locale, { alone, others }, names) {
  const text = names.length > 1 ? locale.text(others, names.length - 1) : alone;
  return names.length ? text.replace("{name}", () => names[0]) + "." : "";
}

/** The announcers, by the element that they write to. @type {WeakMap<HTMLElement, Announcer>} */
const announcers = new WeakMap();

/**
 * Announces news of a widget.
 * @param {HTMLElement} said the part of the widget that screen readers read
 * @param {import("./texts.js").Locale} locale
 * @param {Record<"came" | "went" | "joined" | "left", Summary>} texts
 * @param {boolean} home whether the widget is of the site's topic
 * @param {[string, string, boolean]} news as for note
 */
export function announce(said, locale, { came, went, joined, left }, home, ...news) {
  const forms = home ? [came, went] : [joined, left];
  if (!announcers.has(said)) {
    announcers.set(said, new Announcer((...names) => {
      said.textContent = forms.map((form, i) => summary(locale, form, names[i])).join(" ");
    }));
  }
  announcers.get(said).note(...news);
}

/**
 * Announces that a user came into a widget or left it.
 * @param {HTMLElement} widget
 * @param {import("./texts.js").Locale} locale
 * @param {import("./marks.js").Script["site"]} site
 * @param {"join" | "leave"} type
 */
export function tidings(widget, locale, { texts, topic }, id, { name }, type) {
  announce(widget.querySelector(".presence-said"), locale, texts, widget.topic === topic, id, name || id, type === "join");
}

function speak() {
  quietUntil = Date.now() + QUIET;
  for (const announcer of waiting) announcer.speak();
  waiting.clear();
}

/** Announces the news of one topic. */
export class Announcer {
  /** By user id. @type {Map<string, {name: string, came: boolean}>} */
  #news = new Map();
  #say;

  /** @param {(came: string[], went: string[]) => void} say writes the news, from names of users */
  constructor(say) {
    this.#say = say;
  }

  /** Notes that a user came or went. A user who did both since the last announcement is left out. */
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
