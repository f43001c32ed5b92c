import assert from "node:assert/strict";
import test, { mock } from "node:test";

import { beacons, pass, restart, server, turn } from "./browser.js";
import { user, known, diff, page, cursors, followed } from "./page.js";

test("a page has one connection for all of its topics, from their cursors", async (t) => {
  await restart({ shared: false });
  const p = page(t, { topics: { "thread:1": known("t.1"), site: known("s.1", "a") } });
  p.watch("site", known("s.1", "a"));
  await pass(30);
  assert.equal(server.streams().length, 1);
  assert.equal(server.last().path, "/presence/events");
  assert.deepEqual(server.last().topics, ["site", "thread:1"]);
  assert.equal(cursors(), "s.1~t.1");
  assert.deepEqual(["window", "limit"].map((name) => server.last().query.get(name)), ["20", null]);
  server.last().welcome();
  server.last().send("diff", diff("s.1", "s.2", { bob: user() }));
  server.last().send("diff", diff("x", "y", {}, {}, "elsewhere"));
  await turn();
  assert.deepEqual(p.told, ["diff site", "+bob"]);
  assert.equal(p.ids("site"), "a,bob");
  assert.deepEqual(p.lives, ["on"]);
});

test("a page that shows people connects once, when it knows whom it watches", async (t) => {
  await restart({ shared: false });
  const p = page(t, { late: [{ dataset: {} }] });
  p.watch("thread:1", known("t.1"));
  await pass(300);
  assert.equal(server.streams().length, 0);
  p.watch("people");
  p.watch("contacts\nlist");
  await pass(30);
  assert.equal(server.streams().length, 1);
  assert.deepEqual(server.last().topics, ["people", "site", "thread:1"]);
  assert.equal(server.last().query.get("list"), "contacts");
  server.last().welcome();
  await pass(3000);
  assert.equal(server.streams().length, 1);
});

test("a page that shows people waits for a second at most", async (t) => {
  await restart({ shared: false });
  const p = page(t, { late: [{ dataset: {} }] });
  await pass(980);
  assert.equal(server.streams().length, 0);
  await pass(60);
  assert.deepEqual(server.last().topics, ["site"]);
  server.last().welcome();
  p.watch("people");
  await pass(30);
  assert.equal(server.streams().length, 2);
  assert.equal(server.open().length, 1);
});

test("the stream starts from the widget that knows most of a topic", async (t) => {
  await restart();
  const p = page(t);
  p.watch("site", known("s.2", "a", "b"));
  await pass(30);
  assert.equal(cursors(), "s.2");
  p.watch("site", known("s.3", "a", "b", "c")); // comes later
  await pass(30);
  assert.equal(cursors(), "s.3");
  p.watch("site", known("s.4", "a"));
  await pass(30);
  assert.equal(server.streams().length, 2);
  assert.equal(server.open().length, 1);
});

test("the connection follows what the page shows, and ends with it", async (t) => {
  await restart();
  const p = page(t);
  await pass(30);
  p.watch("thread:1", known("t.1"));
  await pass(30);
  assert.deepEqual(server.last().topics, ["site", "thread:1"]);
  p.stream.unwatch("thread:1", p.watcher);
  p.watch("thread:1", known("t.1")); // moved within the page
  await pass(30);
  assert.equal(server.streams().length, 2);
  for (const topic of ["thread:1", "site"]) p.stream.unwatch(topic, p.watcher);
  await pass(30);
  assert.equal(server.open().length, 0);
});

test("a state closes a gap, and causes joins and leaves", async (t) => {
  await restart();
  const p = page(t, { topics: { site: known("s.1", "a") } });
  await pass(30);
  server.last().welcome();
  server.last().send("diff", diff("s.2", "s.3", { b: user() }));
  await turn();
  assert.deepEqual(p.told, []);
  await pass(1600);
  assert.equal(server.streams().length, 2);
  assert.equal(server.last().query.get("cursor"), "");
  server.last().welcome();
  server.last().send("state", { topic: "site", cursor: "s.3", total: 1, users: { c: user() } });
  await turn();
  assert.deepEqual(p.told, ["state site", "+c", "-a"]);
  assert.deepEqual(p.lives, ["on"], "nothing was seen of it");
});

