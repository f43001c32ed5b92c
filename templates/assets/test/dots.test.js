import assert from "node:assert/strict";
import test, { mock } from "node:test";

import { pass, restart, server, turn } from "./browser.js";
import { connect } from "../connect.js";
import { ago, openDots } from "../dots.js";
import { get } from "../link.js";
import { shown } from "../roster.js";
import { openLocale } from "../texts.js";

const user = (status) => ({ name: "U", status, since: "2026-11-21T06:57:10Z" });

const texts = {
  status: { online: "online", away: "away", busy: "busy", offline: "offline" },
  onlineNow: "online now",
  justNow: "just now",
  minutes: { one: "{n} minute ago", other: "{n} minutes ago" },
  hours: { one: "{n} hour ago", other: "{n} hours ago" },
  days: { one: "{n} day ago", other: "{n} days ago" },
};

/** An element of the document, as far as the script uses it. */
class Element {
  title = "";
  writes = 0;
  #text;
  #attributes;

  constructor(dataset, text = "", attributes = {}) {
    this.dataset = dataset;
    this.#text = text;
    this.#attributes = attributes;
  }

  get textContent() {
    return this.#text;
  }

  set textContent(text) {
    this.#text = text;
    this.writes++;
  }

  getAttribute(name) {
    return this.#attributes[name] ?? null;
  }

  setAttribute(name, value) {
    this.#attributes[name] = String(value);
  }
}

const seenOf = (presenceSeen, text, datetime) => new Element({ presenceSeen }, text, datetime === undefined ? {} : { datetime });

/** What keeps the elements of a topic live, as presence.js opens it. */
function marksOf(t, { lang = "en", topic = "site", known = { cursor: "1" } } = {}) {
  const src = `/dots${Math.random()}`;
  const presence = connect({ src, topics: [topic], limit: 0, known });
  t.after(() => presence.close());
  return { presence, src, marks: openDots(presence, { src, topic, texts }, { connect, get, shown, locale: openLocale(lang) }) };
}

/** Dots for ids. */
function dotsOf(t, ...ids) {
  const { marks } = marksOf(t);
  const all = ids.map((presenceDot) => new Element({ presenceDot, status: "online" }));
  for (const dot of all) marks.add(dot);
  return { marks, shows: () => all.map(({ dataset, title }) => [dataset.presenceDot, dataset.status, title].join(" ")) };
}

const asked = () => server.posts("/users");
const diff = (prev, cursor, joins, leaves = {}) => ({ topic: "site", prev, cursor, joins, leaves });
const shows = (...seen) => seen.map((element) => [element.textContent, element.getAttribute("datetime"), element.title].join("|"));

/** Opens the stream of a page, and returns its server's end. */
async function open(cursor) {
  await pass(60);
  const stream = server.last();
  stream.welcome();
  if (cursor) stream.send("heartbeat", { topic: "site", cursor, total: 3 });
  await turn();
  return stream;
}

test("a status that is not known shows as online, from an event and from an answer", async (t) => {
  await restart();
  const { shows } = dotsOf(t, "a", "b");
  await pass(60);
  server.last().welcome();
  server.last().send("state", { topic: "site", cursor: "2", total: 300, truncated: true, users: { a: user("gaming") } });
  await pass(10);
  assert.deepEqual(asked().map(({ query }) => query.getAll("id")), [["b"]]);
  asked()[0].json({ users: { b: { online: true, status: "toString", more: 1 }, c: {} }, more: 1 });
  await turn();
  assert.deepEqual(shows(), ["a online online", "b online online"]);
  server.last().send("signal", { topic: "site", cursor: "x", leaves: { a: {} } });
  server.last().send("diff", { topic: "site", prev: "2", cursor: "3", joins: {}, leaves: { a: {} } });
  await turn();
  assert.deepEqual(shows(), ["a offline offline", "b online online"]);
});

