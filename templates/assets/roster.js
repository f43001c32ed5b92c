// The roster of one topic, as this page knows it, and what each event does to
// it. Nothing here touches the document.

/**
 * @typedef {{name: string, status: string, since?: string, avatar?: string, url?: string, data?: unknown}} User
 *   What others see of a user. Without since: came this moment.
 * @typedef {{total?: number, guests?: number, recent?: number}} Counts
 * @typedef {{joined: Map<string, User>, changed: Map<string, User>, left: Map<string, {last_seen?: string, name?: string}>}} Changes
 *   What an event changed, by user id. After a state, all whom it names are in changed.
 */

export class Roster {
  /** Newest first. @type {string[]} */
  ids = [];
  /** A Map, for a user may be called __proto__. @type {Map<string, User>} */
  users = new Map();
  /** @type {Counts} */
  counts = {};
  /** The version of the topic that this is. */
  cursor = "";
  /** Whether the server itself has only the last that it knew. */
  stale = false;

  /** Forgets everything, and starts from what is known. */
  reset({ users = [], counts = {}, cursor = "" }) {
    this.users = new Map(users);
    this.ids = [...this.users.keys()].sort((a, b) => this.#order(a, b));
    this.counts = { ...counts };
    this.cursor = cursor;
  }

  /** Whether something between this roster and an event is missing. */
  lacks(type, { prev, cursor }) {
    return (type === "diff" && prev !== this.cursor) || (type === "heartbeat" && cursor !== this.cursor);
  }

  /**
   * Takes the data of a state, diff, count or heartbeat event.
   * @returns {Changes}
   */
  apply(type, data) {
    const changes = { joined: new Map(), changed: new Map(), left: new Map() };
    if (type === "state") {
      this.reset({ users: Object.entries(data.users) });
      changes.changed = new Map(this.users);
    }
    for (const [id, user] of Object.entries(data.joins ?? {})) {
      (this.users.has(id) ? changes.changed : changes.joined).set(id, user);
      this.#set(id, user);
    }
    for (const [id, departure] of Object.entries(data.leaves ?? {})) {
      changes.left.set(id, { name: this.users.get(id)?.name, ...departure });
      if (this.users.delete(id)) this.ids.splice(this.ids.indexOf(id), 1);
    }
    for (const key of ["total", "guests", "recent"]) {
      if (key in data) this.counts[key] = data[key];
    }
    if (type !== "diff") this.stale = data.stale === true;
    this.cursor = data.cursor;
    return changes;
  }

  #set(id, user) {
    const known = this.users.get(id);
    this.users.set(id, user);
    if (known?.since && known.since === user.since) return; // stays where it is
    if (known) this.ids.splice(this.ids.indexOf(id), 1);
    const at = this.ids.findIndex((other) => this.#order(id, other) < 0);
    this.ids.splice(at < 0 ? this.ids.length : at, 0, id);
  }

  /** The server's order: newest first, equal times by id. */
  #order(a, b) {
    const [x, y] = [a, b].map((id) => Date.parse(this.users.get(id).since ?? "9999"));
    return y - x || (a < b ? -1 : 1);
  }
}