test("a tab that missed an event asks the leader, once", async (t) => {
  await restart();
  const [leader, other] = [page(t), page(t)];
  await pass(50);
  server.last().welcome();
  other.rosters.site.cursor = "s.0"; // as if it had missed s.1
  const posts = t.mock.method(BroadcastChannel.prototype, "postMessage");
  const diffs = [1, 2, 3, 4].map((n) => diff(`s.${n}`, `s.${n + 1}`, { ["u" + n]: user(n) }));
  server.last().raw(diffs.map((data) => `event: diff\ndata: ${JSON.stringify(data)}\n\n`).join("")); // at once
  await pass(50);
  assert.equal(posts.mock.calls.filter(({ arguments: [[kind]] }) => kind === "want").length, 1);
  assert.equal(server.streams().length, 1);
  assert.equal(other.ids("site"), leader.ids("site"));
  assert.deepEqual(other.told.filter((what) => what !== "diff site"), ["state site", "+u4", "+u3", "+u2", "+u1"]);
});

test("ten tabs have one connection and the same rosters", async (t) => {
  await restart();
  const tabs = Array.from({ length: 10 }, (_, i) => page(t, { topics: { site: known("s.1"), ["thread:" + (i % 3)]: known("t" + (i % 3)) } }));
  await pass(100);
  assert.equal(server.open().length, 1);
  assert.deepEqual(server.last().topics, ["site", "thread:0", "thread:1", "thread:2"]);
  assert.equal(cursors(), "s.1~t0~t1~t2", "the leader has what the others know");
  server.last().welcome();
  server.last().send("diff", diff("s.1", "s.2", { __proto__x: user() }));
  server.last().send("diff", JSON.parse('{"topic":"site","prev":"s.2","cursor":"s.3","joins":{"__proto__":{"name":"P"}},"leaves":{}}'));
  server.last().send("diff", diff("t1", "t1.2", { bob: user() }, {}, "thread:1"));
  await turn();
  for (const [i, tab] of tabs.entries()) {
    assert.equal(tab.ids("site"), "__proto__,__proto__x", `tab ${i}`);
    assert.equal(tab.told.includes("diff thread:1"), i % 3 === 1, `tab ${i}`);
    assert.equal(tab.stream.feeds.live, "on");
  }
});

test("a tab that opens late gets its roster from the leader, not from the server", async (t) => {
  await restart();
  const first = page(t, { topics: { site: known("s.1", "a", "b") } });
  await pass(30);
  server.last().welcome();
  server.last().send("diff", diff("s.1", "s.2", { c: user(2) }, { b: {} }));
  await turn();
  const told = first.told.length;
  const late = page(t, { topics: { site: known("s.1", "a", "b") } });
  await pass(50);
  assert.equal(server.streams().length, 1);
  assert.equal(late.stream.feeds.live, "on");
  assert.equal(late.ids("site"), "c,a");
  assert.deepEqual(late.told, ["state site", "+c", "-b"]);
  assert.equal(first.told.length, told, "nothing new to the first");
});

test("a tab that opens while the leader waits makes it try at once, unless the server has asked to wait", async (t) => {
  await restart();
  page(t);
  let tries;
  for (let waited = 0; waited < 40; waited++) {
    for (const exchange of server.open()) exchange.socket ? exchange.end() : exchange.refuse(502); // the site is down
    await pass(100);
    if (server.streams().length !== tries) waited = 0;
    tries = server.streams().length;
  }
  const second = page(t); // the site is up: it has just served a page
  await pass(50);
  assert.equal(server.streams().length, tries + 1);
  server.last().welcome({ connection: "n.1~site" });
  await pass(50);
  assert.equal(second.stream.feeds.live, "on");
  server.last().end();
  await pass(3000);
  server.last().refuse(429, { "Retry-After": "60" });
  await pass(30);
  const asked = server.streams().length;
  page(t);
  await pass(30_000);
  assert.equal(server.streams().length, asked, "the server knows better");
});

