import assert from "node:assert/strict";
import test, { beforeEach, mock } from "node:test";

import { Stream } from "../stream.js";

/** Stands in for the browser's: a test plays the server. */
class FakeSource extends EventTarget {
  static CLOSED = 2;
  static all = [];
  readyState = 1;

  constructor(url) {
    super();
    this.url = new URL(url, "https://forum.example/");
    this.query = this.url.searchParams;
    FakeSource.all.push(this);
  }

  close() {
    this.readyState = 2;
  }

  send(type, data = {}) {
    this.dispatchEvent(new MessageEvent(type, { data: JSON.stringify(data) }));
  }

  fail(readyState) {
    this.readyState = readyState;
    this.dispatchEvent(new Event("error"));
  }
}

globalThis.EventSource = FakeSource;

class FakeWatcher {
  limit = 0;
  lives = [];
  events = [];
  onLive(live) {
    this.lives.push(live);
  }
  onEvent(topic, type) {
    this.events.push(type);
  }
}

const turn = () => new Promise((resolve) => setImmediate(resolve));
const known = (cursor, ...ids) => ({ users: new Map(ids.map((id) => [id, { name: id, status: "online" }])), counts: {}, cursor });
const ids = ({ users }) => [...users.keys()];
const open = () => FakeSource.all.filter((source) => source.readyState !== 2);
const last = () => FakeSource.all.at(-1);

beforeEach(() => {
  FakeSource.all = [];
});

test("all elements of a page share one connection, from their cursors", async () => {
  const stream = new Stream("/presence");
  stream.watch("thread:1", new FakeWatcher(), known("t.1"));
  stream.watch("site", new FakeWatcher(), known("s.1", "a"));
  stream.watch("site", new FakeWatcher(), known("s.1", "a"));
  await turn();
  assert.equal(FakeSource.all.length, 1);
  assert.equal(last().url.pathname, "/presence/events");
  assert.deepEqual(last().query.getAll("topic"), ["site", "thread:1"]);
  assert.deepEqual(last().query.get("cursor").split("~").sort(), ["s.1", "t.1"]);
  assert.equal(last().query.get("limit"), null);
});

test("a list of more than a state holds asks for more", async () => {
  const stream = new Stream("/presence");
  stream.watch("site", Object.assign(new FakeWatcher(), { limit: 300 }), known(""));
  await turn();
  assert.equal(last().query.get("limit"), "300");
  assert.equal(last().query.get("cursor"), null);
});

test("events reach the watchers of their topic", async () => {
  const stream = new Stream("/presence");
  const [site, thread] = [new FakeWatcher(), new FakeWatcher()];
  const roster = stream.watch("site", site, known("s.1"));
  stream.watch("thread:1", thread, known("t.1"));
  await turn();
  last().send("welcome");
  last().send("diff", { topic: "site", prev: "s.1", cursor: "s.2", joins: { bob: { name: "Bob", status: "online" } }, leaves: {} });
  last().send("diff", { topic: "elsewhere", prev: "x", cursor: "y", joins: {}, leaves: {} });
  assert.deepEqual(site.lives, ["connecting", "on"]);
  assert.deepEqual(site.events, ["diff"]);
  assert.deepEqual(thread.events, []);
  assert.deepEqual(ids(roster), ["bob"]);
});

test("who knows more of a topic decides where the stream starts", async () => {
  const stream = new Stream("/presence");
  const roster = stream.watch("site", new FakeWatcher(), known("s.1"));
  stream.watch("site", new FakeWatcher(), known("s.2", "a", "b"));
  await turn();
  assert.equal(last().query.get("cursor"), "s.2");
  stream.watch("site", new FakeWatcher(), known("s.3", "a", "b", "c")); // comes later
  await turn();
  assert.equal(last().query.get("cursor"), "s.3");
  assert.equal(open().length, 1);
  stream.watch("site", new FakeWatcher(), known("s.4", "a"));
  await turn();
  assert.equal(last().query.get("cursor"), "s.3");
  assert.equal(FakeSource.all.length, 2);
  assert.deepEqual(ids(roster), ["a", "b", "c"]);
});

