// Who is typing in a topic. A typist is removed at the end of the time that the latest signal
// gave, when the typist leaves the topic, and after a state without the typist.

const LONGEST = 30; // s for which a signal may hold

export class Typists {
  /** The typists by id, the first to type first. @type {Map<string, {name: string, until: number}>} */
  #all = new Map();

  /**
   * Takes a signal.
   * @param {import("./connect.js").Signal} signal
   * @param {number} now ms
   */
  hear({ type, from, name, for: seconds = 0 }, now) {
    if (type !== "typing" || !from) return;
    if (seconds > 0) this.#all.set(from, { name: name || from, until: now + Math.min(seconds, LONGEST) * 1000 });
    else this.#all.delete(from);
  }

  leave(id) {
    this.#all.delete(id);
  }

  /** Takes a state. Typists who are not in it have left, unless the state leaves users out. */
  state({ users = {}, truncated, names }) {
    if (truncated || names === false) return;
    for (const id of this.#all.keys()) if (!Object.hasOwn(users, id)) this.leave(id);
  }

  /** Returns the names of the users who are typing now, without the page's own user. */
  names(me, now) {
    for (const [id, { until }] of this.#all) if (until <= now) this.leave(id);
    return [...this.#all].filter(([id]) => id !== me).map(([, { name }]) => name);
  }

  /** When the next typist is removed, in ms; Infinity if there is none. */
  get next() {
    return Math.min(...[...this.#all.values()].map(({ until }) => until));
  }
}
