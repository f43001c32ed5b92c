// Who else edits the same thing: the other users in a topic that pages follow while they edit.
// The element says that nobody else edits only while that is certain.

import { isolated, listening, sentence, show } from "./words.js";

const LOST = 3000; // ms without a connection before the element says so
const OWN = 5000; // ms after a form was sent for which the page shows no newer version: that may be its own, and a new page loads
const MOST = 10; // editors that are shown by name
const DAY = 86_400_000; // ms

/** Returns the editors in the order in which they came. @param {Iterable<[string, import("./connect.js").User]>} users */
export function inOrder(users) {
  const at = ([, { since }]) => Date.parse(since ?? "9999");
  return [...users].sort((a, b) => at(a) - at(b) || (a[0] < b[0] ? -1 : 1));
}

/** Returns the text of a time, with the date if it is more than a day ago. */
export const clock = (at, lang) =>
  Date.now() - at < DAY ? at.toLocaleTimeString(lang, { timeStyle: "short" }) : at.toLocaleString(lang, { dateStyle: "short", timeStyle: "short" });

/**
 * Keeps the element live.
 * @param {HTMLElement} part a <presence-part> as the server rendered it
 * @param {import("./signals.js").Tools} tools
 * @returns {() => void} ends it
 */
export function editorsView(part, { connect, site, locale, announce }) {
  const topic = part.dataset.feed;
  const { texts } = site;
  const words = JSON.parse(part.dataset.words);
  const [list, more, nobody, unknown, saved, said] = ["editing", "more", "nobody", "unknown", "saved", "said"].map((name) => part.querySelector(".presence-" + name));
  const [listen, deafen] = listening();
  const came = new Map(); // when the page first saw an editor who has no since, by id
  let heard = false; // the roster was known once
  let losing; // the timer of lost
  let revision = +(part.dataset.revision ?? 0); // the newest that the page knows
  let sent = -Infinity; // when a form of the page was sent
  let news; // a newer version that is not shown yet

  const fire = (type, detail) => part.dispatchEvent(new CustomEvent("presence:" + type, { bubbles: true, detail }));

  const hide = (element, hidden) => {
    if (element.hidden !== hidden) element.hidden = hidden;
  };

  const timeOf = (since) => {
    const at = new Date(since);
    const time = document.createElement("time");
    if (isNaN(at)) return time;
    time.setAttribute("datetime", since);
    time.title = at.toISOString().slice(0, 16).replace("T", " ") + " UTC";
    time.textContent = clock(at, texts.lang);
    return time;
  };

  const item = ([id, { name, status, since }], owner) => {
    const li = document.createElement("li");
    li.dataset.editor = id;
    li.dataset.status = status;
    if (id === owner) li.dataset.owner = "";
    if (!since && !came.has(id)) came.set(id, new Date().toISOString());
    const [dot, text, away] = ["dot", "", "away"].map((what) => Object.assign(document.createElement("span"), { className: what && "presence-" + what }));
    if (!text.className) text.removeAttribute("class");
    dot.dataset.status = status;
    dot.setAttribute("aria-hidden", "true");
    text.append(...sentence(words.editing, { "{name}": isolated(name || id), "{time}": timeOf(since ?? came.get(id)) }));
    away.textContent = status === "away" ? texts.status.away : "";
    li.append(dot, " ", text, " ", away);
    return li;
  };

  const presence = connect({ topics: [topic], src: part.getAttribute("src") });

  /** Shows who else edits, if that is known. */
  const paint = (signedOut) => {
    const refused = presence.refused(topic);
    const live = presence.stale(topic) || refused ? "off" : presence.live;
    const was = part.dataset.live;
    part.dataset.live = live;
    if (live === "on" && presence.cursor(topic)) {
      const all = inOrder(presence.roster(topic));
      const others = all.filter(([id]) => id !== site.me);
      const total = Math.max(others.length, (presence.counts(topic).total ?? 0) - (all.length - others.length));
      show(list, others.slice(0, MOST).map((each) => item(each, all[0][0])));
      part.dataset.editors = total;
      const rest = total - Math.min(MOST, others.length);
      more.textContent = locale.text(texts.more, rest);
      hide(more, rest < 1);
      hide(nobody, total > 0);
      hide(unknown, true);
      heard = true;
      losing = clearTimeout(losing);
    } else {
      hide(nobody, true); // somebody may have come meanwhile
      if (heard || refused || signedOut !== undefined) part.dataset.editors = "unknown";
      if (refused || signedOut !== undefined) lost(signedOut);
      else losing ??= setTimeout(lost, heard ? LOST / 3 : LOST);
    }
    if (was !== live) fire("live", { topic, live });
  };

  const lost = (signedOut) => {
    part.dataset.editors = "unknown";
    unknown.textContent = signedOut ? texts.signedOut : words.unknown;
    hide(unknown, false);
  };

  /** Shows that there is a newer version, unless this page may have saved it. */
  const tell = () => {
    const wait = sent + OWN - Date.now();
    if (wait > 0) return setTimeout(tell, wait);
    if (!part.isConnected || !news) return;
    const box = saved.firstElementChild;
    show(box.querySelector(".presence-newer"), sentence(words.saved, { "{name}": isolated(news.name || words.somebody) }));
    hide(box, false);
    fire("saved", { topic, ...news });
  };

  presence.on("signal", ({ signals = [] }) => {
    for (const { type, from, data } of signals) {
      if (type !== "saved" || from) continue; // only the site may say so, and no user
      const newest = +(data?.revision ?? NaN);
      if (newest <= revision) continue;
      if (newest) revision = newest;
      news = { revision: newest || undefined, name: data?.name };
      tell();
    }
  });
  for (const type of ["join", "leave"]) {
    presence.on(type, (id, user) => {
      if (id === site.me) return;
      fire(type, { topic, id, ...user });
      if (heard) announce(said, locale, { joined: words.came, left: words.left }, false, id, user.name || id, type === "join");
    });
  }
  presence.on("sync", () => paint());
  presence.on("live", (_, signedOut) => paint(signedOut));
  listen(document, "submit", () => (sent = Date.now()));
  listen(globalThis, "pageshow", ({ persisted }) => {
    if (persisted) sent = -Infinity;
    paint();
  });

  for (const time of list.querySelectorAll("time")) time.textContent = clock(new Date(time.dateTime), texts.lang);
  paint();

  return () => {
    deafen();
    clearTimeout(losing);
    presence.close();
  };
}
