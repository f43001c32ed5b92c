// Bells, lists of notifications, and rooms. They show feeds of items. Loaded by pages that have
// any. A page follows each feed once, however many elements show it.

import { bellView } from "./bell.js";
import { listView } from "./notes.js";
import { roomView } from "./room.js";
import { fillers } from "./slots.js";

const AGE = 10_000; // ms between two updates of texts such as "5 minutes ago"
const LOST = 3000; // ms without a connection before an element says so
const AGAIN = 300; // ms until the server is asked again for what an element missed; each further wait is twice as long
const TRIES = 6; // after which the waits are no longer

/**
 * @typedef {object} View shows a feed in a part of the page
 * @property {string} [cursor] the version that it shows; empty: it shows nothing yet
 * @property {number} [unread] as the server rendered it
 * @property {number} [unseen]
 * @property {boolean} [items] whether it shows items, and not only numbers
 * @property {boolean} [quiet] whether another view has the same part, and fires the events
 * @property {(type: "state" | "diff", data: any) => void} take takes an event, which leads to a newer version
 * @property {(now: {unread?: number, unseen?: number, stale: boolean}) => void} paint shows numbers
 * @property {() => void} clear removes what belongs to a user who has signed out
 *
 * @typedef {import("./marks.js").Script & {ago: typeof import("./dots.js").ago, fill: ReturnType<typeof fillers>, age: (time: HTMLTimeElement) => void,
 *   post: (topic: string, what: object) => Promise<void>, read: (topic: string, query: object) => Promise<any>,
 *   follow: (topic: string, part: HTMLElement, view: View) => void}} Tools
 */

/** Keeps the elements of feeds on this page live. @type {ReturnType<typeof openInbox>} */
let page;

/**
 * Returns the object that keeps the elements of feeds on this page live.
 * @param {import("./marks.js").Script & {ago: typeof import("./dots.js").ago}} script
 */
export const inboxOf = (script) => (page ??= openInbox(script));

/** The views by data-show, in the order in which they start. */
const views = { list: listView, bell: bellView, room: roomView };

