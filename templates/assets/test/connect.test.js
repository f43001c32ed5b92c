import assert from "node:assert/strict";
import test from "node:test";

import { happen, pass, restart, server, turn } from "./browser.js";
import { become, connect } from "../connect.js";

const phoenix = await import("../../../.ci/clients/node_modules/phoenix/priv/static/phoenix.mjs").catch(() => null);
if (!phoenix && process.env.PRESENCE_REQUIRE?.split(",").includes("npm")) throw new Error("npm is required, and phoenix is missing");

const user = (since, status = "online") => ({ name: "U", status, since: `2026-11-21T06:57:${10 + since}Z` });

/** A connection that notes all that it is told. */
function follow(t, options) {
  const p = connect({ src: `/presence${Math.random()}`, ...options }); // a stream of its own
  const told = [];
  for (const type of ["join", "change", "leave"]) p.on(type, (id, { status }, topic) => told.push([type, id, status, topic].join(" ")));
  p.on("sync", (topic) => told.push("sync " + topic));
  p.on("state", ({ total }, topic) => told.push(`state ${total} ${topic}`));
  p.on("live", (live) => told.push(live));
  t.after(() => p.close());
  return { p, told };
}

test("joins, changes and leaves are told one by one, then that all is told", async (t) => {
  await restart();
  const { p, told } = follow(t);
  await pass(30);
  assert.deepEqual(server.last().topics, ["site"]);
  server.last().welcome();
  server.last().send("state", { topic: "site", cursor: "1", total: 2, guests: 3, users: { a: user(1), b: user(2) } });
  server.last().send("diff", { topic: "site", prev: "1", cursor: "2", total: 2, joins: { c: user(3), a: user(1, "away") }, leaves: { b: {} } });
  await turn();
  assert.deepEqual(told, [
    "on",
    "join a online site", "join b online site", "state 2 site", "sync site",
    "join c online site", "change a away site", "leave b online site", "sync site",
  ]);
  assert.deepEqual([...p.roster("site").keys()], ["c", "a"]);
  assert.deepEqual(p.counts("site"), { total: 2, guests: 3 });
  assert.equal(p.stale("site"), false);
  assert.deepEqual([p.live, p.roster("other").size, p.counts("other"), p.stale("other")], ["on", 0, {}, false]);
});

test("who asks late is told who is here, and what is closed tells nothing", async (t) => {
  await restart();
  const src = "/late";
  const first = follow(t, { src });
  await pass(30);
  server.last().welcome();
  server.last().send("state", { topic: "site", cursor: "1", total: 1, users: { a: user(1) } });
  await turn();
  const late = follow(t, { src });
  const rendered = follow(t, { src, known: { users: new Map([["a", user(1)]]), cursor: "1", counts: { total: 1 } } });
  await turn();
  assert.deepEqual(late.told, ["join a online site", "sync site"]);
  assert.deepEqual(rendered.told, []);
  first.p.close();
  const before = first.told.length;
  server.last().send("diff", { topic: "site", prev: "1", cursor: "2", joins: { b: user(2) }, leaves: {} });
  await pass(30);
  assert.equal(first.told.length, before);
  assert.equal(first.p.roster("site").size, 0);
  assert.deepEqual(late.told.slice(2), ["join b online site", "sync site"]);
  assert.equal(server.streams().length, 1);
});

test("what the page says is stale is so until the server knows better", async (t) => {
  await restart();
  const { p } = follow(t, { known: { counts: { total: 0 }, cursor: "1", stale: true } });
  await pass(30);
  server.last().welcome();
  await turn();
  assert.deepEqual([p.live, p.stale("site")], ["on", true]);
  server.last().send("heartbeat", { topic: "site", cursor: "1", total: 0 });
  await turn();
  assert.equal(p.stale("site"), false);
});

