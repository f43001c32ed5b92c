import assert from "node:assert/strict";
import test from "node:test";

import { pass, restart, server, turn } from "./browser.js";
import { bellText } from "../bell.js";
import { connect } from "../connect.js";
import { Items } from "../items.js";
import { waiting } from "../notes.js";
import { cursors, page } from "./page.js";
import { readUpto } from "../room.js";
import { paragraphs } from "../slots.js";
import { openLocale } from "../texts.js";

const STATES = ["unread", "read", "archived"];
const PAGE = 5;
const BEHIND = 8; // changed items of a diff

/** A feed as the server keeps it: each change is a revision. */
class Feed {
  rev = 0;
  top = 0;
  items = [];

  constructor(pick, topic = "inbox") {
    this.pick = pick;
    this.topic = topic;
  }

  cursor = (rev = this.rev) => `${this.topic}@${rev}`;
  wire = ({ rev, ...item }) => item;
  listed = () => this.items.filter(({ state }) => state !== "archived").sort((a, b) => b.pos - a.pos);
  figures = () => ({ unread: this.items.filter(({ state }) => state === "unread").length, unseen: 0 });

  /** Something happens: a message, a message that joins an item, or a mark. */
  change() {
    const rev = ++this.rev;
    const item = this.items[this.pick(this.items.length || 1)];
    const what = this.pick(4);
    if (!item || what < 2) this.items.push({ id: `m${rev}`, pos: ++this.top, n: 1, text: `text ${rev}`, state: "unread", rev });
    else if (what === 2 && item.state === "unread") Object.assign(item, { pos: ++this.top, n: item.n + 1, rev });
    else Object.assign(item, { state: STATES[this.pick(3)], rev });
  }

  state() {
    const all = this.listed();
    return { topic: this.topic, cursor: this.cursor(), ...this.figures(), items: all.slice(0, PAGE).map(this.wire), more: all.length > PAGE };
  }

  /** What leads a reader from a revision to this one. */
  since(rev) {
    const changed = this.items.filter((item) => item.rev > rev).sort((a, b) => b.pos - a.pos);
    if (changed.length > BEHIND) return ["state", this.state()];
    return ["diff", { topic: this.topic, prev: this.cursor(rev), cursor: this.cursor(), ...this.figures(), items: changed.map(this.wire) }];
  }
}

/** Pseudo-random numbers below n, the same for the same seed. */
const random = (seed) => (n) => ((seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0) >>> 8) % n;

const seeds = Array.from({ length: 100 }, (_, i) => i + 1);

test("F2, F8: what a list had, with the changes since applied, is what a page read afresh has", () => {
  for (const seed of seeds) {
    const pick = random(seed);
    const feed = new Feed(pick);
    for (let i = pick(20); i > 0; i--) feed.change();
    const items = new Items();
    items.reset(feed.state());
    for (let i = 0, have = feed.rev; i < 60; i++) {
      feed.change();
      if (pick(3)) continue; // several changes are one event
      const [type, data] = feed.since(have);
      assert.equal(items.lacks(type, data), false);
      items.apply(type, data);
      have = feed.rev;
      const want = feed.listed().filter(({ pos }) => pos >= items.floor).map(feed.wire);
      assert.deepEqual([...items.all.values()], want, `seed ${seed}, step ${i}`);
      assert.deepEqual([...items.all.keys()].slice(0, PAGE), feed.state().items.map(({ id }) => id).slice(0, items.all.size), `seed ${seed}, step ${i}`);
      assert.equal(items.cursor, feed.cursor());
    }
  }
});

test("F8: over a stream that loses and repeats events a list misses nothing", async (t) => {
  await restart();
  const pick = random(7);
  const feed = new Feed(pick);
  const start = feed.state();
  const src = "/lossy";
  const p = connect({ src, topics: ["inbox"], limit: 0, known: { cursor: start.cursor } });
  t.after(() => p.close());
  const items = new Items();
  items.reset(start);
  for (const type of ["state", "diff"]) p.on(type, (data) => items.apply(type, data));
  await pass(30);
  let have = 0;
  const serve = () => {
    if (server.last().begun) return;
    server.last().begun = true;
    server.last().welcome();
    const cursor = server.last().query.get("cursor");
    server.last().send(...(cursor ? feed.since(+cursor.split("@")[1]) : ["state", feed.state()]));
    have = feed.rev;
  };
  serve();
  for (let i = 0; i < 80; i++) {
    feed.change();
    const [type, data] = feed.since(have);
    const from = have;
    have = feed.rev;
    switch (pick(6)) {
      case 0: // lost: the next one shows it
        break;
      case 1: // broken off
        server.last().end();
        await pass(3000);
        serve();
        break;
      case 2: // twice
        server.last().send(type, data);
        server.last().send(...feed.since(from));
        break;
      default:
        server.last().send(type, data);
    }
    await pass(2000);
    serve();
  }
  server.last().send("heartbeat", { topic: "inbox", cursor: feed.cursor(), ...feed.figures() });
  await pass(3000);
  serve();
  await turn();
  assert.deepEqual([...items.all.values()], feed.listed().filter(({ pos }) => pos >= items.floor).map(feed.wire));
  assert.equal(p.cursor("inbox"), feed.cursor());
});

