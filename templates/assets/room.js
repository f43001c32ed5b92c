// Keeps a room live, such as the posts of a thread. New items are added at the end of the list
// that the site has rendered. Items that are edited or removed change in their place.

import { attended, onAttend } from "./attend.js";
import { number } from "./bell.js";
import { element, fill } from "./slots.js";

const HOLD = 30_000; // ms after which a pointer or focus that rests below the list does not hold the list any more
const SETTLE = 1000; // ms to collect events that come together, such as a post and the notification about it
const PAGE = 100; // items in one request for items that a state left out
const PAGES = 10; // such requests, at most

/**
 * Returns the place up to which notifications about a room may be marked as read. The page shows
 * the posts of all unread notifications up to that place. 0: there are none.
 * @param {Iterable<import("./connect.js").Item>} items
 * @param {string} about
 * @param {(url?: string) => boolean} shows whether the page shows what an address leads to
 */
export function readUpto(items, about, shows) {
  let upto = 0;
  for (const item of [...items].sort((a, b) => a.pos - b.pos)) {
    if (item.state !== "unread" || item.about !== about) continue;
    if (!shows(item.url)) break;
    upto = item.pos;
  }
  return upto;
}

/**
 * Keeps a room live.
 * @param {HTMLElement} part a <presence-part> of a room
 * @param {import("./inbox.js").Tools} tools
 * @returns {import("./inbox.js").View}
 */
