// What a page shows, over one connection a browser: the tabs of a site that are
// of one visitor elect a leader, which connects and tells the others.
//
// The leader holds a lock; the next in the queue takes over when it is gone. Each
// tab holds another lock as long as it is there, so that nobody need say goodbye.
// All else is said over a channel: what tabs want, with what they know, and what
// happens. Each tab has rosters of its own and sees gaps by itself, so it goes
// on from where it is, whoever leads.

import { get, openLink, say } from "./link.js";
import { Roster } from "./roster.js";

/** Changes with what tabs say to each other: tabs of two versions of the script share nothing. */
const PROTOCOL = 2;

const SOON = 20; // ms: elements and tabs come in groups, and cost one connection
const LINGER = 2000; // ms: who goes from page to page wants much the same again
const MOST = 16; // topics a connection
const IDLE = 300_000; // ms without input until nobody is there
const AGAIN = 10_000; // ms before what failed is said again

/**
 * @typedef {object} Watcher
 * @property {number} limit how many users it wants
 * @property {(live: import("./connect.js").Live, signedOut?: boolean) => void} onLive
 * @property {(topic: string, type: string, data: any, changes: import("./roster.js").Changes) => void} onEvent
 */

/**
 * Opens the stream of a page.
 * @param {string} src where the handlers are mounted
 * @param {string} [me] whose page it is; empty: a guest's
 */
