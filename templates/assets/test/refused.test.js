// What the server, or something before it, refuses: beats, and topics.

import assert from "node:assert/strict";
import test from "node:test";

import { pass, restart, server, turn, warnings } from "./browser.js";
import { user, known, diff, page, followed } from "./page.js";

test("a leader that is refused because of another tab's topic goes on without that tab", async (t) => {
  await restart();
  const good = page(t);
  const bad = page(t, { topics: { secret: known("x") } });
  await pass(50);
  const answer = () => {
    for (const exchange of server.open()) {
      if (exchange.topics.includes("secret")) exchange.refuse(403);
      else exchange.welcome();
    }
  };
  for (let i = 0; i < 5; i++) {
    answer();
    await pass(50);
  }
  assert.deepEqual([good.stream.feeds.live, bad.stream.feeds.live], ["on", "off"]);
  assert.equal(server.open().length, 1);
});

test("a page whose beats are refused goes on without them: with other topics, and as the leader", async (t) => {
  await restart();
  const leader = page(t);
  await pass(50);
  server.last().welcome({ beat: 0 });
  await pass(50);
  server.beat = () => 403;
  const second = page(t);
  await pass(25_000);
  assert.equal(followed().length, 1, "the joined-beat is not repeated");
  assert.equal(second.stream.feeds.live, "on");
  leader.stream.pause(true);
  await pass(50);
  assert.deepEqual(["beat", "nobeat"].map((name) => server.last().query.get(name)), [null, "403"], "the next leader has heard it");
  server.last().welcome({ connection: "n.2~site" });
  second.watch("thread:1", known("t.1"));
  await pass(50);
  assert.deepEqual([server.last().topics.length, server.last().query.get("nobeat")], [2, "403"]);
  page(t); // of which it may be different
  await pass(50);
  assert.equal(followed().length, 1, "no connection yet");
  server.last().welcome({ connection: "n.3~site", beat: 0 });
  await pass(25_000);
  assert.equal(followed().length, 2);
  assert.equal(server.posts("/beat").length, 2, "nobody beats");
});

test("each stream says that it may be partial", async (t) => {
  await restart();
  page(t);
  await pass(30);
  assert.equal(server.last().query.get("partial"), "1");
});

test("a topic that the visitor may not follow leaves the others live, in all tabs", async (t) => {
  await restart();
  const [first, second] = [page(t), page(t, { topics: { site: known("s.1"), "page:hidden": known("x") } })];
  await pass(50);
  for (const exchange of server.open()) exchange.welcome(exchange.topics.includes("page:hidden") ? { refused: ["page:hidden"], warnings: ["A page shows a topic."] } : {});
  await pass(50);
  assert.equal(server.open().length, 1);
  server.last().send("diff", diff("s.1", "s.2", { bob: user() }));
  await turn();
  assert.deepEqual([first, second].map((p) => [p.stream.feeds.live, p.stream.feeds.refused, p.ids("site")]), [["on", "page:hidden", "bob"], ["on", "page:hidden", "bob"]]);
  const late = page(t, { topics: { "page:hidden": known("x") } });
  await pass(50);
  assert.deepEqual([late.stream.feeds.live, late.stream.feeds.refused], ["on", "page:hidden"], "the leader knows");
  assert.deepEqual(warnings, ["presence: A page shows a topic."], "the server knows why, and says so once");
});

test("a page that is refused for all of its topics asks again with another topic", async (t) => {
  await restart();
  const p = page(t, { topics: { "page:members": known("x") } });
  await pass(30);
  server.last().refuse(403);
  await pass(100_000);
  assert.deepEqual([p.stream.feeds.live, server.streams().length], ["off", 1]);
  p.watch("site", known("s.1"));
  await pass(50);
  assert.deepEqual([server.streams().length, server.last().topics.join()], [2, "page:members,site"]);
  server.last().welcome({ refused: ["page:members"] });
  await turn();
  assert.equal(p.stream.feeds.live, "on");
});

test("tabs whose topics are all refused are each off, and ask no more", async (t) => {
  await restart();
  const tabs = [page(t, { topics: { a: known("x") } }), page(t, { topics: { b: known("y") } })];
  for (let i = 0; i < 10; i++) {
    await pass(100);
    for (const exchange of server.open()) exchange.refuse(403);
  }
  const asked = server.streams().length;
  await pass(600_000);
  assert.deepEqual(tabs.map(({ stream }) => stream.feeds.live), ["off", "off"]);
  assert.equal(server.streams().length, asked);
  assert.ok(asked <= 4, asked);
});
