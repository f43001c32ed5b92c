// One connection for everything that a page shows, however many elements and
// topics that is.

import { Roster } from "./roster.js";

const FIRST_WAIT = 1000; // ms before a refused connection is tried again
const LONGEST_WAIT = 60_000;

/**
 * @typedef {object} Watcher
 * @property {number} limit how many users it wants
 * @property {(live: import("./connect.js").Live) => void} onLive
 * @property {(topic: string, type: string, data: any, changes: import("./roster.js").Changes) => void} onEvent
 */

export class Stream {
  live = "off";
  /** @type {Map<string, {roster: Roster, watchers: Set<Watcher>}>} by topic */
  #feeds = new Map();
  #src;
  #source = null; // the EventSource, while there is one
  #asked = ""; // what it was opened for
  #queued = false;
  #paused = false;
  #failures = 0;
  #timer = 0;

  /** @param {string} src where the handlers are mounted */
  constructor(src) {
    this.#src = src;
  }

  /**
   * Keeps a watcher informed of a topic, from what the page knows of it on.
   * The watchers of a topic share a roster: that of the one who knew most.
   * @returns {Roster}
   */
  watch(topic, watcher, known = {}) {
    let feed = this.#feeds.get(topic);
    if (!feed || known.users?.size > feed.roster.users.size) {
      feed ??= { roster: new Roster(), watchers: new Set() };
      feed.roster.reset(known);
      this.#feeds.set(topic, feed);
      this.#asked = ""; // from the cursor of what is known
    }
    feed.watchers.add(watcher);
    if (feed.roster.short(watcher.limit)) feed.roster.cursor = this.#asked = ""; // asks for a state
    this.#review();
    return feed.roster;
  }

  unwatch(topic, watcher) {
    this.#feeds.get(topic).watchers.delete(watcher);
    this.#review();
  }

  /** Lets go of the connection while the page is not shown. */
  pause() {
    this.#paused = true;
    this.#close("off");
  }

  /** Goes on from where pause stopped. */
  resume() {
    this.#paused = false;
    this.#open();
  }

  /** Elements come and go in groups: one look after all of them. */
  #review() {
    if (this.#queued) return;
    this.#queued = true;
    queueMicrotask(() => {
      this.#queued = false;
      for (const [topic, { watchers }] of this.#feeds) if (watchers.size === 0) this.#feeds.delete(topic);
      if (!this.#paused && this.#asked !== this.#wanted()) this.#open();
    });
  }

  #wanted() {
    const query = new URLSearchParams();
    let most = 100; // what a state holds unless asked for more
    for (const topic of [...this.#feeds.keys()].sort()) {
      query.append("topic", topic);
      for (const { limit } of this.#feeds.get(topic).watchers) most = Math.max(most, limit);
    }
    if (most > 100) query.set("limit", most);
    return String(query);
  }

  #open() {
    this.#close("connecting");
    this.#asked = this.#wanted();
    if (this.#feeds.size === 0) return this.#tell("off");
    const query = new URLSearchParams(this.#asked);
    const cursors = Array.from(this.#feeds.values(), ({ roster }) => roster.cursor).filter(Boolean);
    if (cursors.length > 0) query.set("cursor", cursors.join("~"));

    const source = (this.#source = new EventSource(`${this.#src}/events?${query}`));
    source.addEventListener("welcome", () => {
      this.#failures = 0;
      this.#tell("on");
    });
    for (const type of ["state", "diff", "count", "heartbeat"]) {
      source.addEventListener(type, (e) => this.#take(type, JSON.parse(e.data)));
    }
    source.addEventListener("error", () => {
      // It comes back by itself, unless it was refused.
      if (source.readyState === EventSource.CLOSED) this.#retry();
      else this.#tell("connecting");
    });
  }

  #close(live) {
    clearTimeout(this.#timer);
    this.#source?.close();
    this.#source = null;
    this.#tell(live);
  }

  #retry() {
    this.#close("off");
    const wait = Math.min(LONGEST_WAIT, FIRST_WAIT * 2 ** this.#failures++);
    this.#timer = setTimeout(() => this.#open(), wait * (0.5 + Math.random()));
  }

  #take(type, data) {
    const feed = this.#feeds.get(data.topic);
    if (!feed) return;
    if (feed.roster.lacks(type, data)) {
      feed.roster.cursor = ""; // asks for a state
      return this.#retry();
    }
    const changes = feed.roster.apply(type, data);
    for (const watcher of feed.watchers) watcher.onEvent(data.topic, type, data, changes);
  }

  #tell(live) {
    if (this.live === live) return;
    this.live = live;
    for (const { watchers } of this.#feeds.values()) {
      for (const watcher of watchers) watcher.onLive(live);
    }
  }
}