test("an older item that changes is no news below the list, and one that gets a new message is at the top", () => {
  const items = new Items();
  items.reset({ cursor: "1", more: true, items: [{ id: "b", pos: 9 }, { id: "a", pos: 8 }] });
  assert.deepEqual(items.apply("diff", { prev: "1", cursor: "2", items: [{ id: "old", pos: 3, state: "read" }] }), { fresh: [], changed: [], gone: [] });
  const { fresh } = items.apply("diff", { prev: "2", cursor: "3", items: [{ id: "old", pos: 10, state: "unread" }] });
  assert.deepEqual([fresh.length, [...items.all.keys()].join()], [1, "old,b,a"]);
});

test("an item that is archived leaves the list, and comes back when it is unread again", () => {
  const items = new Items();
  items.reset({ cursor: "1", items: [{ id: "a", pos: 8, state: "read" }] });
  assert.deepEqual(items.apply("diff", { cursor: "2", items: [{ id: "a", pos: 8, state: "archived" }] }).gone.length, 1);
  assert.equal(items.all.size, 0);
  assert.equal(items.apply("diff", { cursor: "3", items: [{ id: "a", pos: 8, state: "unread" }] }).fresh.length, 1);
  assert.deepEqual(items.apply("heartbeat", { cursor: "3" }), { fresh: [], changed: [], gone: [] });
});

test("a bell says a number in the words of its language, and no more than 99+", () => {
  const words = { label: "Notifications", unread: { one: "{n} unread notification", other: "{n} unread notifications" } };
  const say = (unread, lang = "en") => Object.values(bellText(words, openLocale(lang), unread)).join("|");
  assert.deepEqual([undefined, 0, 1, 99, 100, 1234].map((n) => say(n)), ["|Notifications", "|Notifications", "1|1 unread notification", "99|99 unread notifications", "99+|100 unread notifications", "99+|1,234 unread notifications"]);
  assert.equal(say(1234, "de"), "99+|1.234 unread notifications");
});

test("what waits are new items, and items that stand higher now", () => {
  const places = new Map([["a", 1], ["b", 2]]);
  assert.equal(waiting([{ id: "c", pos: 4 }, { id: "a", pos: 3 }, { id: "b", pos: 2 }], places), 2);
  assert.equal(waiting([{ id: "b", pos: 2 }, { id: "a", pos: 1 }], places), 0);
});

test("F7: an item about a room is read when the page shows its post, and no later one before it", () => {
  const item = (pos, url, more) => ({ id: "m" + pos, pos, url, about: "thread:1", state: "unread", ...more });
  const upto = (...items) => readUpto(items, "thread:1", (url) => url !== "#hidden");
  assert.equal(upto(), 0);
  assert.equal(upto(item(4, "#a"), item(2, "#b")), 4);
  assert.equal(upto(item(4, "#a"), item(3, "#hidden"), item(2, "#b")), 2);
  assert.equal(upto(item(3, "#hidden"), item(4, "#a")), 0);
  assert.equal(upto(item(4, "#a", { about: "thread:2" }), item(5, "#a", { state: "read" })), 0);
});

test("a text is split at blank lines", () => {
  assert.deepEqual(paragraphs("one\ntwo\r\n\r\n\n <b>three</b>\n"), [["one", "two"], ["<b>three</b>"]]);
  assert.deepEqual(paragraphs(" \n\n"), []);
});

test("a tab that shows no feed leads those that do, and has the server send a state to one that is behind", async (t) => {
  await restart();
  const feed = new Feed(random(3));
  const tab = (cursor) => page(t, { limit: 0, topics: { inbox: { cursor } } });
  const leader = page(t, { limit: 0, topics: { site: { cursor: "s" } } });
  await pass(30);
  server.last().welcome();
  const first = tab(feed.cursor());
  await pass(60);
  assert.deepEqual([server.open().length, cursors()], [1, "inbox@0~s"]);
  server.last().welcome();
  feed.change();
  server.last().send(...feed.since(0));
  await turn();
  const same = tab(feed.cursor());
  await pass(60);
  assert.equal(server.streams().length, 2, "a tab with the same version needs nothing");
  const behind = tab(feed.cursor(0));
  await pass(60);
  assert.deepEqual([server.streams().length, server.open().length, server.last().query.get("cursor")], [3, 1, "s"], "one more request, for a state of the inbox alone");
  server.last().welcome();
  server.last().send("state", feed.state());
  await pass(60);
  assert.deepEqual([first.told, same.told, behind.told], [["diff inbox"], [], ["state inbox"]]);
  assert.deepEqual([leader.told, server.streams().length], [[], 3]);
  feed.change();
  server.last().send(...feed.since(1));
  await turn();
  for (const each of [first, same, behind]) assert.equal(each.told.at(-1), "diff inbox");
});

test("a program that wants items gets a state, and a feed has no window", async (t) => {
  await restart();
  const p = connect({ src: "/program", topics: ["inbox"] });
  t.after(() => p.close());
  const told = [];
  for (const type of ["state", "diff"]) p.on(type, ({ items, unread }, topic) => told.push([type, topic, unread, items.map(({ id }) => id)].join(" ")));
  await pass(30);
  const feed = new Feed(random(5));
  feed.change();
  server.last().welcome();
  server.last().send("state", feed.state());
  feed.change();
  server.last().send(...feed.since(1));
  await turn();
  const other = connect({ src: "/program", topics: ["site"], limit: 0, known: { cursor: "s" } });
  t.after(() => other.close());
  await pass(60);
  assert.deepEqual(told, ["state inbox 1 m1", `diff inbox ${feed.figures().unread} m2`]);
  assert.equal(server.last().query.get("cursor").split("~").includes(feed.cursor()), true);
});