export function openStream(src, me = "") {
  let live = "connecting";
  let input = Date.now(); // when somebody did something, in any tab
  let party = 0; // of tabs that share: those that want too much together part; -1: signed out
  let session; // from when the page is shown until it is hidden or wants nothing
  let channel;
  let resign; // gives the lead away, in the tab that has it
  let link; // of the leader
  let asked; // what the link was opened for; empty: open it anew
  let queued;
  let paused = false;
  let joined = !me; // this page view is in the hands of a stream; a guest's is in nobody's
  /** What is known here, by topic. @type {Map<string, {roster: Roster, watchers: Set<Watcher>}>} */
  const feeds = new Map();
  /** For the leader: how many users other tabs want of their topics, by tab. @type {Map<string, Map<string, number>>} */
  const tabs = new Map();
  const id = Math.random().toString(36);

  const idle = () => Date.now() - input > IDLE;
  const name = (tab = "") => ["presence", PROTOCOL, src, me, party, tab].join();
  const post = (message) => channel?.postMessage(message);

  /** Tells the leader what this tab wants, and what it knows. */
  const want = () => post({ tab: id, wants: Array.from(feeds, ([topic, { roster }]) => [topic, wanted(topic), roster.state(topic)]) });

  /** How many users somebody wants of a topic; negative: nobody wants it. */
  const wanted = (topic) =>
    Math.max(-1, ...Array.from(feeds.get(topic).watchers, ({ limit }) => limit), ...Array.from(tabs.values(), (wants) => wants.get(topic) ?? -1));

  const feed = (topic) => {
    if (!feeds.has(topic)) feeds.set(topic, { roster: new Roster(), watchers: new Set() });
    return feeds.get(topic);
  };

  const tell = (now, signedOut) => {
    if (live === now) return;
    live = now;
    for (const watcher of new Set([...feeds.values()].flatMap(({ watchers }) => [...watchers]))) watcher.onLive(live, signedOut);
  };

  /** Takes an event, from the server or from the leader. */
  const take = (type, data) => {
    const { roster, watchers } = feeds.get(data?.topic) ?? {};
    if (!roster || (type === "state" && !data.sampled && data.cursor === roster.cursor && !roster.short(wanted(data.topic)))) return;
    if (roster.lacks(type, data)) {
      const asks = !roster.cursor;
      roster.cursor = "";
      return asks || (resign ? refresh() : want());
    }
    const changes = roster.apply(type, data);
    if (!changes) return;
    for (const watcher of watchers) watcher.onEvent(data.topic, type, data, changes);
    const limit = wanted(data.topic);
    if (resign && type === "diff" && roster.short(limit / 2)) refresh();
    if (roster.sampled) import("./crowd.js").then(({ sample }) => sample(roster, data.topic, limit, { src, get, take }));
  };

  /** Asks for the states that are missing, and not at once with everybody else. */
  const refresh = () => {
    asked = "";
    setTimeout(review, 500 + Math.random() * 1000);
  };

  /** Looks, in a moment, what is to be done: once for all that happens until then. */
  const review = () => {
    if (!session && !paused) begin();
    queued ??= setTimeout(() => {
      queued = undefined;
      for (const topic of feeds.keys()) if (wanted(topic) < 0) feeds.delete(topic);
      if (paused || !feeds.size) end();
      else if (resign) open();
      else want();
    }, SOON);
  };

  const begin = () => {
    session = new AbortController();
    tell("connecting");
    if (!navigator.locks) return queueMicrotask(() => lead(() => {}));
    // Nothing is said before our lock is held: a leader that got it would think
    // that we are gone.
    hold(name(id), () => {
      channel = new BroadcastChannel(name());
      channel.onmessage = ({ data }) => hear(data);
      want();
      hold(name(), lead);
    });
  };

  const end = () => {
    session?.abort();
    channel?.close();
    link?.close();
    session = channel = link = resign = undefined;
    tabs.clear();
    tell("off");
  };

  /** Holds a lock from when it is free until it is released, or the session ends. */
  const hold = (lock, got) => {
    const { signal } = session;
    const held = (release) => {
      signal.addEventListener("abort", release);
      got(release);
    };
    navigator.locks.request(lock, { signal }, () => signal.aborted || new Promise(held)).catch(() => {}); // it ended before
  };

  const lead = (release) => {
    resign = release;
    asked = "";
    post({ leads: true });
    open();
  };

  /** Tells the server, once a page view, that a stream which another tab had opened before shows it. */
  const join = async (connection) => {
    if (joined || !connection) return;
    joined = true;
    const { ok } = await say(src + "/beat?joined=1", { connection, joined });
    if (!ok) setTimeout(() => want((joined = false)), AGAIN);
  };

  const hear = ({ tab, wants, away, now, token, type, data, at, leads }) => {
    if (at) attend(at);
    else if (wants) resign && serve(tab, wants);
    else if (type) take(type, data);
    else if (now) join(token), tell(now);
    else if (away === id) part(party + 1);
    else if (leads) want();
  };

  /** Leaves these tabs for others. */
  const part = (to) => {
    party = to;
    end();
    review();
  };

  /** Takes another tab along. */
  const serve = (tab, wants) => {
    if (new Set([...feeds.keys(), ...wants.map(([topic]) => topic)]).size > MOST) return post({ away: tab });
    if (!tabs.has(tab)) {
      hold(name(tab), (release) => {
        release();
        setTimeout(() => review(tabs.delete(tab)), LINGER);
      });
    }
    tabs.set(tab, new Map(wants));
    for (const [topic, , state] of wants) {
      const { roster, watchers } = feed(topic);
      if (!roster.cursor && !watchers.size) roster.apply("state", state);
      else if (roster.cursor !== state.cursor) post({ type: "state", data: roster.state(topic) });
    }
    post({ now: live, token: String(ask()) === asked && link.token });
    review();
  };

  /** What to ask the server for. */
  const ask = () => {
    const query = new URLSearchParams();
    let limit = 100; // of a state, unless asked for more
    for (const [topic, { roster }] of [...feeds].sort()) {
      query.append("topic", topic);
      limit = Math.max(limit, wanted(topic));
      if (roster.cursor && roster.short(wanted(topic))) asked = roster.cursor = ""; // asks for a state
    }
    query.set("limit", limit);
    return query;
  };

  /** Connects, unless the link was opened for just this. */
  const open = () => {
    const query = ask();
    if (asked === String(query)) return;
    asked = String(query);
    link?.close();
    link = openLink(src, me, {
      idle,
      query: () => {
        query.set("cursor", Array.from(feeds.values(), ({ roster }) => roster.cursor).filter(Boolean).join("~"));
        return query;
      },
      live: (now, user) => {
        // Signed out since: a page that is loaded after a new sign-in would not
        // want to be led by a guest's stream.
        if (me && user === "" && party >= 0) return part(-1);
        joined ||= now === "on"; // later than the page was shown
        post({ now, token: link.token });
        tell(now);
      },
      hear: (type, data) => {
        post({ type, data });
        take(type, data);
      },
      refused: (status) => {
        // Perhaps for the sake of another tab: then each tries it by itself.
        for (const tab of tabs.keys()) post({ away: tab });
        asked = "";
        if (tabs.size) return review(tabs.clear());
        tell("off", status === 401);
        resign();
        resign = undefined;
      },
    });
  };

  /** Somebody did something, here or in another tab. */
  const attend = (at) => {
    const was = idle();
    input = at;
    if (was) link?.beat();
  };

  return {
    get live() {
      return live;
    },

    /**
     * Keeps a watcher informed of a topic, from what the page knows of it on. The
     * watchers of a topic share a roster: that of the one who knew most.
     * @param {Watcher} watcher
     * @returns {Roster}
     */
    watch(topic, watcher, known = {}) {
      const { roster, watchers } = feed(topic);
      if (!roster.cursor || known.users?.size > roster.users.size) {
        roster.reset(known);
        asked = "";
      }
      watchers.add(watcher);
      review();
      return roster;
    },

    unwatch(topic, watcher) {
      feeds.get(topic)?.watchers.delete(watcher);
      review();
    },

    /** Lets go of everything while the page is not shown; or as it goes, for good. */
    pause(going) {
      if (going && !tabs.size) link?.leave();
      paused = true;
      end();
    },

    /** Goes on from where pause stopped. */
    resume() {
      paused = false;
      input = Date.now();
      review();
    },

    /** Somebody is there. The other tabs are told now and then. */
    input() {
      const now = Date.now();
      if (now - input > IDLE / 5) post({ at: now });
      attend(now);
    },
  };
}