test("when the leader closes, the next leads at once and misses nothing", async (t) => {
  await restart();
  const tabs = [0, 1, 2].map((i) => page(t, { topics: { site: known("s.1"), ["thread:" + i]: known("t" + i) } }));
  await pass(50);
  server.last().welcome();
  server.last().send("diff", diff("s.1", "s.2", { bob: user() }));
  await turn();
  tabs[0].stream.pause(true);
  assert.deepEqual(beacons, [], "others stay: it is no goodbye");
  await pass(100);
  assert.equal(server.open().length, 1);
  assert.deepEqual(server.last().topics, ["site", "thread:1", "thread:2"]);
  assert.equal(cursors(), "s.2~t1~t2");
  server.last().welcome();
  server.last().send("diff", diff("s.2", "s.4", { carol: user(3) }, { bob: {} }));
  await turn();
  for (const tab of tabs.slice(1)) assert.equal(tab.told.join(), "diff site,+bob,diff site,+carol,-bob");
});

test("a tab that gets its lock late does not count as closed", async (t) => {
  await restart();
  page(t);
  await pass(100);
  server.last().welcome();
  const { locks } = navigator;
  const request = locks.request.bind(locks);
  let own = 2; // the tab's, and the lead's
  locks.request = async (...asked) => {
    if (own-- > 0) await new Promise((wake) => setTimeout(wake, 500));
    return request(...asked);
  };
  page(t, { topics: { "thread:1": known("t.1") } });
  await pass(1000);
  assert.deepEqual(server.last().topics, ["site", "thread:1"]);
  await pass(3000);
  assert.deepEqual(server.last().topics, ["site", "thread:1"]);
});

test("the topics of a closed tab stay for two seconds, for the next page", async (t) => {
  await restart();
  page(t);
  const tab = page(t, { topics: { "thread:1": known("t.1") } });
  await pass(100);
  assert.deepEqual(server.last().topics, ["site", "thread:1"]);
  server.last().welcome();
  const opened = server.streams().length;
  tab.stream.pause();
  await pass(1000);
  const next = page(t, { topics: { "thread:1": known("t.2") } });
  await pass(5000);
  assert.equal(server.streams().length, opened, "it came back in time");
  next.stream.pause();
  await pass(2100);
  assert.deepEqual(server.last().topics, ["site"]);
});

test("a tab that was frozen for a moment keeps its topics", async (t) => {
  await restart();
  page(t);
  const tab = page(t, { topics: { "thread:1": known("t.1") } });
  await pass(100);
  server.last().welcome();
  for (const rest of [500, 1500]) {
    tab.stream.pause();
    await pass(rest);
    tab.stream.resume();
    await pass(5000);
    assert.deepEqual(server.last().topics, ["site", "thread:1"]);
  }
  tab.stream.pause();
  await pass(2200);
  assert.deepEqual(server.last().topics, ["site"], "now it is closed");
});

test("the last tab that closes sends leave", async (t) => {
  await restart();
  const p = page(t);
  await pass(30);
  server.last().welcome({ connection: "n.7~site" });
  await turn();
  p.stream.pause(true);
  assert.deepEqual(beacons, ['/presence/leave {"connection":"n.7~site"}']);
});

test("a page view that another tab's stream shows tells the server, once", async (t) => {
  await restart();
  const leader = page(t);
  await pass(50);
  server.last().welcome({ connection: "n.1~site" });
  await pass(50);
  assert.equal(followed().length, 0, "its own stream is later than its view");
  const second = page(t);
  await pass(50);
  assert.deepEqual(followed().map(({ url, body }) => [url.pathname + url.search, body]), [["/presence/beat?joined=1", { connection: "n.1~site", joined: true }]]);
  server.last().end();
  await pass(3000);
  server.last().welcome({ connection: "n.2~site" });
  second.stream.pause(); // into the back/forward cache
  await pass(50);
  second.stream.resume();
  await pass(50);
  assert.equal(followed().length, 1, "not for each stream, nor when it comes back without a page view");
  page(t);
  await pass(50);
  assert.deepEqual(followed().slice(1).map(({ body }) => body.connection), ["n.2~site"]);
  leader.stream.pause(true);
  await pass(100);
  server.last().welcome({ connection: "n.3~site" });
  await pass(100);
  assert.equal(followed().length, 2, "another leads");
});

