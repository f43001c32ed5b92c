// The roster of one topic, as this page knows it, and how each event changes it.

/**
 * @typedef {import("./connect.js").User} User
 * @typedef {{joined: Map<string, User>, changed: Map<string, User>, parted: Map<string, Partial<User> & {last_seen?: string}>}} Changes
 *   What an event changed, by user id. A user who left has all that was known.
 */

/** Returns the status to show. A status that only newer servers have is shown as online. */
export function shown(status) {
  return /^(away|busy)$/.test(status) ? status : "online";
}

export class Roster {
  /** Who is told of its events. @type {Set<import("./feeds.js").Watcher>} */
  watchers = new Set();
  /** Newest first. A Map, since an id may be "__proto__". @type {Map<string, User>} */
  users = new Map();
  /** @type {import("./connect.js").Counts} */
  counts = {};
  /** The version of the topic; empty: unknown, a state is wanted. */
  cursor = "";
  /** Whether the server could not reach its store, and sent what it knew last. */
  stale = false;
  /** Whether the topic is over the roster limit: events have counts only, and users are a sample. */
  sampled = false;
  // due: when the next sample is due, in ms; absent: none was needed yet.
  #listed = false; // a user was in it before the last event

  /** Starts anew from what is known. */
  reset({ users = [], counts, cursor = "", stale }) {
    this.#fill(users);
    this.counts = { ...counts };
    this.cursor = cursor;
    this.stale = !!stale;
    this.#listed = false;
  }

  /** Whether users are missing, if so many are wanted. */
  short(wanted) {
    return this.users.size < Math.min(wanted, this.counts.total ?? wanted);
  }

  /** Whether events between this roster and an event are missing. */
  lacks(type, { prev, cursor }) {
    return (type === "diff" && prev !== this.cursor) || (type === "heartbeat" && cursor !== this.cursor);
  }

  /**
   * Takes the data of an event. A user who is only cut off from a state has not left, and a
   * user who was cut off before has not joined.
   * @returns {Changes | undefined} undefined for an event that is not in EVENTS
   */
  apply(type, data) {
    const changes = { joined: new Map(), changed: new Map(), parted: new Map() };
    if (!/^(state|diff|count|heartbeat)$/.test(type)) return changes;
    let { joins = {}, leaves = {} } = data;
    let cut = false;
    this.#listed ||= this.users.size > 0;
    if (type === "state") {
      this.counts.total ??= 0; // of a feed
      joins = data.users ?? {};
      cut = this.#listed && this.short(Infinity);
      for (const [id, user] of this.users) {
        if (Object.hasOwn(joins, id)) continue;
        if (!data.truncated) changes.parted.set(id, user);
        this.users.delete(id);
      }
    }
    for (const [id, { ...user }] of Object.entries(joins)) {
      user.status = shown(user.status);
      const known = this.users.get(id);
      if (known && JSON.stringify(known) === JSON.stringify(user)) continue;
      (known || cut ? changes.changed : changes.joined).set(id, user);
      this.users.set(id, user);
    }
    for (const [id, departure] of Object.entries(leaves)) {
      changes.parted.set(id, { ...this.users.get(id), ...departure });
      this.users.delete(id);
    }
    if (changes.joined.size + changes.changed.size) this.#fill(this.users);
    for (const key of ["total", "guests", "recent"]) if (key in data) this.counts[key] = data[key];
    if (type !== "diff") this.stale = !!data.stale;
    if (type !== "heartbeat") {
      this.cursor = data.cursor;
      this.sampled = type === "count" || !!data.sampled;
    }
    return changes;
  }

  /** Returns this roster as the data of a state event. */
  state(topic) {
    const { users, counts, cursor, stale } = this;
    return { topic, cursor, stale, ...counts, users: Object.fromEntries(users), truncated: this.short(Infinity) };
  }

  /** Sorts users as the server does: newest first, equal times by id. */
  #fill(users) {
    const at = ([, { since }]) => Date.parse(since ?? "9999");
    const sorted = [...users].sort((a, b) => at(b) - at(a) || (a[0] < b[0] ? -1 : 1));
    this.users.clear();
    for (const [id, user] of sorted) this.users.set(id, user);
  }
}
