// <online-dot>, <last-seen> and <online-count>. Loaded by pages that have one. All elements of
// a topic share one connection, which follows their users beside the newest users of the topic.
// Together they ask the server about users of whom they know nothing.

import { insist, queries } from "./asking.js";
import { loadPeople } from "./parts.js";

const MOST = 500; // the most users that a connection follows beside the newest of its topics
const MAX_ID = 128; // bytes
const SOON = 20; // ms to collect elements, which come in groups
const AGE = 10_000; // ms between two updates of texts such as "5 minutes ago"

const MINUTE = 60_000; // ms
const HOUR = 3_600_000;
const DAY = 86_400_000;

/**
 * Returns the text for a time that is ms ago. The server has the same rules, in lastseen.go.
 * @param {Record<"minutes" | "hours" | "days", import("./texts.js").Plural> & {justNow: string}} texts
 * @param {import("./texts.js").Locale} locale
 */
export function ago(texts, locale, ms) {
  if (ms < MINUTE) return texts.justNow;
  if (ms < HOUR) return locale.text(texts.minutes, Math.floor(ms / MINUTE));
  if (ms < DAY) return locale.text(texts.hours, Math.floor(ms / HOUR));
  return locale.text(texts.days, Math.floor(ms / DAY));
}

/**
 * Follows users beside the newest of a topic, over a connection.
 * @param {typeof import("./connect.js").connect} connect
 * @param {() => Iterable<string>} ids
 */
function along(connect, src, ids) {
  let client;
  let list; // the users whom the client follows
  let due; // the timer of a review
  return {
    /** To call when the ids have changed. */
    review() {
      due ??= setTimeout(() => {
        due = undefined;
        const wanted = [...ids()].filter(isID).sort().slice(0, MOST).map((id) => id + "\nalso");
        if ("" + wanted === "" + list) return;
        list = wanted;
        const before = client;
        client = wanted.length ? connect({ topics: wanted, src, limit: 0 }) : undefined;
        before?.close(); // after the new client is open, so that users in both stay known
      }, SOON);
    },
    end() {
      clearTimeout(due);
      client?.close();
    },
  };
}

/** Whether an id is valid. The server would refuse a list with an invalid id. */
const isID = (id) => /^\P{Cc}+$/u.test(id) && new TextEncoder().encode(id).length <= MAX_ID;

/**
 * Keeps the elements of a topic live. Elements with a data-presence-dot or a data-presence-seen
 * show a user. All others show the number of users.
 * @param {import("./connect.js").Presence & {moved?: boolean}} presence follows the topic; moved: it had events since the page was rendered
 * @param {import("./marks.js").Script["site"]} site if its people has data-people, dots show what this visitor may see of users, and not only what everybody may
 * @param {import("./marks.js").Script} script
 */
