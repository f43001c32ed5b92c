// What the leader does for all tabs: it keeps a link to the server, and opens it anew
// when other topics, other users or a window of another size are wanted.

import { openLink } from "./link.js";

const MAX_TOPICS = 16; // of a connection
const UNSEEN = 10_000; // ms for which no tab is in view until the server is told
const LINGER = 2000; // ms that the topics of a closed tab stay: the next page often wants the same

/**
 * @param {string} src where the handlers are mounted
 * @param {import("./link.js").Page} page
 * @param {import("./feeds.js").Feeds} feeds
 * @param {ReturnType<typeof import("./election.js").openElection>} election
 * @param {() => void} review soon calls open
 * @param {object} on what the link tells, as in link.js
 * @param {(live: import("./connect.js").Live, user?: string, refused?: string) => void} on.live
 * @param {(status: number) => void} on.refused
 */
export function openLead(src, page, feeds, { post, hold }, review, on) {
  const { tabs } = feeds;
  let link;
  let good; // the link is for what was wanted when it was opened; else it is to be opened anew
  let keys; // of the feeds at that time: tabs that want more wait for the next link's people
  let window; // of the link: how many of the first users of each topic it has
  let timer;

  const rosters = () => [...feeds].filter(([topic]) => !/^(inbox|people|feed:)|\n/.test(topic));
  /** How many users a tab shows at most. */
  const most = () => Math.max(1, ...rosters().map(([topic]) => feeds.limit(topic)));
  /** Whether a roster is of another window, so that what the link has does not complete it. A roster that nobody shows need not be complete. */
  const differs = ([topic, { cursor, window: its }]) => cursor && its !== window && (its || feeds.limit(topic) > 0);

  /** Whether the link is for just what is wanted now. Users of dots that are gone may stay, as a list without them would cost a state. */
  const fits = () => good && window === most() && !rosters().some(differs) && [...feeds.keys()].every((key) => keys.includes(key)) && keys.every((key) => feeds.has(key) || key.endsWith("\nalso"));

  /** Tells the server whether a tab is in view: that none is, when that has lasted for a while. */
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
    if (type === "count") data.prev = feeds.get(data.topic)?.cursor; // so that a tab sees whether it has missed events before
    post("event", type, data, keys, window);
    if (!feeds.take(type, data, keys, window)) return;
    good = false;
    setTimeout(review, 500 + Math.random() * 1000); // not at once with every other browser
  };

  const refused = (status) => {
    if (!tabs.size) return on.refused(status);
    // Another tab's topics may be the reason: then each tab tries by itself.
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

    /** Connects, unless the link is for just what is wanted now. */
    open() {
      if (fits()) return;
      good = true;
      window = most();
      for (const [topic, roster] of rosters()) {
        if (roster.window === Infinity) roster.window = window;
        if (differs([topic, roster])) roster.cursor = ""; // a state is wanted
      }
      keys = [...feeds.keys()].sort();
      const query = new URLSearchParams({ partial: 1, v: 1, window }); // one topic that may not be followed does not refuse the others
      for (const key of keys) {
        const [value, name = "topic"] = key.split("\n");
        query.append(name, value);
      }
      delete feeds.get("people")?.cursor; // of another list of people
      link?.close();
      link = openLink(src, page, {
        ...on,
        hear,
        refused,
        query: () => query + "&cursor=" + encodeURIComponent([...feeds.values()].map(({ cursor }) => cursor).filter(Boolean).join("~")),
      });
    },

    /** Has the next open connect anew. */
    renew: () => (good = false),

    /** Serves what another tab wants. */
    serve(tab, wants, hidden) {
      const limits = new Map(wants);
      limits.hidden = hidden;
      if ([...new Set([...feeds.keys(), ...limits.keys()])].filter((topic) => !topic.includes("\n")).length > MAX_TOPICS) return post("away", tab); // too many people are refused
      const forget = () => {
        tabs.delete(tab);
        look();
        review();
      };
      if (!tabs.has(tab)) {
        link?.arrived();
        hold(tab, (release) => {
          release();
          setTimeout(forget, LINGER);
        });
      }
      tabs.set(tab, limits);
      look();
      for (const [topic, , state] of wants) {
        const roster = feeds.open(topic);
        if (!roster.cursor && !roster.watchers.size) roster.apply("state", state);
        else if (roster.cursor !== state.cursor || state.window < roster.window) {
          // Of a feed of items this tab knows no more than the cursor: the server sends all tabs a state.
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