export function roomView(part, tools) {
  const { locale, site, fill: by, post, read, follow } = tools;
  const topic = part.dataset.feed;
  const words = JSON.parse(part.dataset.words);
  const list = document.getElementById(part.dataset.list) ?? part.querySelector(".presence-room-items");
  const template = document.getElementById(part.dataset.template);
  const button = part.querySelector(".presence-fresh");
  const said = part.querySelector("p.presence-said");
  /** New items that are not shown yet, by id. @type {Map<string, import("./connect.js").Item>} */
  const waiting = new Map();
  let top = number(part.dataset.pos) ?? (part.hasAttribute("cursor") ? 0 : -1); // the highest known place; -1: unknown until the next state
  /** The ids of removed items. An answer to an earlier request may still have such an item. */
  const removed = new Set();
  let added = 0; // items since the last announcement
  let telling; // the timer of tell
  let pointed; // the element under the pointer
  let rested = 0; // until then, the pointer or the focus holds the list
  let trying; // the timer of show

  /** Returns the element of an item, whether the site or this script made it. */
  const find = (id) => {
    const row = list.querySelector(`[data-item="${CSS.escape(id)}"]`) ?? document.getElementById(id);
    return row && list.contains(row) ? row : null;
  };

  /** Whether a node is below the list, and so would move if the list grew. */
  const below = (node) => node && !list.contains(node) && !part.contains(node) && (list.compareDocumentPosition(node) & Node.DOCUMENT_POSITION_FOLLOWING) > 0;

  const busy = () => Date.now() < rested && (below(pointed) || below(document.activeElement));

  for (const type of ["pointermove", "focusin", "keydown", "pointerdown"]) {
    document.addEventListener(type, ({ target }) => {
      if (/pointer/.test(type)) pointed = target;
      rested = Date.now() + HOLD;
      if (waiting.size && !busy()) show();
    }, { passive: true });
  }
  document.documentElement.addEventListener("pointerleave", () => {
    pointed = undefined;
    if (waiting.size && !busy()) show();
  });

  /** Takes an item. If the page does not show it, it is new if its place is above from. */
  const put = (item, from) => {
    const row = find(item.id);
    if (item.state === "removed") {
      removed.add(item.id);
      waiting.delete(item.id);
      if (row) remove(row);
    } else if (row) fill(row, item, by);
    else if (item.pos > from || waiting.has(item.id)) waiting.set(item.id, item);
  };

  /** Removes an item. If it has a place for a text, it stays with a note that it was removed. */
  const remove = (row) => {
    const [text] = row.querySelectorAll("[data-slot~=paragraphs],[data-slot~=text]");
    if (!text || !words.removed) return row.remove();
    row.dataset.state = "removed";
    text.textContent = words.removed;
  };

  /** Shows the waiting items, unless the visitor is busy below the list. @param {boolean} [now] shows them in any case */
  const show = (now) => {
    clearTimeout(trying);
    const wait = !now && waiting.size > 0 && busy();
    if (wait) trying = setTimeout(show, Math.max(0, rested - Date.now()));
    else {
      for (const item of [...waiting.values()].sort((a, b) => a.pos - b.pos)) {
        const after = [...list.querySelectorAll(":scope > [data-pos]")].find(({ dataset }) => +dataset.pos > item.pos);
        list.insertBefore(element(template, item, by), after ?? null);
      }
      waiting.clear();
    }
    button.hidden = !wait;
    button.textContent = wait ? locale.text(words.fresh, waiting.size) : "";
    mark();
  };

  /** Soon tells screen readers how many items are new. */
  const tell = (n) => {
    added += n;
    if (!n) return;
    telling ??= setTimeout(() => {
      telling = undefined;
      said.textContent = locale.text(words.fresh, added);
      added = 0;
    }, SETTLE);
  };

  /** Adds items whose place is above from, and updates items that the page shows already. */
  const take = (items, from = top) => {
    const before = waiting.size;
    for (const item of items) put(item, from);
    top = Math.max(top, ...items.map(({ pos }) => pos));
    tell(Math.max(0, waiting.size - before));
    show();
  };

  /** Takes a state, and asks for the items between the state and the highest known place. */
  const state = async ({ items = [], more }) => {
    if (top < 0) top = Math.max(0, ...items.map(({ pos }) => pos));
    const from = top;
    let lowest = more ? Math.min(...items.map(({ pos }) => pos)) : 0;
    // Items on the page with a place in the range of the state, but not in the state, are gone.
    const ids = new Set(items.map(({ id }) => id));
    for (const row of list.querySelectorAll("[data-item][data-pos]")) {
      const { item, pos } = row.dataset;
      if (+pos >= lowest && !ids.has(item)) remove(row);
    }
    take(items);
    for (let i = 0; more && lowest > from + 1 && i < PAGES; i++) {
      const page = await read(topic, { before: lowest, limit: PAGE });
      const older = (page?.items ?? []).filter(({ id, pos }) => pos > from && !removed.has(id) && !waiting.has(id) && !find(id));
      take(older, from);
      more = page?.more;
      lowest = Math.min(lowest, ...(page?.items ?? []).map(({ pos }) => pos));
    }
  };

  // While the visitor is at the page, the visitor reads the room. So notifications about its posts are marked as read.
  const about = part.dataset.about ?? topic.replace(/^feed:/, "");
  /** @type {Map<string, import("./connect.js").Item>} */
  const inbox = new Map();
  let marking;
  let upto = 0; // the place up to which items were marked

  const shows = (url = "") => {
    try {
      const { hash, pathname } = new URL(url, document.baseURI);
      return !hash || pathname !== location.pathname || !!document.getElementById(decodeURIComponent(hash.slice(1)));
    } catch {
      return true; // an address that no browser reads, such as one with #%ff, leads nowhere on this page
    }
  };

  const mark = () => {
    if (!inbox.size) return;
    marking ??= setTimeout(() => {
      marking = undefined;
      const pos = readUpto(inbox.values(), about, shows);
      if (!part.isConnected || !attended() || pos <= upto || part.dataset.live !== "on") return;
      const was = upto;
      upto = pos;
      post("inbox", { as: "read", about, upto: pos }).catch(() => (upto = was));
    }, SETTLE);
  };

  if (about && site.me) {
    onAttend(mark);
    follow("inbox", part, {
      quiet: true,
      take(type, { items = [] }) {
        for (const item of items) {
          if (item.about !== about) continue;
          if (item.state === "unread") inbox.set(item.id, item);
          else inbox.delete(item.id);
        }
        mark();
      },
      paint() {},
      clear: () => inbox.clear(),
    });
  }

  button.addEventListener("click", () => {
    const first = Math.min(...[...waiting.values()].map(({ pos }) => pos));
    show(true);
    const row = list.querySelector(`[data-pos="${first}"]`);
    row?.scrollIntoView({ block: "nearest" });
    (row?.querySelector("a[href]") ?? row)?.focus?.({ preventScroll: true });
  });

  return {
    cursor: part.getAttribute("cursor") ?? "",
    items: true,
    take: (type, data) => (type === "state" ? state(data) : take(data.items ?? [])),
    paint() {},
    clear() {},
  };
}