test("last seen follows its user: online now, and then since when not", async (t) => {
  await restart();
  const { marks } = marksOf(t);
  const at = new Date(Date.now() - 12 * 60_000).toISOString();
  const [bob, empty, carol] = [seenOf("bob", "12 minutes ago", at), seenOf("bob", "", ""), seenOf("carol", "online now", "")];
  for (const element of [bob, empty, carol]) marks.add(element);
  const stream = await open("1");
  assert.deepEqual(shows(bob, empty, carol), [`12 minutes ago|${at}|`, "||", "online now||"], "as it was rendered");
  stream.send("diff", diff("1", "2", { bob: user("away") }, { carol: { last_seen: "1970-01-01T00:00:00Z" } }));
  await turn();
  assert.deepEqual(shows(bob, empty, carol), ["online now||", "online now||", "just now|1970-01-01T00:00:00Z|1970-01-01 00:00 UTC"]);
  stream.send("diff", diff("2", "3", { bob: user("busy") }));
  await turn();
  assert.equal(shows(bob)[0], "online now||");
  assert.equal(asked().length, 0);
});

test("last seen grows old", async (t) => {
  await restart();
  const { marks } = marksOf(t, { known: { cursor: "1" } });
  const seen = seenOf("bob", "1 minute ago", new Date(Date.now() - 119_000).toISOString());
  const now = seenOf("carol", "online now", "");
  marks.add(seen);
  marks.add(now);
  await turn();
  assert.equal(seen.textContent, "1 minute ago", "the server's text");
  const texts = new Set();
  for (let i = 0; i < 6 * 65; i++) {
    mock.timers.tick(10_000);
    texts.add(seen.textContent);
  }
  assert.deepEqual([...texts], [...Array.from({ length: 58 }, (_, i) => `${i + 2} minutes ago`), "1 hour ago"]);
  assert.equal(seen.writes, 59, "only what changes is written");
  for (let i = 0; i < 3 * 24; i++) mock.timers.tick(3_600_000);
  assert.equal(seen.textContent, "3 days ago");
  assert.equal(now.textContent, "online now");
  marks.remove(seen);
  const { writes } = seen;
  mock.timers.tick(24 * 3_600_000);
  assert.equal(seen.writes, writes, "an element that was removed stays as it is");
});

test("last seen in another language", () => {
  const polish = { justNow: "przed chwilą", minutes: { one: "minutę temu", few: "{n} minuty temu", many: "{n} minut temu", other: "{n} minuty temu" }, hours: { other: "{n} h" }, days: { other: "{n} d" } };
  const say = (ms) => ago(polish, openLocale("pl"), ms);
  assert.deepEqual([-5000, 0, 59_999, 60_000, 120_000, 300_000, 22 * 60_000].map(say), ["przed chwilą", "przed chwilą", "przed chwilą", "minutę temu", "2 minuty temu", "5 minut temu", "22 minuty temu"]);
  assert.deepEqual([3_599_999, 3_600_000, 86_399_999, 86_400_000, 12345 * 86_400_000].map(say), ["59 minut temu", "1 h", "23 h", "1 d", "12\u00a0345 d"]);
});

test("last seen of elements that a site's script adds", async (t) => {
  await restart();
  const { marks } = marksOf(t);
  const stream = await open("1");
  stream.send("diff", diff("1", "2", { alice: user("online") }));
  await turn();
  const [here, gone, dated, broken, hidden] = [seenOf("alice"), seenOf("bob"), seenOf("carol", "", "1970-01-01T00:00:00Z"), seenOf("dora", "", "soon"), seenOf("eve", "", "")];
  for (const element of [here, gone, dated, broken, hidden]) marks.add(element);
  await pass(10);
  assert.deepEqual(asked().map(({ query }) => query.getAll("id").join()), ["bob"], "who is not known, and was not rendered");
  asked()[0].json({ users: { bob: { online: false, last_seen: "1970-01-01T00:00:00Z" } } });
  await turn();
  const old = "just now|1970-01-01T00:00:00Z|1970-01-01 00:00 UTC";
  assert.deepEqual(shows(here, gone, dated, broken, hidden), ["online now||", old, old, "||", "||"]);
});

