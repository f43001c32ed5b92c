// The items of an inbox that one list on this page knows, and how each event changes them.

/**
 * @typedef {import("./connect.js").Item} Item
 * @typedef {{fresh: Item[], changed: Item[], gone: Item[]}} Changes
 *   The changes of an event: new items, known items that changed, and items that left the list.
 */

/** Whether an item belongs on the list. */
const listed = ({ state }) => state !== "archived" && state !== "removed";

export class Items {
  /** The items by id, the highest place first. @type {Map<string, Item>} */
  all = new Map();
  /** The version of the list; empty: unknown, the list waits for a state. */
  cursor = "";
  /** The list has all items of the feed from this place upwards. Infinity: it has none. */
  floor = Infinity;

  /**
   * Replaces the list.
   * @param {{items?: Item[], cursor?: string, more?: boolean}} known more: the feed has items below these
   */
  reset({ items = [], cursor = "", more } = {}) {
    this.all.clear();
    for (const item of items) this.all.set(item.id, item);
    this.cursor = cursor;
    this.floor = cursor ? lowest(items, more) : Infinity;
    this.#sort();
  }

  /** Whether the list has missed events before this one. */
  lacks(type, { prev, cursor }) {
    return (type === "diff" && prev !== this.cursor) || (type === "heartbeat" && cursor !== this.cursor);
  }

  /**
   * Takes the data of an event. A state replaces the list, because older items may have changed
   * too. A diff adds no items below the list, or the list would have a hole above them. Other
   * events change nothing.
   * @returns {Changes}
   */
  apply(type, { cursor, items = [], more }) {
    const changes = { fresh: [], changed: [], gone: [] };
    if (type !== "state" && type !== "diff") return changes;
    const off = new Set(items.filter((item) => !listed(item)).map(({ id }) => id));
    if (type === "state") {
      const ids = new Set(items.map(({ id }) => id));
      for (const id of this.all.keys()) if (!ids.has(id)) off.add(id);
      this.floor = lowest(items, more);
    }
    for (const id of off) {
      if (this.all.has(id)) changes.gone.push(this.all.get(id));
      this.all.delete(id);
    }
    for (const item of items) {
      const known = this.all.get(item.id);
      if (off.has(item.id) || (!known && item.pos < this.floor)) continue;
      if (known && JSON.stringify(known) === JSON.stringify(item)) continue;
      (known ? changes.changed : changes.fresh).push(item);
      this.all.set(item.id, item);
    }
    this.cursor = cursor;
    this.#sort();
    return changes;
  }

  #sort() {
    const sorted = [...this.all].sort(([, a], [, b]) => b.pos - a.pos);
    this.all.clear();
    for (const [id, item] of sorted) this.all.set(id, item);
  }
}

/** Returns the place from which a page of items is complete. */
function lowest(items, more) {
  return more ? Math.min(...items.map(({ pos }) => pos)) : 0;
}