function openInbox(script) {
  const { connect, site, get, insist, locale, ago } = script;
  const { texts, src } = site;
  /** The feeds, by topic. @type {Map<string, ReturnType<typeof openFeed>>} */
  const feeds = new Map();
  /** The elements of feeds. @type {Set<HTMLElement>} */
  const elements = new Set();
  /** Times that were filled in. @type {Set<HTMLTimeElement>} */
  const times = new Set();
  let aging;

  /** Returns items below a place, or the changes since a cursor; "" if the server refuses, or if the page has become another user's meanwhile. */
  const read = async (topic, query) => {
    const { me } = site;
    const mine = () => me === site.me && feeds.has(topic);
    const data = await insist(get, `${src}/feed?${new URLSearchParams({ topic, ...query, me })}`, "items", mine);
    return mine() && data;
  };

  /** Marks items of the page's user. Throws the response if the server refuses. */
  const post = async (topic, what) => {
    const { me } = site;
    const response = await fetch(`${src}/feed/mark?${new URLSearchParams({ me })}`, {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify({ topic, ...what }),
      keepalive: true,
      redirect: "manual",
    });
    const data = response.ok && (await response.json().catch(() => ""));
    if (!data.cursor) throw response;
    if (me === site.me) feeds.get(topic)?.told(data);
  };

  const age = (time) => {
    times.add(time);
    const text = ago(texts, locale, Date.now() - Date.parse(time.dateTime));
    if (time.textContent !== text) time.textContent = text;
  };

  /** Updates the texts of times at intervals, as long as there are elements of feeds. */
  const grow = () => {
    aging ??= setTimeout(() => {
      aging = undefined;
      for (const all of [elements, times]) for (const each of all) if (!each.isConnected) all.delete(each);
      for (const time of times) age(time);
      for (const feed of feeds.values()) feed.review();
      if (elements.size) grow();
    }, AGE);
  };

  /** Follows a feed, for all of its views. */
  const openFeed = (topic, start) => {
    /** The views, and the part of the page that each is in. @type {Map<View, HTMLElement>} */
    const shown = new Map();
    const mine = topic === "inbox"; // rooms are the same for all users
    let me = site.me;
    let { unread, unseen } = start;
    let fresh = Date.now(); // when the views were last up to date
    let losing; // the timer of lost
    const presence = connect({ topics: [topic], src, limit: 0, known: { cursor: start.cursor } });

    const paint = () => {
      for (const view of shown.keys()) view.paint({ unread, unseen, stale: presence.stale(topic) });
    };

    /** The parts whose events are about this feed. */
    const parts = () => [...shown].filter(([{ quiet }]) => !quiet).map(([, part]) => part);

    const fire = (part, type, detail) => part.dispatchEvent(new CustomEvent("presence:" + type, { bubbles: true, detail }));

    /** Clears the views of an inbox if its user has signed out, or is no longer the page's user. */
    const check = (signedOut) => {
      if (site.me === me && !signedOut) return;
      me = site.me;
      if (!mine) return;
      unread = unseen = undefined;
      for (const view of shown.keys()) {
        view.cursor = "";
        view.clear();
      }
      paint();
    };

    const count = (data) => {
      if (mine && "unread" in data) ({ unread, unseen } = data);
    };

    const take = (type, data) => {
      check();
      count(data);
      for (const view of shown.keys()) {
        // A view that came late may have another version. catchUp brings it to this one.
        if (view.items && type === "diff" && view.cursor !== data.prev) continue;
        view.cursor = data.cursor;
        view.take(type, data);
      }
      paint();
      for (const part of parts()) fire(part, type, data);
    };

    const live = (signedOut) => {
      check(signedOut);
      const now = presence.stale(topic) ? "off" : presence.live;
      paint();
      for (const part of parts()) {
        const was = part.dataset.live;
        if (was === now) continue;
        if (was === "on") fresh = Date.now();
        part.dataset.live = now;
        fire(part, "live", { topic, live: now });
      }
      if (now === "on" || signedOut || presence.refused(topic)) {
        losing = clearTimeout(losing);
        lost(signedOut ? texts.signedOut : "");
      } else losing ??= setTimeout(() => lost(texts.lost), LOST);
    };

    const lost = (why) => {
      const text = why.replace("{time}", () => new Date(fresh).toLocaleTimeString(texts.lang, { timeStyle: "short" }));
      for (const part of parts()) {
        const says = part.querySelector(".presence-lost");
        if (says && says.textContent !== text) says.textContent = text;
      }
    };

    /** Whether a view is not at the version of the stream. */
    const lacks = (view, cursor) => (view.items ? !view.cursor || view.cursor !== cursor : mine && !view.quiet && unread === undefined);

    /** Brings a view to the version of the stream: it asks the server, unless a state comes meanwhile. */
    const catchUp = async (view) => {
      for (let i = 0; shown.has(view) && lacks(view, presence.cursor(topic)); i++) {
        if (presence.cursor(topic) || presence.live === "off") {
          const from = view.items && view.cursor;
          const data = await read(topic, from ? { cursor: from } : {});
          if (!data) return;
          const cursor = presence.cursor(topic);
          // If the answer had another version than the stream, the next event would undo or repeat a change.
          if ((data.cursor === cursor || !cursor) && lacks(view, cursor)) {
            view.cursor = data.cursor;
            view.take(data.prev && data.prev === from ? "diff" : "state", data);
            count(data);
            return paint();
          }
        }
        await new Promise((wake) => setTimeout(wake, AGAIN * 2 ** Math.min(i, TRIES)));
      }
    };

    for (const type of ["state", "diff"]) presence.on(type, (data) => take(type, data));
    presence.on("sync", () => live());
    presence.on("live", (_, signedOut) => live(signedOut));

    return {
      add(view, part) {
        check();
        shown.set(view, part);
        if (unread === undefined) ({ unread, unseen } = view);
        queueMicrotask(() => {
          live();
          catchUp(view);
        });
      },

      /** Takes the answer to a request that marked items. Without a stream, only this answer has the new numbers. */
      told(data) {
        if (presence.live === "on") return;
        count(data);
        paint();
      },

      /** Closes the feed once none of its views is in the page. */
      review() {
        for (const [view, part] of shown) if (!part.isConnected) shown.delete(view);
        if (shown.size) return;
        presence.close();
        feeds.delete(topic);
      },
    };
  };

  /** Makes a view follow a feed, as long as its part is in the page. */
  const follow = (topic, part, view) => {
    if (!feeds.has(topic)) feeds.set(topic, openFeed(topic, view));
    feeds.get(topic).add(view, part);
  };

  const tools = { ...script, age, fill: fillers(age), read, post, follow };
  const shows = Object.keys(views);
  let coming; // elements that came in this turn of the event loop

  return {
    /** Keeps an element live until it leaves the page. @param {HTMLElement} element a <presence-part> with a data-feed */
    keep(element) {
      if (elements.has(element)) return;
      elements.add(element);
      grow();
      if (coming) return coming.push(element);
      coming = [element];
      setTimeout(() => {
        // Lists come first: a page renders its list after its bell, so the numbers of the list are newer.
        const all = coming.sort((a, b) => shows.indexOf(a.dataset.show) - shows.indexOf(b.dataset.show));
        coming = undefined;
        for (const each of all) {
          if (each.isConnected && views[each.dataset.show]) follow(each.dataset.feed, each, views[each.dataset.show](each, tools));
        }
      }, 0);
    },
  };
}
