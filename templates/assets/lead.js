// What the leader does for all tabs: it keeps a link to the server, and opens it anew
// when other topics or more users are wanted.

import { openLink } from "./link.js";

const MAX_TOPICS = 16; // of a connection
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
  let asked; // for what the link was opened; empty: it is to be opened anew
  let keys; // of the feeds at that time: tabs that want more wait for the next link's people

  /** What to ask the server for. Where more users are wanted than are known, that is a state. */
  const ask = () => {
    const query = new URLSearchParams({ partial: 1, v: 1 }); // one topic that may not be followed does not refuse the others
    let most = 100; // users of a state
    for (const [topic, roster] of [...feeds].sort()) {
      const limit = feeds.limit(topic);
      const [value, name = "topic"] = topic.split("\n");
      query.append(name, value);
      most = Math.max(most, limit);
      if (roster.cursor && roster.short(limit)) asked = roster.cursor = "";
    }
    query.set("limit", most);
    return "" + query;
  };

  const hear = (type, data) => {
    post("event", type, data, keys);
    if (!feeds.take(src, type, data, keys)) return;
    asked = "";
    setTimeout(review, 500 + Math.random() * 1000); // not at once with every other browser
  };

  const refused = (status) => {
    if (!tabs.size) return on.refused(status);
    // Another tab's topics may be the reason: then each tab tries by itself.
    for (const tab of tabs.keys()) post("away", tab);
    tabs.clear();
    asked = "";
    review();
  };

  return {
    get link() {
      return link;
    },

    /** Connects, unless the link asks for just what is wanted now. */
    open() {
      const query = ask();
      if (asked === query) return;
      asked = query;
      keys = [...feeds.keys()];
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
    renew: () => (asked = ""),

    /** Serves what another tab wants. */
    serve(tab, wants) {
      const limits = new Map(wants);
      if ([...new Set([...feeds.keys(), ...limits.keys()])].filter((topic) => !topic.includes("\n")).length > MAX_TOPICS) return post("away", tab); // too many people are refused
      const forget = () => {
        tabs.delete(tab);
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
      for (const [topic, , state] of wants) {
        const roster = feeds.open(topic);
        if (!roster.cursor && !roster.watchers.size) roster.apply("state", state);
        else if (roster.cursor !== state.cursor) {
          // Of a feed of items this tab knows no more than the cursor: the server sends all tabs a state.
          if (!/^(inbox|feed:)/.test(topic)) post("event", "state", roster.state(topic), keys);
          else if (roster.cursor) asked = roster.cursor = "";
        }
      }
      post("live", feeds.live, ask() === asked && link.token, feeds.refused);
      review();
    },
  };
}