test("a leave that does not say when: the server may know", async (t) => {
  await restart();
  const { marks } = marksOf(t);
  const all = ["a", "b", "c", "d"].map((id) => seenOf(id, "online now", ""));
  const kept = seenOf("e", "2 minutes ago", "1969-12-31T23:58:00Z");
  for (const element of [...all, kept]) marks.add(element);
  const stream = await open("1");
  stream.send("state", { topic: "site", cursor: "2", total: 1, users: { a: user("online") } });
  await pass(10);
  assert.deepEqual(shows(...all), ["online now||", "||", "||", "||"]);
  assert.deepEqual(asked().map(({ query }) => query.getAll("id").join()), ["b,c,d"]);
  stream.send("diff", diff("2", "3", { d: user("online") }));
  await turn();
  asked()[0].json({ users: { b: { online: false, last_seen: "1970-01-01T00:00:00Z" }, c: { online: false }, d: { online: false } } });
  await turn();
  assert.deepEqual(shows(...all), ["online now||", "just now|1970-01-01T00:00:00Z|1970-01-01 00:00 UTC", "||", "online now||"], "d has come since");
  assert.equal(kept.textContent, "2 minutes ago");
  stream.send("diff", diff("3", "4", {}, { a: {} }));
  await pass(10);
  assert.equal(asked().length, 2);
  asked()[1].refuse(503);
  await turn();
  assert.equal(shows(all[0])[0], "||");
});

test("a count follows its topic, grouped as the language does", async (t) => {
  for (const [lang, want] of [["en", "12,345"], ["de", "12.345"]]) {
    await restart();
    const { marks } = marksOf(t, { lang });
    const [rendered, unknown] = [new Element({}, "2", { topic: "site", value: "2" }), new Element({}, "–", { topic: "site", value: "" })];
    marks.add(rendered);
    marks.add(unknown);
    const stream = await open("1");
    const say = (...all) => all.map((element) => element.getAttribute("value") + " " + element.textContent);
    assert.deepEqual(say(rendered, unknown), ["3 3", "3 3"]);
    const { writes } = rendered;
    stream.send("heartbeat", { topic: "site", cursor: "1", total: 3, guests: 1 });
    await turn();
    assert.equal(rendered.writes, writes, "only what changes is written");
    stream.send("count", { topic: "site", cursor: "2", total: 12_345 });
    await turn();
    const late = new Element({});
    marks.add(late);
    assert.deepEqual(say(rendered, unknown, late), [`12345 ${want}`, `12345 ${want}`, `12345 ${want}`]);
    marks.remove(late);
    stream.send("count", { topic: "site", cursor: "3", total: 1 });
    await turn();
    assert.deepEqual(say(rendered, late), ["1 1", `12345 ${want}`]);
  }
});

test("without a connection a number that the server renders is newer than what is known", async (t) => {
  await restart();
  const { marks } = marksOf(t, { known: { cursor: "1", counts: { total: 5 } } });
  const [rendered, empty] = [new Element({}, "7", { value: "7" }), new Element({})];
  marks.add(rendered);
  marks.add(empty);
  assert.deepEqual([rendered, empty].map(({ textContent }) => textContent), ["7", "5"]);
});

test("what happens before the script of the elements is loaded is asked for", async (t) => {
  await restart();
  const { presence, src } = marksOf(t);
  let marks;
  presence.on("sync", () => (presence.moved = true)); // as presence.js does
  const stream = await open();
  stream.send("diff", diff("1", "2", { carol: user("busy") }, { bob: {} }));
  await turn();
  marks = openDots(presence, { src, topic: "site", texts }, { get, shown, locale: openLocale("en") });
  const [dot, seen, carol] = [new Element({ presenceDot: "bob", status: "online" }), seenOf("bob", "online now", ""), new Element({ presenceDot: "carol", status: "offline" })];
  for (const element of [dot, seen, carol]) marks.add(element);
  await pass(10);
  assert.deepEqual(asked().map(({ query }) => query.getAll("id").join()), ["bob"]);
  asked()[0].json({ users: { bob: { online: false, last_seen: "1970-01-01T00:00:00Z" } } });
  await turn();
  assert.deepEqual([dot.dataset.status, seen.textContent], ["offline", "just now"]);
  assert.equal(carol.dataset.status, "busy");
});
