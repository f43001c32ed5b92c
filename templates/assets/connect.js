// What a site's own script, and the elements, see of it all: connect.d.ts.

import { Stream } from "./stream.js";

/** What presenceHead says of the site. */
export const site = JSON.parse(globalThis.document?.querySelector("meta[name=presence]")?.content ?? "{}");

/** By where the handlers are mounted. @type {Map<string, Stream>} */
const streams = new Map();

// Not unload, which would keep the page out of the back/forward cache.
globalThis.addEventListener?.("pagehide", () => streams.forEach((stream) => stream.pause()));
globalThis.addEventListener?.("pageshow", (e) => e.persisted && streams.forEach((stream) => stream.resume()));

/** @implements {import("./stream.js").Watcher} */
class Presence {
  #listeners = {};
  #feeds = new Map();
  #stream;

  constructor({ topics = ["site"], src = site.src ?? "/presence", limit = 100, known }) {
    if (!streams.has(src)) streams.set(src, new Stream(src));
    this.#stream = streams.get(src);
    this.limit = limit;
    for (const topic of topics) this.#feeds.set(topic, this.#stream.watch(topic, this, known));
    // Who has been here for long joins to whoever asks only now.
    queueMicrotask(() => {
      for (const [topic, { users }] of known ? [] : this.#feeds) {
        for (const [id, user] of users) this.#tell("join", id, user, topic);
        if (users.size) this.#tell("sync", topic);
      }
    });
  }

  get live() {
    return this.#stream.live;
  }

  on(type, listener) {
    const all = (this.#listeners[type] ??= new Set());
    all.add(listener);
    return () => all.delete(listener);
  }

  roster(topic) {
    return this.#feeds.get(topic)?.users ?? new Map();
  }

  counts(topic) {
    return this.#feeds.get(topic)?.counts ?? {};
  }

  stale(topic) {
    return this.#feeds.get(topic)?.stale === true;
  }

  close() {
    this.#listeners = {};
    for (const topic of this.#feeds.keys()) this.#stream.unwatch(topic, this);
    this.#feeds.clear();
  }

  onLive(live) {
    this.#tell("live", live);
  }

  onEvent(topic, type, data, { joined, changed, left }) {
    for (const [id, user] of joined) this.#tell("join", id, user, topic);
    for (const [id, user] of changed) this.#tell("change", id, user, topic);
    for (const [id, user] of left) this.#tell("leave", id, user, topic);
    if (type === "state") this.#tell("state", data, topic);
    this.#tell("sync", topic);
  }

  #tell(type, ...args) {
    for (const listener of this.#listeners[type] ?? []) listener(...args);
  }
}

export const connect = (options = {}) => new Presence(options);
