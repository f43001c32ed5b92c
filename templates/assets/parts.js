// Updates elements once a minute: parts of the page that the server renders, and the numbers of
// users in topics that the page does not follow. The page does not follow a topic only to show
// its number, because that would make the visitor present there.

const MINUTE = 60_000; // ms between two updates, about
const TIMEOUT = 30_000; // ms
const AGAIN = 10_000; // ms before a module that did not load is asked for again
const SOON = 5000; // ms, at least, from a join until the page asks where the user is

import { announce } from "./announce.js";
import { deadline, insist, isOurs, queries } from "./asking.js";
import { ago } from "./dots.js";

/** The elements on the page. @type {Set<HTMLElement>} */
const kept = new Set();
/** By <online-count>, the number in a widget of the same topic, if there is one. @type {WeakMap<HTMLElement, HTMLDataElement>} */
const figures = new WeakMap();
/** The parts for which soon has started a timer. */
const pending = new WeakSet();
let running;

/** Loads a module, again and again until it comes. */
const loaded = (load) => load().catch(() => new Promise((wake) => setTimeout(wake, AGAIN)).then(() => loaded(load)));

/** Loads the module for people. @param {import("./marks.js").Script} script */
export const loadPeople = (script) => loaded(() => import("./people.js")).then(({ peopleOf }) => peopleOf({ ...script, announce, ago, insist, queries }));

/** Loads the module for feeds of items. @param {import("./marks.js").Script} script */
const loadInbox = (script) => loaded(() => import("./inbox.js")).then(({ inboxOf }) => inboxOf({ ...script, ago, insist, isOurs }));

/** Loads the module for signals. @param {import("./marks.js").Script} script */
export const loadSignals = (script) => loaded(() => import("./signals.js")).then(({ signalsOf }) => signalsOf({ ...script, announce }));

/** Whether an element shows signals. */
export const isSignals = ({ dataset }) => /^(typing|editors)$/.test(dataset.show);

/**
 * Keeps an element up to date until it leaves the page. The src of a <presence-part> is the
 * address of its content. The src of an <online-count>, and of a <presence-part> that shows
 * signals, people or a feed, is the path of the handlers.
 * @param {HTMLElement} element
 * @param {import("./texts.js").Locale} locale
 * @param {import("./marks.js").Script} script
 */
export function keep(element, locale, script) {
  if (isSignals(element)) return loadSignals(script).then((signals) => signals.keep(element));
  if (element.dataset.people) return loadPeople(script).then((people) => people.keep(element));
  if (element.dataset.feed) return loadInbox(script).then((inbox) => inbox.keep(element));
  kept.add(element);
  if (isCount(element)) follow(element);
  else if (isAbout(element)) element.closest("whos-online")?.addEventListener("presence:join", soon);
  running ??= run(locale);
}

const isCount = (element) => element.localName === "online-count";
/** Whether the content of a part belongs beside the names of the widget around it. */
const isAbout = (part) => "about" in part.dataset;

/** Updates all elements once a minute. In a hidden page it waits until the page is in view again. */
async function run(locale) {
  for (;;) {
    await new Promise((wake) => setTimeout(wake, MINUTE * (0.75 + Math.random() / 2))); // at random, so that not all browsers ask at once
    while (document.hidden) await new Promise((wake) => document.addEventListener("visibilitychange", wake, { once: true }));
    for (const element of kept) if (!element.isConnected) kept.delete(element);
    const all = [...kept];
    const updates = [...all.filter((element) => !isCount(element)).map(refresh), count(all.filter(isCount), locale)];
    await Promise.all(updates.map((update) => update.catch(reportError))); // a part that fails ends no other
  }
}

/** Asks the server for JSON. Returns undefined or false without a good answer. */
async function ask(url) {
  try {
    const response = await fetch(url, { signal: deadline(), redirect: "manual" });
    return response.ok && (await response.json());
  } catch {}
}

/**
 * Loads HTML, and returns its body. Returns undefined without a good answer. The browser parses the answer, so that
 * no string becomes HTML, which Trusted Types would refuse. Scripts in it do not run.
 */
const load = (url) =>
  new Promise((done) => {
    const request = new XMLHttpRequest();
    request.onloadend = () => done(request.status === 200 && request.getResponseHeader("Presence-Answer") ? request.response?.body : undefined);
    request.open("GET", url);
    request.responseType = "document";
    request.timeout = TIMEOUT;
    request.send();
  });

/** Whether the visitor has the focus in an element, or has selected something in it. */
function busy(element) {
  const selection = getSelection();
  return element.contains(document.activeElement) || (selection?.isCollapsed === false && selection.containsNode(element, true));
}

/** Replaces the content of an element, if it differs and the visitor is not busy there. */
function fill(element, fresh) {
  const same = element.cloneNode();
  same.replaceChildren(...fresh.childNodes);
  if (!element.isEqualNode(same) && !busy(element)) element.replaceChildren(...same.childNodes);
}

async function refresh(part) {
  const fresh = await load(part.getAttribute("src"));
  if (!fresh || !part.isConnected) return;
  if (!isAbout(part)) return fill(part, fresh);
  const abouts = new Map([...fresh.querySelectorAll("[data-about]")].map((about) => [about.dataset.about, about]));
  for (const item of part.closest("whos-online").querySelectorAll("[data-user]")) {
    const about = item.querySelector(".presence-about");
    if (about) fill(about, abouts.get(item.dataset.user) ?? document.createElement("i"));
  }
}

/** Soon updates the places in a widget, after a user came into it. */
function soon({ currentTarget }) {
  const part = currentTarget.querySelector("presence-part[data-about]");
  if (!part || pending.has(part)) return;
  pending.add(part);
  setTimeout(() => {
    pending.delete(part);
    if (!document.hidden) refresh(part);
  }, SOON * (1 + Math.random()));
}

const show = (element, value, text) => {
  element.setAttribute("value", value);
  if (element.textContent !== text) element.textContent = text;
};

/** Makes a count show the live number of a widget of the same topic, if the page has one. */
function follow(element) {
  const figure = document.querySelector(`whos-online[topic="${element.getAttribute("topic")}"] [data-count=online]`);
  if (!figure) return;
  const copy = () => figure.value && show(element, figure.value, figure.textContent);
  try {
    new MutationObserver(copy).observe(figure, { attributes: true });
    figures.set(element, figure);
    copy();
  } catch {} // the page asks for the number instead
}

/** Brings counts up to date. */
async function count(elements, locale) {
  const counts = elements.filter((element) => !figures.get(element)?.isConnected);
  // Sorted, so that equal requests have equal addresses: elements come in no fixed order.
  const topics = [...new Set(counts.map((element) => element.getAttribute("topic")))].sort();
  for (const query of queries("topic", topics)) {
    const answer = await ask(`${counts[0].getAttribute("src")}/counts?${query}`);
    for (const element of counts) {
      const { total } = answer?.topics?.[element.getAttribute("topic")] ?? {};
      if (total >= 0) show(element, total, locale.number(total));
    }
  }
}