test("a page view that led before it followed does not tell the server", async (t) => {
  await restart();
  const first = page(t);
  await pass(50);
  server.last().welcome();
  await pass(50);
  first.stream.pause();
  page(t);
  await pass(50);
  server.last().welcome();
  first.stream.resume();
  await pass(100);
  assert.equal(followed().length, 0);
});

test("a page view that wants another topic joins the stream that is opened for it", async (t) => {
  await restart();
  page(t);
  await pass(50);
  server.last().welcome({ connection: "n.1~site" });
  await pass(50);
  page(t, { topics: { "thread:1": known("t.1") } });
  await pass(50);
  assert.equal(followed().length, 0, "not one that is about to end");
  server.last().welcome({ connection: "n.2~site" });
  await pass(50);
  assert.deepEqual(followed().map(({ body }) => body.connection), ["n.2~site"]);
});

test("a page view tells the server again after a failure", async (t) => {
  await restart();
  page(t);
  await pass(50);
  server.last().welcome();
  await pass(50);
  server.beat = ({ joined }) => (joined ? 503 : 204);
  page(t);
  await pass(9000);
  assert.equal(followed().length, 1);
  server.beat = () => 204;
  await pass(2000);
  assert.equal(followed().length, 2);
  await pass(60_000);
  assert.equal(followed().length, 2);
});

test("a guest does not tell the server", async (t) => {
  await restart();
  page(t, { me: "" });
  await pass(50);
  server.last().welcome();
  page(t, { me: "" });
  await pass(100);
  assert.equal(server.posts("/beat").length, 0);
});

test("tabs of two versions of the script do not hear each other", async (t) => {
  await restart();
  // What tabs of another version hold, and say.
  const signal = new AbortController().signal;
  const heard = [];
  const others = ["presence,/presence,,alice,0,", "presence,1,/presence,,alice,0,"].map((name) => {
    navigator.locks.request(name, { signal }, () => new Promise(() => {}));
    const channel = new BroadcastChannel(name);
    channel.onmessage = ({ data }) => heard.push(data);
    return channel;
  });
  const p = page(t);
  await pass(50);
  assert.equal(server.open().length, 1, "it leads its own");
  server.last().welcome();
  for (const old of others) {
    old.postMessage({});
    old.postMessage({ now: "off" });
    old.postMessage({ type: "diff", data: diff("s.1", "s.9", { x: user() }) });
  }
  await pass(50);
  assert.deepEqual([p.stream.feeds.live, p.ids("site"), heard], ["on", "", []]);
});

test("tabs ignore unknown messages", async (t) => {
  await restart();
  const p = page(t);
  const other = page(t);
  await pass(50);
  server.last().welcome();
  server.last().send("diff", diff("s.1", "s.2"));
  await pass(50);
  const channel = new BroadcastChannel(["presence", 7, "/presence", "", "alice", 0, ""].join());
  const heard = [];
  channel.onmessage = ({ data }) => heard.push(data);
  for (const message of [["news", 1], ["event", "token", { topic: "site", cursor: "x" }], ["live", "on", undefined, 1]]) channel.postMessage(message);
  await pass(50);
  assert.deepEqual(heard, []);
  channel.close();
  server.last().send("diff", diff("s.2", "s.3", { bob: user() }));
  await pass(50);
  assert.deepEqual([p, other].map((each) => [each.stream.feeds.live, each.ids("site")]), [["on", "bob"], ["on", "bob"]]);
});

test("two users, or a user and a guest, never share", async (t) => {
  await restart();
  const [alice, bob, guest] = ["alice", "bob", ""].map((me) => page(t, { me }));
  await pass(50);
  assert.equal(server.open().length, 3);
  assert.deepEqual(server.open().map(({ query }) => query.get("me")), ["alice", "bob", null]);
  server.open()[1].welcome();
  server.open()[1].send("diff", diff("s.1", "s.2", { x: user() }));
  await turn();
  assert.deepEqual([alice.told.length, bob.told.length, guest.told.length], [0, 2, 0]);
});

