// The roster of one topic on this page, and how each event changes it.

/**
 * @typedef {import("./connect.js").User} User
 * @typedef {{join: Map<string, User>, change: Map<string, User>, leave: Map<string, Partial<User> & {last_seen?: string}>}} Changes
 *   The changes of an event, by the types of the events that a site's script hears, and then by user id. A user who left has all fields that the roster had.
 */

/** Returns the status to show. A status that only newer servers have is shown as online. */
export function shown(status) {
  return /^(away|busy)$/.test(status) ? status : "online";
}

/** Compares users as the server sorts them: newest first, equal times by id. @param {[string, User]} a @param {[string, User]} b */
const newestFirst = (a, b) => at(b) - at(a) || (a[0] < b[0] ? -1 : 1);
const at = ([, { since }]) => Date.parse(since ?? "9999");

/** The users of a topic that a page knows: the newest, which are its window, and those of whom the page shows a dot. */
export class Roster {
  /** The watchers get the events of the topic. @type {Set<import("./feeds.js").Watcher>} */
  watchers = new Set();
  /** The users by id, newest first. A Map, since an id may be "__proto__". @type {Map<string, User>} */
  users = new Map();
  /** @type {import("./connect.js").Counts} */
  counts = {};
  /** The version of the topic; empty: unknown, the roster waits for a state. */
  cursor = "";
  /** Whether the server could not reach its store, and sent what it knew last. */
  stale = false;
  /** How many of the topic's newest users are here. Infinity: all users of the topic, or nothing is known. */
  window = Infinity;

  /** Replaces the roster, such as by the one that the server rendered. */
  reset({ users = [], counts, cursor = "", stale }) {
    this.#fill(users);
    this.counts = { ...counts };
    this.cursor = cursor;
    this.stale = !!stale;
    const { size } = this.users;
    this.window = (size || cursor) && !(size >= counts?.total) ? size : Infinity;
  }

  /** Whether the roster has missed events before this one. */
  lacks(type, { prev, cursor }) {
    return (/^(diff|count)$/.test(type) && (!prev || prev !== this.cursor)) || (type === "heartbeat" && cursor !== this.cursor);
  }

  /**
   * Takes the data of an event. A user who falls out of the window has not left. A user who moves up into the window,
   * because others left, has not joined. Such a user is older than the last user of the window before the event.
   * @param {string[]} [keys] the feeds for which the link was opened that received the event: with "bob\nalso", Bob stays in
   *   the roster when he falls out of the window
   * @param {number} [most] the window of that link
   * @returns {Changes}
   */
  apply(type, data, keys = [], most = Infinity) {
    const changes = { join: new Map(), change: new Map(), leave: new Map() };
    if (!/^(state|diff|count|heartbeat)$/.test(type)) return changes;
    let { joins = {}, leaves = {}, out = [] } = data;
    const size = Math.min(this.window, most);
    const last = [...this.users][size - 1]; // undefined: the roster had all users of the topic, unless size is 0
    if (type === "state") {
      this.counts.total ??= 0; // the state of a feed of items has no total
      joins = data.users ?? {};
      this.window = data.window ?? this.window;
      for (const [id, user] of this.users) {
        if (Object.hasOwn(joins, id)) continue;
        if (!data.truncated) changes.leave.set(id, user);
        this.users.delete(id);
      }
    }
    for (const [id, { ...user }] of Object.entries(joins)) {
      user.status = shown(user.status);
      const known = this.users.get(id);
      if (known && JSON.stringify(known) === JSON.stringify(user)) continue;
      (!known && (last ? at([id, user]) > at(last) : size) ? changes.join : changes.change).set(id, user);
      this.users.set(id, user);
    }
    for (const [id, departure] of Object.entries(leaves)) {
      changes.leave.set(id, { ...this.users.get(id), ...departure });
      this.users.delete(id);
    }
    for (const id of out) if (!keys.includes(id + "\nalso") || data.cut?.includes(id)) this.users.delete(id);
    if (changes.join.size + changes.change.size) this.#fill(this.users);
    for (const key of ["total", "guests", "recent"]) if (key in data) this.counts[key] = data[key];
    if (type !== "diff") this.stale = !!data.stale;
    if (type !== "heartbeat") this.cursor = data.cursor;
    return changes;
  }

  /** Returns this roster as the data of a state event. */
  state(topic) {
    const { users, counts, cursor, stale, window } = this;
    return { topic, cursor, stale, window, ...counts, users: Object.fromEntries(users), truncated: users.size < counts.total };
  }

  #fill(users) {
    const sorted = [...users].sort(newestFirst);
    this.users.clear();
    for (const [id, user] of sorted) this.users.set(id, user);
  }
}
