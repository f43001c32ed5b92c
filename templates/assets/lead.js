// The work of the leader for all tabs: it keeps a link to the server, and opens a new link
// when tabs want other topics, other users or a window of another size.

import { openLink } from "./link.js";

const UNSEEN = 10_000; // ms after which the server is told that no tab is in view

/**
 * @param {string} src where the handlers are mounted
 * @param {import("./link.js").Page} page
 * @param {import("./feeds.js").Feeds} feeds
 * @param {ReturnType<typeof import("./election.js").openElection>} election
 * @param {() => void} review soon calls launch
 * @param {object} on the callbacks of the link, as in link.js
 * @param {(live: import("./connect.js").Live, user?: string, refused?: string) => void} on.live
 * @param {(status: number) => void} on.refused
 */
export function openLead(src, page, feeds, election, review, on) {
  const { tabs } = feeds;
  let link;
  let good; // whether the link may be kept; if not, launch makes a new link
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
    }
    if (!hidden) link?.arrived();
  };
  look();

  const hear = (type, data) => {
    if (type === "count") data.prev = feeds.get(data.topic)?.cursor; // shows other tabs whether they have missed events
    lead.pass(type, data);
    if (!feeds.take(type, data, keys, window)) return;
    good = false;
    setTimeout(review, 500 + Math.random() * 1000); // at random, so that not all browsers ask at once
  };

  const refused = (status) => {
    if (!tabs.size) return on.refused(status);
    // The topics of another tab may be the reason, so each tab tries by itself.
    for (const tab of tabs.keys()) election.post("away", tab);
    tabs.clear();
    good = false;
    review();
  };

  const lead = {
    get link() {
      return link;
    },

    /** The token of the link, if it has just what is wanted now. */
    get token() {
      return fits() && link.token;
    },

    look,

    /** Sends an event to the other tabs. */
    pass: (type, data) => election.post("event", type, data, keys, window),

    /** Opens a new link, unless the present one fits. */
    launch() {
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

    /** Makes the next call of launch make a new link. */
    renew: () => (good = false),

    /** Follows the topics that another tab wants. If this cannot be loaded, the tab leads in another group. */
    serve: (...what) => import("./serve.js").then(({ host }) => host(lead, tabs, feeds, election, review, ...what), () => election.post("away", what[0])),
  };
  return lead;
}