test("a refused leader follows the next tab", async (t) => {
  await restart();
  const old = page(t);
  await pass(30);
  server.last().refuse(401); // somebody else has signed in
  await pass(30);
  assert.equal(old.stream.feeds.live, "off");
  await pass(600_000);
  assert.equal(server.streams().length, 1);
  const fresh = page(t, { topics: { site: known("s.5") } }); // signed in again
  await pass(50);
  assert.equal(server.open().length, 1);
  server.last().welcome();
  await turn();
  assert.deepEqual([old.stream.feeds.live, fresh.stream.feeds.live], ["on", "on"]);
});

test("signed out in another tab: an old page follows as a guest, apart from a new one", async (t) => {
  await restart();
  const old = [page(t), page(t)];
  await pass(50);
  server.last().welcome({ user: "alice" });
  await turn();
  server.last().end(); // signed out
  await pass(2000);
  for (let i = 0; i < 3; i++) {
    for (const exchange of server.open()) exchange.welcome({ user: "" });
    await pass(50);
  }
  assert.equal(server.open().length, 1);
  const fresh = page(t); // signed in again
  await pass(50);
  assert.equal(server.open().length, 2, "the new page is not led by a guest's");
  server.last().welcome({ user: "alice" });
  server.last().send("diff", diff("s.1", "s.2", { bob: user() }));
  await turn();
  assert.deepEqual([...old, fresh].map((p) => p.stream.feeds.live), ["on", "on", "on"]);
  assert.deepEqual([...old, fresh].map((p) => p.ids("site")), ["", "", "bob"]);
});

test("tabs with more topics than a connection takes have two", async (t) => {
  await restart();
  const tabs = Array.from({ length: 20 }, (_, i) => page(t, { topics: { site: known("s.1"), ["thread:" + i]: known("t" + i) } }));
  await pass(200);
  assert.equal(server.open().length, 2);
  for (const exchange of server.open()) assert.ok(exchange.topics.length <= 16, exchange.topics.length);
  for (const exchange of server.open()) {
    exchange.welcome();
    exchange.send("diff", diff("s.1", "s.2", { bob: user() }));
  }
  await turn();
  for (const tab of tabs) assert.equal(tab.ids("site"), "bob");
});

test("without locks each tab has a stream of its own", async (t) => {
  await restart({ shared: false });
  page(t);
  page(t);
  await pass(50);
  assert.equal(server.open().length, 2);
});

test("a page in the back/forward cache has no connection, and goes on from where it was", async (t) => {
  await restart();
  const p = page(t);
  await pass(30);
  server.last().welcome();
  server.last().send("diff", diff("s.1", "s.2"));
  await turn();
  p.stream.pause();
  await turn();
  assert.equal(server.open().length, 0);
  assert.equal(beacons.length, 0);
  const other = page(t, { topics: { site: known("s.2") } });
  await pass(50);
  assert.equal(server.open().length, 1, "the lock was free");
  p.watch("thread:1", known("t.1"));
  await pass(5000);
  assert.deepEqual(server.last().topics, ["site"], "nothing is asked for a page that is not shown");
  server.last().welcome();
  server.last().send("diff", diff("s.2", "s.3", { bob: user() }));
  p.stream.resume();
  await pass(50);
  assert.equal(p.ids("site"), "bob");
  assert.equal(p.stream.feeds.live, "on");
  assert.equal(other.stream.feeds.live, "on");
  assert.deepEqual(server.last().topics, ["site", "thread:1"]);
});

test("five minutes without input in any tab make the visitor idle, and the next input ends that", async (t) => {
  await restart();
  const tabs = [page(t), page(t)];
  await pass(50);
  server.last().welcome();
  await turn();
  const after = async (ms) => {
    mock.timers.setTime(Date.now() + ms);
    server.last().send("heartbeat", { topic: "site", cursor: "s.1" });
    await turn();
    return server.posts("/beat").at(-1)?.body.idle;
  };
  assert.equal(await after(290_000), false);
  tabs[1].stream.input();
  await turn();
  assert.equal(await after(200_000), false, "somebody was, in the other tab");
  assert.equal(await after(110_000), true);
  const beats = server.posts("/beat").length;
  tabs[1].stream.input();
  await turn();
  assert.deepEqual(server.posts("/beat").slice(beats).map(({ body }) => body.idle), [false], "told at once");
});
