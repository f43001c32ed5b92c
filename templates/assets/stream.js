// What a page shows, over one connection a browser: the tabs of one visitor elect a
// leader, which connects to the server and tells the others what happens.
//
// Each tab has rosters of its own and finds gaps by itself. So a tab goes on from where
// it is, whichever tab leads.

import { openElection } from "./election.js";
import { Feeds } from "./feeds.js";
import { openLead } from "./lead.js";
import { report } from "./link.js";

/**
 * The version of the messages below. It is part of the name of the channel and of the
 * locks, so tabs of two versions of the script never hear each other: during a deploy a
 * browser has a connection for each version. Raise it with any change of a message.
 */
const PROTOCOL = 2;

const SOON = 20; // ms: elements and tabs come in groups, and cost one connection
const IDLE = 300_000; // ms without input until the visitor is away
const RETRY = 10_000; // ms before a beat without an answer is sent again
const LATE = 1000; // ms, at most, that the first connection waits for scripts that are loaded on demand

/**
 * Opens the stream of a page.
 * @param {string} src where the handlers are mounted
 * @param {{me?: string, tenant?: string, app?: string}} site what the page says: its user, empty for a guest; the tenant, so that
 *   two on one origin share no connection; and the site's build
 * @param {HTMLElement[]} late elements whose topics are followed by scripts that are loaded on demand, such as people.js and inbox.js
 */
export function openStream(src, site, late) {
  const id = "" + Math.random(); // of this tab
  const feeds = new Feeds();
  const idle = () => page.me > "" && Date.now() - input > IDLE;
  /** @type {import("./link.js").Page} */
  const page = { ...site, idle };
  let joined = !page.me; // the server knows that a connection shows this page view; that of a guest holds nobody online
  let input = Date.now(); // when the visitor last did something, in any tab
  let election; // from when the page is shown until it is hidden or wants nothing
  let lead; // only in the tab that leads; null: the server has refused this tab
  let group = 0; // of tabs that share a connection; a tab whose topics do not fit joins the next; -1: signed out
  let paused = false;
  let timer;

  const want = () => election?.post("want", id, [...feeds].map(([topic, roster]) => [topic, feeds.limit(topic), roster.state(topic)]), document.hidden);

  /** Soon does what is to be done, once for all that happens until then. */
  const review = () => {
    for (const { dataset: { feed, presenceDot, presenceSeen } } of late) if (![feed ?? "people", (presenceDot ?? presenceSeen) + "\nalso"].some((key) => feeds.has(key))) return setTimeout(() => review((late = [])), LATE);
    if (!election && !paused) begin();
    timer ||= setTimeout(() => {
      timer = 0;
      for (const topic of feeds.keys()) if (feeds.limit(topic) < 0) feeds.delete(topic);
      if (paused || !feeds.size) end();
      else if (lead) lead.open();
      else want();
    }, SOON);
  };

  const begin = () => {
    feeds.tell("connecting");
    const name = "" + ["presence", PROTOCOL, src, page.tenant, page.me, group, ""];
    election = openElection(name, id, messages, want, (resign) => {
      const refused = (status) => {
        feeds.tell("off", { 0: !!page.me, 401: true, 403: false }[status]);
        lead = null;
        resign();
      };
      lead = openLead(src, page, feeds, election, review, { live, refused });
      election.post("lead");
      lead.open();
    });
  };

  const end = (now = "off") => {
    election?.end();
    lead?.link.close();
    election = lead = undefined;
    feeds.tabs.clear();
    feeds.tell(now);
  };

  /** Joins another group of tabs. */
  const move = (to) => {
    group = to;
    end("connecting");
    review();
  };

  /** The visitor did something, here or in another tab. */
  const attend = (at) => {
    input = at;
    lead?.link.beat();
  };

  /** Tells the server, once a page view, which tab's connection shows it. */
  const join = async (connection) => {
    if (joined || !connection) return;
    joined = true;
    const status = await report(src + "/beat?joined=1", page, { connection, joined });
    if (status === 204 || page.nobeat) return;
    setTimeout(() => {
      joined = !page.me;
      review();
    }, RETRY);
  };

  /** The leader's link came or went. */
  const live = (now, user, refused) => {
    // The visitor has signed out. A page that is loaded after the next sign-in must not be led by a guest's stream.
    if (page.me && user === "" && group >= 0) return move(-1);
    const { token } = lead.link;
    if (token) joined = true; // a connection of the page's own is later than the view
    feeds.tell(now, undefined, refused);
    election.post("live", now, token, feeds.refused);
  };

  /** What tabs say to each other. */
  const messages = {
    /** A tab wants topics, and says what it knows of them, and whether it is hidden. */
    want: (...what) => lead?.serve(...what),
    /** The leader has an event. */
    event: (...what) => feeds.take(...what) && want(),
    /** The leader's link came or went. */
    live(now, token, refused) {
      join(token);
      feeds.tell(now, undefined, refused);
    },
    /** There is no room for a tab in this group. */
    away: (tab) => tab === id && move(group + 1),
    /** There is a new leader. */
    lead: want,
    /** The visitor did something. */
    input: attend,
  };

  return {
    feeds,

    /** Goes on as a user, of whom there is a page view: anew, unless it is the same user and nothing was refused. */
    become(user) {
      if (user === page.me && group >= 0 && lead !== null) return;
      page.me = user;
      joined = !user;
      page.nobeat = feeds.refused = "";
      move(0);
    },

    /**
     * Keeps a watcher informed of a topic. The watchers of a topic share a roster, which
     * starts from the most that one of them knew.
     * @param {string} topic
     * @param {import("./feeds.js").Watcher} watcher
     * @returns {import("./roster.js").Roster}
     */
    follow(topic, watcher, known = {}) {
      const roster = feeds.open(topic);
      if (!roster.cursor || known.users?.size > roster.users.size) {
        roster.reset(known);
        if (lead === null) end("connecting"); // what was refused may be granted with this topic
        if (roster.cursor) lead?.renew();
      }
      roster.watchers.add(watcher);
      review();
      return roster;
    },

    unwatch(topic, watcher) {
      feeds.get(topic)?.watchers.delete(watcher);
      review();
    },

    /** This tab has come into view, or is hidden now. */
    look: () => (lead ? lead.look() : want()),

    /** Ends the connection while the page is hidden; or for good, as the page goes. */
    pause(going) {
      if (going && !feeds.tabs.size) lead?.link.leave();
      paused = true;
      end();
    },

    /** Connects again after pause. */
    resume() {
      input = Date.now();
      paused = false;
      review();
    },

    /** The visitor did something. The other tabs are told once a minute at most. */
    input() {
      const now = Date.now();
      if (now - input > IDLE / 5) election?.post("input", now);
      attend(now);
    },
  };
}
