// The work of the leader for all tabs: it keeps a link to the server, and opens a new link
// when tabs want other topics, other users or a window of another size.

import { openLink } from "./link.js";

const MAX_TOPICS = 16; // of one connection
const UNSEEN = 10_000; // ms after which the server is told that no tab is in view
const LINGER = 2000; // ms for which the topics of a closed tab stay: the next page often wants the same

/**
 * @param {string} src where the handlers are mounted
 * @param {import("./link.js").Page} page
 * @param {import("./feeds.js").Feeds} feeds
 * @param {ReturnType<typeof import("./election.js").openElection>} election
 * @param {() => void} review soon calls open
 * @param {object} on the callbacks of the link, as in link.js
 * @param {(live: import("./connect.js").Live, user?: string, refused?: string) => void} on.live
 * @param {(status: number) => void} on.refused
 */
export function openLead(src, page, feeds, { post, hold }, review, on) {
  const { tabs } = feeds;
  const awaited = new Set(); // the tabs whose locks this one waits for: it gets them once they have gone
  let link;
  let good; // whether the link may be kept; if not, open makes a new link
  let keys; // the keys of the feeds when the link was opened
  let window; // how many of the newest users of each topic the link has
  let timer;

  const rosters = () => [...feeds].filter(([topic]) => !/^(inbox|people|feed:)|\n/.test(topic));
  /** Returns how many users the largest list of any tab shows. */
  const most = () => Math.max(1, ...rosters().map(([topic]) => feeds.limit(topic)));
  /** Whether a roster has another window than the link, so that events of the link do not complete it. A roster that no list shows need not be complete. */
  const differs = ([topic, { cursor, window: its }]) => cursor && its !== window && (its || feeds.limit(topic) > 0);

  /** Whether the link has just what is wanted now. It may also have users of dots that are gone, because a new link without them would cost a state. */
  const fits = () => good && window === most() && !rosters().some(differs) && [...feeds.keys()].every((key) => keys.includes(key)) && keys.every((key) => feeds.has(key) || key.endsWith("\nalso"));

  /** Tells the server whether a tab is in view. It says that none is only after UNSEEN. */
  const look = (lasted) => {
    const hidden = document.hidden && [...tabs.values()].every((tab) => tab.hidden);
    clearTimeout(timer);
    if (hidden && !lasted) timer = setTimeout(look, UNSEEN, true);
    else if (hidden !== !!page.hidden) {
      page.hidden = hidden;
      link?.beat();
      hidden || link?.arrived();
    }
  };
  look();

  const hear = (type, data) => {
    if (type === "count") data.prev = feeds.get(data.topic)?.cursor; // shows other tabs whether they have missed events
    post("event", type, data, keys, window);
    if (!feeds.take(type, data, keys, window)) return;
    good = false;
    setTimeout(review, 500 + Math.random() * 1000); // at random, so that not all browsers ask at once
  };

  const refused = (status) => {
    if (!tabs.size) return on.refused(status);
    // The topics of another tab may be the reason, so each tab tries by itself.
    for (const tab of tabs.keys()) post("away", tab);
    tabs.clear();
    good = false;
    review();
  };

  return {
    get link() {
      return link;
    },

    look,

    /** Opens a new link, unless the present one fits. */
    open() {
      if (fits()) return;
      good = true;
      window = most();
      for (const [topic, roster] of rosters()) {
        if (roster.window === Infinity) roster.window = window;
        if (differs([topic, roster])) roster.cursor = ""; // asks for a state
      }
      keys = [...feeds.keys()].sort();
      const query = new URLSearchParams({ partial: 1, v: 1, window }); // partial: a topic that the visitor may not follow does not make the server refuse the others
      for (const key of keys) {
        const [value, name = "topic"] = key.split("\n");
        query.append(name, value);
      }
      delete feeds.get("people")?.cursor; // the cursor is for another list of people
      link?.close();
      link = openLink(src, page, {
        ...on,
        hear,
        refused,
        query: () => query + "&cursor=" + encodeURIComponent([...feeds.values()].map(({ cursor }) => cursor).filter(Boolean).join("~")),
      });
    },

    /** Makes the next call of open open a new link. */
    renew: () => (good = false),

    /** Follows the topics that another tab wants. If there are too many, it sends the tab to another group. */
    serve(tab, wants, hidden) {
      const limits = new Map(wants);
      limits.hidden = hidden;
      if ([...new Set([...feeds.keys(), ...limits.keys()])].filter((topic) => !topic.includes("\n")).length > MAX_TOPICS) return post("away", tab); // keys of users do not count; the server refuses too many of them
      if (!awaited.has(tab)) {
        awaited.add(tab);
        link?.arrived();
        hold(tab, (release) => {
          release();
          awaited.delete(tab);
          const last = tabs.get(tab);
          setTimeout(() => {
            if (tabs.get(tab) !== last) return; // it is back: a browser freezes tabs, and thaws them
            tabs.delete(tab);
            look();
            review();
          }, LINGER);
        });
      }
      tabs.set(tab, limits);
      look();
      for (const [topic, , state] of wants) {
        const roster = feeds.open(topic);
        if (!roster.cursor && !roster.watchers.size) roster.apply("state", state);
        else if (roster.cursor !== state.cursor || state.window < roster.window) {
          // For a feed of items this tab has only the cursor, and no items. So the server must send a state, to all tabs.
          if (!/^(inbox|feed:)/.test(topic)) post("event", "state", roster.state(topic), keys, window);
          else if (roster.cursor) {
            roster.cursor = "";
            good = false;
          }
        }
      }
      post("live", feeds.live, fits() && link.token, feeds.refused);
      review();
    },
  };
}