test("the connection follows the topics on the page", async () => {
  const stream = new Stream("/presence");
  const [a, b] = [new FakeWatcher(), new FakeWatcher()];
  stream.watch("site", a, known("s.1"));
  await turn();
  stream.watch("thread:1", b, known("t.1"));
  await turn();
  assert.deepEqual(last().query.getAll("topic"), ["site", "thread:1"]);
  stream.unwatch("thread:1", b);
  stream.watch("thread:1", b, known("t.1")); // moved within the page
  await turn();
  assert.equal(FakeSource.all.length, 2);
  stream.unwatch("thread:1", b);
  stream.unwatch("site", a);
  await turn();
  assert.equal(open().length, 0);
});

test("a connection that was refused is tried again, later and later", async (t) => {
  mock.timers.enable({ apis: ["setTimeout"] });
  t.after(() => mock.timers.reset());
  t.mock.method(Math, "random", () => 0.5);
  const stream = new Stream("/presence");
  const watcher = new FakeWatcher();
  stream.watch("site", watcher, known("s.1"));
  await turn();
  for (const wait of [1000, 2000, 4000, 8000, 16000, 32000, 60000, 60000]) {
    last().fail(2);
    const before = FakeSource.all.length;
    mock.timers.tick(wait - 1);
    assert.equal(FakeSource.all.length, before, `before ${wait} ms`);
    mock.timers.tick(1);
    assert.equal(FakeSource.all.length, before + 1, `after ${wait} ms`);
  }
  assert.equal(last().query.get("cursor"), "s.1");
  last().send("welcome");
  last().fail(2);
  const before = FakeSource.all.length;
  mock.timers.tick(1000);
  assert.equal(FakeSource.all.length, before + 1, "a welcome begins the waits anew");
  assert.deepEqual(watcher.lives.slice(0, 3), ["connecting", "off", "connecting"]);
});

test("one that broke comes back by itself", async () => {
  const stream = new Stream("/presence");
  const watcher = new FakeWatcher();
  stream.watch("site", watcher, known("s.1"));
  await turn();
  last().send("welcome");
  last().fail(0);
  assert.equal(stream.live, "connecting");
  last().send("welcome");
  assert.deepEqual(watcher.lives, ["connecting", "on", "connecting", "on"]);
  assert.equal(FakeSource.all.length, 1);
});

test("a gap is closed by a state", async (t) => {
  mock.timers.enable({ apis: ["setTimeout"] });
  t.after(() => mock.timers.reset());
  const stream = new Stream("/presence");
  const watcher = new FakeWatcher();
  const roster = stream.watch("site", watcher, known("s.1", "a"));
  await turn();
  last().send("welcome");
  last().send("diff", { topic: "site", prev: "s.2", cursor: "s.3", joins: { b: {} }, leaves: {} });
  assert.deepEqual(ids(roster), ["a"]);
  mock.timers.tick(1500);
  assert.equal(FakeSource.all.length, 2);
  assert.equal(last().query.get("cursor"), null);
  last().send("state", { topic: "site", cursor: "s.3", users: { c: { name: "C", status: "online" } } });
  assert.deepEqual(ids(roster), ["c"]);
  assert.deepEqual(watcher.events, ["state"]);
});

test("a page that goes lets go, and goes on from where it stopped", async () => {
  const stream = new Stream("/presence");
  const watcher = new FakeWatcher();
  stream.watch("site", watcher, known("s.1"));
  await turn();
  last().send("welcome");
  last().send("diff", { topic: "site", prev: "s.1", cursor: "s.2", joins: {}, leaves: {} });
  stream.pause();
  assert.equal(open().length, 0);
  stream.watch("thread:1", watcher, known("t.1"));
  await turn();
  assert.equal(open().length, 0, "nothing opens while the page is not shown");
  stream.resume();
  assert.equal(open().length, 1);
  assert.deepEqual(last().query.get("cursor").split("~").sort(), ["s.2", "t.1"]);
});
