// The topics of a page: the roster of each, and how many of its users are wanted. Watchers in
// this tab want some. If this tab leads, other tabs want some too.

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
 * The rosters, by topic. Some keys are no topics. They add users to the connection: "bob\nalso" a user of whom a page shows a
 * dot, "bob\nperson" a person, and "contacts\nlist" the visitor's contacts. Each becomes a parameter of the connection:
 * also=bob, person=bob, list=contacts. They have no events. Events about an "also" come in its topics, and those about the
 * others in the topic "people".
 * @extends {Map<string, Roster>}
 */
export class Feeds extends Map {
  live = "connecting";
  /** The topics that the visitor may not follow, with commas. */
  refused = "";
  /** How many users each other tab wants, by the id of the tab and then by topic. Empty unless this tab leads. @type {Map<string, Map<string, number>>} */
  tabs = new Map();

  /** Returns the roster of a topic, an empty one if there was none. */
  launch(topic) {
    if (!this.has(topic)) this.set(topic, new Roster());
    return this.get(topic);
  }

  /** Returns how many users of a topic are wanted; negative: the topic is not wanted. */
  limit(topic) {
    return Math.max(-1, ...[...this.get(topic).watchers].map(({ limit }) => limit), ...[...this.tabs.values()].map((wants) => wants.get(topic) ?? -1));
  }

  /** Tells all watchers whether changes arrive, and which topics the visitor may not follow. */
  tell(live, signedOut, refused = this.refused) {
    if (this.live === live && this.refused === refused) return;
    this.live = live;
    this.refused = refused;
    for (const watcher of new Set([...this.values()].flatMap(({ watchers }) => [...watchers]))) watcher.onLive(live, signedOut);
  }

  /**
   * Takes an event.
   * @param {string[]} keys the feeds for which the link was opened that received the event. If one of this tab's is not among them,
   *   an event of "people" may lack a person who is online, and is dropped.
   * @param {number} most the window of that link
   * @returns {string | undefined} not empty: events before this one are missing, and the caller must ask for a state
   */
  take(type, data, keys, most) {
    if (data.warnings || (data.app && data.app !== site.app)) complain(data);
    const roster = this.get(data.topic);
    if (!roster || (data.topic === "people" && [...this.keys()].some((key) => !keys.includes(key)))) return;
    if (type === "state" && data.cursor === roster.cursor && !(data.window > roster.window)) return;
    if (roster.lacks(type, data)) {
      const { cursor } = roster;
      roster.cursor = "";
      return cursor; // empty: a state was asked for already
    }
    const changes = roster.apply(type, data, keys, most);
    for (const watcher of roster.watchers) watcher.onEvent(data.topic, type, data, changes);
  }
}