export function openDots(presence, { topic, src, texts, people }, script) {
  const { get, shown, locale } = script;
  /** @type {Map<string, Set<HTMLElement>>} by user id */
  const marks = new Map();
  /** @type {Set<HTMLElement>} */
  const counts = new Set();
  /** Ids to ask for. */
  const unknown = new Set();
  /**
   * The latest question about each user, by id. It goes as soon as the page hears of the user: then an answer is out of date.
   * @type {Map<string, object>}
   */
  const asked = new Map();
  let aging;
  /** The users of dots whom this visitor sees online, by id. @type {Map<string, import("./connect.js").User>} */
  const seen = new Map();
  let watching; // follows the users of the elements
  let ended = false;

  const write = (element, text) => {
    if (element.textContent !== text) element.textContent = text;
  };

  /** Shows when a user was last seen. @param {string} [at] empty: the user is online, or the time is not known */
  const date = (element, at = "", text = "") => {
    const time = new Date(at);
    if (isNaN(time)) at = "";
    element.setAttribute("datetime", at);
    element.title = at && time.toISOString().slice(0, 16).replace("T", " ") + " UTC";
    write(element, at ? ago(texts, locale, Date.now() - time) : text);
  };

  /** Updates the texts of last seen at intervals, as long as there are any. */
  const age = () => {
    aging ??= setTimeout(() => {
      aging = undefined;
      for (const element of [...marks.values()].flatMap((all) => [...all])) {
        const at = element.dataset.presenceSeen && element.getAttribute("datetime");
        if (at) write(element, ago(texts, locale, Date.now() - Date.parse(at)));
        if (element.dataset.presenceSeen) age();
      }
    }, AGE);
  };

  /** Shows a user. For an offline user, an undefined lastSeen means that the server may know it; empty: the server does not. */
  const show = (id, status, lastSeen) => {
    status = seen.get(id)?.status ?? status;
    for (const element of marks.get(id) ?? []) {
      if ("presenceDot" in element.dataset) {
        element.dataset.status = status;
        element.title = element.ariaLabel = texts.status[status];
      } else if (status !== "offline") date(element, "", texts.onlineNow);
      else if (lastSeen || !element.getAttribute("datetime")) {
        date(element, lastSeen);
        if (lastSeen === undefined) ask([id]);
      }
    }
  };

  /** Asks about users, together about all ids of a turn of the event loop. */
  const ask = (ids) => {
    if (!unknown.size) setTimeout(fetchUnknown, 0);
    for (const id of ids) unknown.add(id);
  };

  const fetchUnknown = async () => {
    const question = {};
    for (const id of unknown) asked.set(id, question);
    const all = queries("id", unknown, { topic });
    unknown.clear();
    for (const query of all) {
      const answer = await insist(get, `${src}/users?${query}`, "users", () => !ended);
      for (const [id, { online, status, last_seen = "" }] of Object.entries(answer.users ?? {})) {
        if (asked.get(id) === question) tell(id, online ? shown(status) : "offline", last_seen);
      }
    }
  };

  const tell = (id, status, lastSeen) => {
    asked.delete(id);
    show(id, status, lastSeen);
  };

  const count = (element) => {
    const { total } = presence.counts(topic);
    if (total === undefined) return;
    element.setAttribute("value", total);
    write(element, locale.number(total));
  };

  /** Shows a user as this visitor may see the user. Without a user: as everybody may see the user. */
  const see = (id, user, lastSeen) => {
    if (user) seen.set(id, user);
    else if (!seen.delete(id)) return;
    show(id, presence.roster(topic).get(id)?.status ?? "offline", lastSeen);
  };

  const only = (users) => {
    for (const id of seen.keys()) if (!Object.hasOwn(users, id)) see(id, undefined, "");
  };

  if (people?.includes("data-people")) {
    loadPeople(script).then((page) => {
      if (!ended) watching = page.join({ ids: () => marks.keys(), put: see, only });
    });
  } else watching = along(script.connect, src, () => marks.keys());

  const isOffline = (element) => element.dataset.status === "offline" || element.getAttribute("datetime");
  const idOf = ({ dataset }) => dataset.presenceDot ?? dataset.presenceSeen;

  const all = {
    add(element) {
      const id = idOf(element);
      if (id === undefined) {
        counts.add(element);
        // Without a connection the known number may be older than the one that the server has rendered.
        if (presence.live === "on" || !element.getAttribute("value")) count(element);
        return;
      }
      const dated = "presenceSeen" in element.dataset;
      if (!marks.has(id)) marks.set(id, new Set());
      marks.get(id).add(element);
      watching?.review();
      if (dated) age();
      const user = seen.get(id) ?? presence.roster(topic).get(id);
      const at = dated && element.getAttribute("datetime");
      if (user) show(id, user.status);
      else if (at && !element.textContent) date(element, at);
      else if (dated ? at === null : !element.dataset.status) ask([id]);
    },

    remove(element) {
      const id = idOf(element);
      counts.delete(element);
      marks.get(id)?.delete(element);
      if (!marks.get(id)?.size) marks.delete(id);
      watching?.review();
    },

    /** To call when the last element has left the page. */
    end() {
      ended = true;
      watching?.end();
    },

    // The events of presence:
    join: (id, { status }) => tell(id, status),
    change: (id, { status }) => tell(id, status),
    leave: (id, { last_seen }) => tell(id, "offline", last_seen),
    state({ users, truncated }) {
      const absent = [...marks.keys()].filter((id) => !Object.hasOwn(users, id) && !seen.has(id));
      if (truncated) ask(absent.filter((id) => [...marks.get(id)].some((element) => !isOffline(element))));
      else {
        const again = absent.filter((id) => asked.has(id)); // for when they were last seen
        for (const id of absent) tell(id, "offline");
        if (again.length) ask(again);
      }
    },
    sync() {
      for (const element of counts) count(element);
    },
  };
  for (const type of ["join", "change", "leave", "state", "sync"]) presence.on(type, (...what) => all[type](...what));
  // The elements may still show users who left before this was loaded.
  if (presence.moved) setTimeout(() => ask([...marks.keys()].filter((id) => !presence.roster(topic).has(id))), 0);
  return all;
}
