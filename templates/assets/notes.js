// The list of notifications. New items wait while the visitor is busy in the list, or has
// scrolled down. Items that are read or archived elsewhere change in their place.

import { attended, onAttend } from "./attend.js";
import { number } from "./bell.js";
import { Items } from "./items.js";
import { element, fill, setState } from "./slots.js";
import { still } from "./still.js";

/** The state that a button sets, by the button's value. Other buttons, such as for mutes, post their form as usual. */
const DOES = { read: "read", unread: "unread", archive: "archived" };

/** Returns how many items wait: those that are not shown yet, or now belong at a higher place. */
export const waiting = (items, places) => [...items].filter(({ id, pos }) => places.get(id) !== pos).length;

/**
 * Keeps a list live.
 * @param {HTMLElement} part a <presence-part> with a list
 * @param {import("./inbox.js").Tools} tools
 * @returns {import("./inbox.js").View}
 */
export function listView(part, tools) {
  const { locale, fill: by, post } = tools;
  const topic = part.dataset.feed;
  const words = JSON.parse(part.dataset.words);
  const find = (selector) => part.querySelector(selector);
  const list = find(".presence-items");
  const template = find("template");
  const button = find(".presence-fresh");
  const said = find("p.presence-said");
  const before = number(part.dataset.before); // set on an older page, which gets no new items
  const items = new Items();
  let numbers = {};
  let seen = 0; // the highest place that was marked as seen
  let inView = false;
  let plain; // a form that the browser posts as usual

  const rows = () => new Map([...list.children].map((row) => [row.dataset.item, row]));
  /** The places of the rows as they are shown, by id. @type {Map<string, number>} */
  const places = new Map();

  for (const time of list.querySelectorAll("[data-slot~=time][datetime]")) tools.age(time);
  const start = [...rows()].map(([id, { dataset }]) => ({ id, pos: +dataset.pos, state: dataset.state }));
  items.reset({ items: start, cursor: part.getAttribute("cursor") ?? "", more: before > 0 || !!find(".presence-more") });
  for (const { id, pos } of start) places.set(id, pos);

  const busy = still(list, () => paint());
  const scrolled = () => part.getBoundingClientRect().top < 0 && scrollY > 0;

  /** Shows the items. @param {boolean} [now] whether to show waiting items too */
  const paint = (now) => {
    const known = rows();
    const held = !now && busy();
    for (const [id, row] of known) {
      if (items.all.has(id)) continue;
      if (held) setState(row, "archived"); // the row is removed when the visitor is not busy any more
      else remove(row);
    }
    const all = [...items.all.values()];
    const news = before ? 0 : waiting(all, places);
    const wait = news > 0 && !now && (held || scrolled());
    if (news && !wait) insert(all);
    const text = wait ? locale.text(words.fresh, news) : "";
    button.hidden = !wait;
    if (button.textContent !== text) said.textContent = button.textContent = text;
    summary();
    look();
  };

  /** Puts all rows in order. */
  const insert = (all) => {
    const known = rows();
    const focused = list.querySelector(":focus");
    all.forEach((item, at) => {
      const row = known.get(item.id) ?? element(template, item, by);
      places.set(item.id, item.pos);
      if (list.children[at] !== row) list.insertBefore(row, list.children[at] ?? null);
    });
    focused?.focus({ preventScroll: true }); // moving a row takes the focus from it
  };

  /** Removes a row. If the row had the focus, a row near it gets the focus. */
  const remove = (row) => {
    const near = row.matches(":focus-within") && (row.nextElementSibling ?? row.previousElementSibling);
    const lost = row.matches(":focus-within");
    places.delete(row.dataset.item);
    row.remove();
    if (!lost) return;
    if (!near) list.tabIndex = -1;
    ((near && near.querySelector("a[href], button:not([hidden])")) || list).focus();
  };

  const summary = () => {
    const { unread } = numbers;
    const known = items.cursor !== "";
    for (const name of ["unread", "unseen"]) {
      if (numbers[name] === undefined) delete part.dataset[name];
      else part.dataset[name] = numbers[name];
    }
    const figure = find("[data-count=unread]");
    if (figure) {
      figure.value = unread ?? "";
      figure.textContent = unread === undefined ? "" : locale.number(unread);
      if (unread !== undefined) figure.nextElementSibling.textContent = locale.text(words.count, unread);
    }
    find(".presence-empty").hidden = !known || list.childElementCount > 0;
    find(".presence-unknown").hidden = known || list.childElementCount > 0;
    const all = find(".presence-all");
    if (all) {
      all.elements.upto.value = Math.max(0, ...places.values());
      for (const each of all.querySelectorAll("button")) each.disabled = !unread;
    }
  };

  /** Marks the shown items as seen, once, if the visitor is at the page. */
  const look = () => {
    const upto = Math.max(0, ...places.values());
    if (!inView || !attended() || !numbers.unseen || upto <= seen || before) return;
    const was = seen;
    seen = upto;
    post(topic, { as: "seen", upto }).catch(() => (seen = was));
  };

  /** Returns the items that a form is about, and their new state; undefined if the browser should post the form. */
  const wanted = (form, does) => {
    const as = DOES[does];
    if (!as) return;
    const { upto, pos } = form.elements;
    return upto ? { as, upto: +upto.value } : pos && { as, pos: [+pos.value] };
  };

  /** Shows at once the change that the server has made. */
  const done = ({ as, upto = 0, pos = [] }) => {
    for (const [id, row] of rows()) {
      const item = items.all.get(id);
      if (!item || !(item.pos <= upto || pos.includes(item.pos))) continue;
      const focused = row.querySelector(":focus");
      if (as === "archived") items.all.delete(id);
      else items.all.set(id, { ...item, state: as });
      setState(row, as);
      // With the keyboard, the next row may take the place at once. Under a pointer that would surprise.
      if (as === "archived" && focused?.matches(":focus-visible")) remove(row);
    }
    paint();
  };

  part.addEventListener("submit", async (e) => {
    const { target: form, submitter } = e;
    const what = wanted(form, submitter?.value);
    if (!what || form === plain) return;
    e.preventDefault();
    if (form.ariaBusy) return;
    form.ariaBusy = "true";
    try {
      await post(topic, what);
      done(what);
    } catch (why) {
      const ours = tools.isOurs(why);
      if (ours && why.status === 401) return location.reload(); // another user has signed in since, whose items the form would mark
      // Something between may refuse this request and take the form, such as a CSRF check. In an outage the visitor stays at the page.
      if (!ours && (part.dataset.live !== "on" || !/^(0|4(?!04))/.test(why.status))) return;
      plain = form;
      form.requestSubmit(submitter);
      plain = undefined;
    } finally {
      form.ariaBusy = null;
    }
  });

  // A visitor who follows a link has read its item.
  list.addEventListener("click", ({ target }) => {
    const row = target.closest("[data-slot~=link][href]")?.closest("[data-item]");
    const item = row && items.all.get(row.dataset.item);
    if (item?.state === "unread") post(topic, { as: "read", pos: [item.pos] }).catch(() => {});
  });

  button.addEventListener("click", () => {
    paint(true);
    list.querySelector("a[href], button:not([hidden])")?.focus({ preventScroll: true });
    part.scrollIntoView({ block: "nearest" });
  });
  addEventListener("scroll", () => button.hidden || scrolled() || paint(), { passive: true });
  try {
    new IntersectionObserver((entries) => {
      inView = entries.at(-1).isIntersecting;
      look();
    }).observe(part.firstElementChild);
  } catch {
    inView = true; // the browser does not say
  }
  onAttend(() => part.isConnected && look());

  return {
    cursor: items.cursor,
    unread: number(part.dataset.unread),
    unseen: number(part.dataset.unseen),
    items: true,

    take(type, data) {
      const { changed, fresh } = items.apply(before && type === "state" ? "diff" : type, data);
      if (before) for (const { id } of fresh) items.all.delete(id);
      const known = rows();
      for (const item of [...changed, ...fresh]) if (known.has(item.id)) fill(known.get(item.id), item, by);
      const more = find(".presence-more a");
      if (more && type === "state" && !before) {
        more.closest(".presence-more").hidden = !data.more;
        const url = new URL(more.href);
        url.searchParams.set("before", items.floor);
        more.href = url.pathname + url.search;
      }
      paint();
    },

    paint(now) {
      numbers = now;
      summary();
      look();
    },

    clear() {
      items.reset();
      numbers = {};
      seen = 0;
      places.clear();
      list.replaceChildren();
      button.hidden = true;
      said.textContent = button.textContent = "";
      summary();
    },
  };
}
