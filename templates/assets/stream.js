// The stream of events of a page. A browser has one connection for all tabs of a visitor: the tabs
// elect a leader, which connects to the server and passes the events to the other tabs.
//
// Each tab has its own rosters and detects missing events by itself. So any tab can take over as
// the leader.

import { openElection } from "./election.js";
import { Feeds } from "./feeds.js";
import { openLead } from "./lead.js";
import { report } from "./link.js";

/**
 * The version of the messages below. It is part of the names of the channel and the locks, so
 * tabs with different versions never hear each other. During a deploy a browser has a
 * connection for each version. Raise it with any change of a message.
 */
const PROTOCOL = 2;

const SOON = 20; // ms to collect elements and tabs, which come in groups and need only one connection
const IDLE = 300_000; // ms without input until the visitor is away
const RETRY = 10_000; // ms before a beat without an answer is sent again
const FROZEN = 10_000; // ms after which a page that still runs is neither frozen nor closed
const LATE = 1000; // ms, at most, for which the first connection waits for scripts that are loaded on demand

/**
 * Opens the stream of a page.
 * @param {string} src where the handlers are mounted
 * @param {{me?: string, tenant?: string, app?: string}} site me: the page's user, empty for a guest; tenant: a hash, so that
 *   two tenants on one origin share no connection; app: the site's build
 * @param {HTMLElement[]} late elements whose modules are loaded on demand, such as people.js and inbox.js, and then follow topics
 */
export function openStream(src, site, late) {
  const id = "" + Math.random(); // of this tab
  const feeds = new Feeds();
  const idle = () => page.me > "" && Date.now() - input > IDLE;
  /** @type {import("./link.js").Page} */
  const page = { ...site, idle };
  let joined = !page.me; // the server knows that a connection shows this page view; for a guest it need not know
  let input = Date.now(); // when the visitor last did something, in any tab
  let election; // undefined while the page is paused or wants no topics
  let lead; // undefined unless this tab leads; null: the server has refused this tab
  let group = 0; // the number of a group of tabs that share a connection; a tab whose topics do not fit joins the next; -1: signed out
  let paused = false;
  let timer;

  const want = () => election?.post("want", id, [...feeds].map(([topic, roster]) => [topic, feeds.limit(topic), roster.state(topic)]), document.hidden);

  /** Soon brings the connection up to date with the feeds, once for all changes until then. */
  const review = () => {
    for (const { dataset: { feed, presenceDot, presenceSeen } } of late) if (![feed ?? "people", (presenceDot ?? presenceSeen) + "\nalso"].some((key) => feeds.has(key))) return setTimeout(() => review((late = [])), LATE);
    if (!election && !paused) begin();
    timer ||= setTimeout(() => {
      timer = 0;
      for (const topic of feeds.keys()) if (feeds.limit(topic) < 0) feeds.delete(topic);
      if (paused || !feeds.size) end();
      else if (lead) lead.launch();
      else want();
    }, SOON);
  };

  const begin = () => {
    feeds.tell("connecting");
    const name = "" + ["presence", PROTOCOL, src, page.tenant, page.me, group, ""];
    election = openElection(name, id, messages, want, (resign) => {
      const refused = (status) => {
        feeds.tell("off", { 401: true, 403: false }[status]);
        lead = null;
        resign();
      };
      lead = openLead(src, page, feeds, election, review, { live, refused });
      election.post("lead");
      lead.launch();
    });
  };

  const end = (now = "off") => {
    election?.end();
    lead?.link.close();
    election = lead = undefined;
    feeds.tabs = new Map(); // not cleared: serve may still be loading
    feeds.tell(now);
  };

  /** Joins another group of tabs. */
  const move = (to) => {
    group = to;
    end("connecting");
    review();
  };

  /** Notes that the visitor did something, here or in another tab. */
  const attend = (at) => {
    input = at;
    lead?.link.beat();
  };

  /** Tells the server, once for each page view, which connection shows the page. */
  const join = async (connection) => {
    if (joined || !connection) return;
    joined = true;
    const status = await report(src + "/beat?joined=1", page, { connection, joined });
    if (status === 204) return;
    setTimeout(() => {
      joined = !page.me;
      review();
    }, page.nobeat ? IDLE : RETRY);
  };

  /** Called in the leader when its link came or went. */
  const live = (now, user, refused) => {
    // The visitor has signed out, so the stream is a guest's. Pages that load after the next sign-in must not share it.
    if (page.me && user === "" && group >= 0) return move(-1);
    const { token } = lead.link;
    if (token) joined = true; // this tab's own connection is newer than its page view, so the server knows
    feeds.tell(now, undefined, refused);
    election.post("live", now, token, feeds.refused);
  };

  /** Connects again after pause. To call too when the browser says that the network came or went. */
  const resume = () => {
    timer = clearTimeout(timer);
    paused = false;
    review();
    lead?.link.doubt();
  };

  /** The messages between tabs. */
  const messages = {
    /** From a tab: the topics that it wants, what it knows of them, and whether it is hidden. */
    want: (...what) => lead?.serve(...what),
    /** From the leader: an event. */
    event: (...what) => feeds.take(...what) && want(),
    /** From the leader: its link came or went. */
    live(now, token, refused) {
      join(token);
      feeds.tell(now, undefined, refused);
    },
    /** From the leader: this group has no room for a tab. */
    away: (tab) => tab === id && move(group + 1),
    /** From a new leader. */
    lead: want,
    /** From a tab: the visitor did something there. */
    input: attend,
  };

  return {
    feeds,

    /** Goes on as a user who has a new page view. It connects anew, unless the user is the same and nothing was refused. */
    become(user) {
      if (user === page.me && group >= 0 && lead !== null) return;
      page.me = user;
      joined = !user;
      page.nobeat = feeds.refused = "";
      move(0);
    },

    /**
     * Keeps a watcher informed of a topic. The watchers of a topic share a roster. It starts from
     * the watcher that knew the most users.
     * @param {string} topic
     * @param {import("./feeds.js").Watcher} watcher
     * @returns {import("./roster.js").Roster}
     */
    follow(topic, watcher, known = {}) {
      const roster = feeds.launch(topic);
      if (!roster.cursor || known.users?.size > roster.users.size) {
        roster.reset(known);
        if (lead === null) end("connecting"); // with this topic, the server may accept the connection
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

    /** To call when this tab has come into view, or is hidden now. */
    look: () => (lead ? lead.look() : want()),

    /** Ends the connection until resume, or until it turns out that the page still runs. With going, the page is closed for good. */
    pause(going) {
      if (going && !feeds.tabs.size) lead?.link.leave();
      paused = true;
      end();
      clearTimeout(timer);
      timer = setTimeout(resume, FROZEN); // no timer runs in a page that is frozen or closed
    },

    resume,

    /** To call when the visitor did something. It tells the other tabs once a minute at most. */
    input() {
      const now = Date.now();
      if (now - input > IDLE / 5) election?.post("input", now);
      attend(now);
    },
  };
}