test("a refusal says whether the page's user has signed out", async (t) => {
  for (const [status, want] of [[401, true], [403, false]]) {
    await restart();
    const { p } = follow(t);
    const told = [];
    p.on("live", (live, signedOut) => told.push(live, signedOut));
    await pass(30);
    server.last().refuse(status);
    await pass(600_000);
    assert.deepEqual(told, ["off", want], String(status));
    assert.equal(server.streams().length, 1);
  }
});

test("a topic that the visitor may not follow is off, and the others are live", async (t) => {
  await restart();
  const src = "/partial";
  const [both, one, good] = [["site", "page:a"], ["page:a"], ["site"]].map((topics) => follow(t, { src, topics }));
  await pass(30);
  server.last().welcome({ refused: ["page:a"] });
  await turn();
  assert.deepEqual([both, one, good].map(({ p }) => p.live), ["on", "off", "on"]);
  assert.deepEqual(["site", "page:a", "other"].map((topic) => both.p.refused(topic)), [false, true, false]);
  assert.equal(one.told.at(-1), "off");
  server.last().end();
  await pass(3000);
  assert.equal(one.p.live, "off");
  server.last().welcome(); // granted meanwhile
  await turn();
  assert.deepEqual([one.p.live, one.told.at(-1), one.p.refused("page:a")], ["on", "on", false]);
});

test("a call after all others were closed", async (t) => {
  await restart();
  const src = "/again";
  const first = follow(t, { src });
  await pass(30);
  first.p.close();
  await pass(30);
  assert.equal(server.open().length, 0);
  const second = follow(t, { src });
  await pass(30);
  server.last().welcome();
  await turn();
  assert.deepEqual([second.p.live, second.told, server.open().length], ["on", ["on"], 1]);
});

test("all calls go on as the user of the page's newest element", async (t) => {
  await restart();
  t.after(() => become(""));
  const calls = [follow(t), follow(t)]; // of two streams
  await pass(30);
  for (const exchange of server.open()) exchange.welcome({ user: "" });
  await turn();
  become("alice");
  await pass(50);
  assert.deepEqual(server.open().map(({ query }) => query.get("me")), ["alice", "alice"]);
  for (const exchange of server.open()) {
    exchange.welcome({ user: "alice" });
    exchange.send("state", { topic: "site", cursor: "1", total: 1, users: { a: user(1) } });
  }
  await turn();
  for (const { p, told } of calls) {
    assert.equal(p.live, "on");
    assert.deepEqual(told, ["on", "connecting", "on", "join a online site", "state 1 site", "sync site"]);
  }
  follow(t);
  await pass(50);
  assert.equal(server.last().query.get("me"), "alice", "later calls too");
});

test("what a newer server adds disturbs nothing", async (t) => {
  await restart();
  const { p, told } = follow(t);
  await pass(30);
  server.last().welcome();
  server.last().send("state", { topic: "site", cursor: "1", total: 1, users: { a: { ...user(1), status: "gaming", on: ["mobile"] } } });
  await turn();
  told.length = 0;
  for (const type of ["token", "signal", "presence", "items"]) server.last().send(type, { topic: "site", cursor: "x", prev: "1", joins: { x: user(1) }, leaves: { a: {} }, total: 7 });
  server.last().raw("event: token\ndata: null\n\n");
  server.last().send("heartbeat", { topic: "site", cursor: "1", total: 1, peak: {}, bots: {} });
  server.last().send("diff", { topic: "site", prev: "1", cursor: "2", total: 2, joins: { b: user(2) }, leaves: {}, by: "x" });
  await pass(3000);
  assert.deepEqual(told.filter((what) => what !== "sync site"), ["join b online site"]);
  assert.deepEqual([...p.roster("site")].map(([id, { status }]) => id + status), ["bonline", "aonline"]);
  assert.deepEqual([p.counts("site").total, server.streams().length], [2, 1]);
});

test("beside what the server rendered: its users have their data", async (t) => {
  await restart();
  const src = "/beside";
  const data = { karma: [1, 2] };
  follow(t, { src, known: { users: new Map([["a", { ...user(1), data }]]), cursor: "1", counts: { total: 1 } } });
  const { p } = follow(t, { src });
  await turn();
  assert.deepEqual(p.roster("site").get("a").data, data);
});

