// The client, for the elements and for a site's own script. connect.d.ts documents it.

import { Roster } from "./roster.js";
import { openStream } from "./stream.js";

/** What presenceHead says about the site. The texts are in a separate script, which was loaded before this one. */
export const site = { texts: globalThis.presenceTexts, ...JSON.parse(document.querySelector("meta[name=presence]")?.content ?? '{"me":""}') };

/** The streams, by the path of the handlers. @type {Map<string, ReturnType<typeof openStream>>} */
const streams = new Map();
const all = (what) => streams.forEach(what);

/** Calls a method of each stream when something happens to the page. */
const heed = (method, ...types) => {
  for (const type of types) addEventListener(type, ({ persisted }) => all((stream) => stream[method](persisted === false)), { capture: true, passive: true });
};

heed("pause", "pagehide", "freeze"); // not unload: a listener would keep the page out of the back/forward cache
heed("resume", "pageshow", "resume", "online", "offline");
heed("look", "visibilitychange");
heed("input", "pointerdown", "pointermove", "keydown", "wheel");

/** Goes on as another user, for whom the server has rendered the elements that are on the page now; empty: a guest. */
export function become(user) {
  site.me = user;
  all((stream) => stream.become(user));
}

/** @type {typeof import("./connect.js").connect} */
export function connect({ topics = ["site"], src = site.src ?? "/presence", limit = 100, known } = {}) {
  // If the head has no selector, this looks for an element <undefined>, which no page has.
  if (!streams.has(src)) streams.set(src, openStream(src, site, document.querySelectorAll(site.people)));
  const stream = streams.get(src);
  const listeners = {};
  const tell = (type, ...args) => listeners[type]?.forEach((listener) => listener(...args));
  const refused = (topic) => stream.feeds.refused.split(",").includes(topic);
  const live = () => (topics.every(refused) ? "off" : stream.feeds.live);
  const watcher = {
    limit,
    onLive: (_, signedOut) => tell("live", live(), signedOut),
    onEvent(topic, type, data, changes) {
      for (const type in changes) for (const [id, user] of changes[type]) tell(type, id, user, topic);
      tell(type, data, topic);
      tell(data.cursor && "sync", topic); // signals change no roster
    },
  };
  const rosterOf = (topic) => rosters.get(topic) ?? new Roster();
  const rosters = new Map(topics.map((topic) => [topic, stream.follow(topic, watcher, known)]));
  // The users of a topic that other watchers have followed already join now.
  Promise.resolve().then(() => {
    for (const [topic, { users }] of known ? [] : rosters) {
      for (const [id, user] of users) tell("join", id, user, topic);
      if (users.size) tell("sync", topic);
    }
  });
  return {
    get live() {
      return live();
    },
    on(type, listener) {
      (listeners[type] ??= new Set()).add(listener);
      return () => listeners[type].delete(listener);
    },
    roster: (topic) => rosterOf(topic).users,
    counts: (topic) => rosterOf(topic).counts,
    stale: (topic) => rosterOf(topic).stale,
    cursor: (topic) => rosterOf(topic).cursor,
    refused,
    close() {
      for (const type in listeners) listeners[type].clear();
      for (const topic of rosters.keys()) stream.unwatch(topic, watcher);
      rosters.clear();
    },
  };
}
