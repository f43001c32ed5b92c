// The topics of a page: what is known of each, and how many users are wanted of it, by
// the watchers in this tab and, where this tab leads, by other tabs.

import { site } from "./connect.js";
import { complain } from "./link.js";
import { Roster } from "./roster.js";

/**
 * @typedef {object} Watcher
 * @property {number} limit how many users it wants
 * @property {(live: import("./connect.js").Live, signedOut?: boolean) => void} onLive
 * @property {(topic: string, type: string, data: any, changes: import("./roster.js").Changes) => void} onEvent
 */

/**
 * By topic. Lists of users are feeds too, without events: "bob\nalso" for each user of whom a page shows a dot, "bob\nperson"
 * for each person, and "contacts\nlist". Their values and names are parameters of a connection, beside the topics, which
 * have the events of each "also", and the topic "people", which has those of the other lists.
 * @extends {Map<string, Roster>}
 */
export class Feeds extends Map {
  live = "connecting";
  /** The topics that the visitor may not follow, with commas. */
  refused = "";
  /** How many users other tabs want, by the id of the tab and by topic. Only a leader has any. @type {Map<string, Map<string, number>>} */
  tabs = new Map();

  /** Returns the roster of a topic, an empty one if there was none. */
  open(topic) {
    if (!this.has(topic)) this.set(topic, new Roster());
    return this.get(topic);
  }

  /** How many users are wanted of a topic; negative: nobody wants the topic. */
  limit(topic) {
    return Math.max(-1, ...[...this.get(topic).watchers].map(({ limit }) => limit), ...[...this.tabs.values()].map((wants) => wants.get(topic) ?? -1));
  }

  /** Tells all watchers whether changes arrive, and of which topics never. */
  tell(live, signedOut, refused = this.refused) {
    if (this.live === live && this.refused === refused) return;
    this.live = live;
    this.refused = refused;
    for (const watcher of new Set([...this.values()].flatMap(({ watchers }) => [...watchers]))) watcher.onLive(live, signedOut);
  }

  /**
   * Takes an event.
   * @param {string[]} keys the feeds for which the link was opened that has the event. Without one of this tab's,
   *   a person of this tab's list may be absent from it who is online.
   * @param {number} most the window of that link
   * @returns {string | undefined} not empty: events before this one are missing, and a state must be asked for
   */
  take(type, data, keys, most) {
    if (data.warnings || (data.app && data.app !== site.app)) complain(data);
    const roster = this.get(data.topic);
    if (!roster || (data.topic === "people" && [...this.keys()].some((key) => !keys.includes(key)))) return;
    if (type === "state" && data.cursor === roster.cursor && !(data.window > roster.window)) return;
    if (roster.lacks(type, data)) {
      const { cursor } = roster;
      roster.cursor = "";
      return cursor; // without a cursor, a state was asked for before
    }
    const changes = roster.apply(type, data, keys, most);
    for (const watcher of roster.watchers) watcher.onEvent(data.topic, type, data, changes);
  }
}