test("a listener that is taken off hears no more", async (t) => {
  await restart();
  const { p } = follow(t);
  let heard = 0;
  const off = p.on("sync", () => heard++);
  await pass(30);
  server.last().welcome();
  server.last().send("state", { topic: "site", cursor: "1", total: 0, users: {} });
  await turn();
  off();
  server.last().send("heartbeat", { topic: "site", cursor: "1", total: 0 });
  await turn();
  assert.equal(heard, 1);
});

test("the page's comings and goings", async (t) => {
  await restart();
  const { p } = follow(t);
  await pass(30);
  server.last().welcome();
  for (const [away, back, target] of [["pagehide", "pageshow"], ["freeze", "resume", document]]) {
    await turn();
    happen(away, { persisted: true }, target);
    await turn();
    assert.deepEqual([server.open().length, p.live], [0, "off"], away);
    happen(back, { persisted: true }, target);
    await pass(30);
    assert.equal(server.open().length, 1, back);
    server.last().welcome();
    await turn();
  }
});

// phoenix.js hears what its own server would say of the same comings and goings.
test("as phoenix.js tells it", { skip: !phoenix && "the npm packages are missing: .ci/test gets them" }, async (t) => {
  await restart();
  const { p } = follow(t);
  const ours = [], theirs = [];
  const channel = { on: (type, fn) => (channel[type] = fn), joinRef: () => "1" };
  const peer = new phoenix.Presence(channel);
  peer.onJoin((id, before) => before ?? theirs.push("join " + id));
  peer.onLeave((id, left) => left.metas.length || theirs.push("leave " + id));
  peer.onSync(() => theirs.push("sync"));
  p.on("join", (id) => ours.push("join " + id));
  p.on("leave", (id) => ours.push("leave " + id));
  p.on("sync", () => ours.push("sync"));
  await pass(30);
  server.last().welcome();

  const metas = ({ since, status }) => ({ metas: [{ phx_ref: since + status }] });
  const json = (entries) => JSON.parse(`{${entries.map(([id, value]) => JSON.stringify(id) + ":" + JSON.stringify(value)).join()}}`);
  const ids = ["a", "b", "c", "__proto__", "constructor", "hasOwnProperty", "toString", "7"];
  let here = new Map(), seed = 1, cursor = 0;
  const random = (n) => (seed = (seed * 48271) % 2147483647) % n;
  for (let step = 0; step < 500; step++) {
    const next = new Map(here), joins = [], leaves = [], leftMetas = [];
    for (const id of ids) {
      const was = here.get(id);
      const now = [was, was, undefined, user(random(40), ["online", "away"][random(2)])][random(4)];
      if (now === was || JSON.stringify(now) === JSON.stringify(was)) continue;
      if (now) joins.push([id, now]);
      else leaves.push([id, {}]);
      if (was) leftMetas.push([id, metas(was)]);
      if (now) next.set(id, now);
      else next.delete(id);
    }
    const total = next.size, before = cursor++;
    if (step % 10 === 0) {
      server.last().send("state", { topic: "site", cursor: `${cursor}`, total, users: json([...next]) });
      channel.presence_state(json([...next].map(([id, user]) => [id, metas(user)])));
    } else {
      server.last().send("diff", { topic: "site", prev: `${before}`, cursor: `${cursor}`, total, joins: json(joins), leaves: json(leaves) });
      channel.presence_diff({ joins: json(joins.map(([id, user]) => [id, metas(user)])), leaves: json(leftMetas) });
    }
    here = next;
    await turn();
    const sorted = (told) => told.splice(0).sort().join(", ");
    assert.equal(sorted(ours), sorted(theirs), `step ${step}`);
    assert.deepEqual([...p.roster("site").keys()].sort(), peer.list((id) => id).sort(), `step ${step}`);
  }
});
