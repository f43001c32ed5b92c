import assert from "node:assert/strict";
import test from "node:test";

import { pass, restart, server, turn } from "./browser.js";
import { at, diff, known, page, user } from "./page.js";

const wanted = (...names) => names.map((name) => server.last().query.getAll(name).join());
const state = (cursor, total, users, order = Object.keys(users)) => ({ topic: "site", cursor, total, window: 2, order, users, truncated: order.length < total });
const out = (prev, cursor, joins, leaves, ...out) => ({ ...diff(prev, cursor, joins, leaves), total: 9, out });
const hiddenBeats = () => server.posts("/beat").filter(({ body }) => "hidden" in body).map(({ body }) => body.hidden);

/** A page that shows two of nine users, and dots, with a stream that has told its state. */
async function crowded(t, { dots = [], me = "" } = {}) {
  const p = page(t, { me, limit: 2, topics: { site: undefined, ...Object.fromEntries(dots.map((id) => [id + "\nalso", undefined])) } });
  await pass(30);
  server.last().welcome();
  server.last().send("state", state("s.1", 9, { carol: user(3), bob: user(2) }));
  await turn();
  p.told.length = 0;
  return p;
}

test("who falls out of the window is gone from the list and has not left; who moves up has not come", async (t) => {
  await restart();
  const p = await crowded(t);
  assert.deepEqual(wanted("window", "also"), ["2", ""]);
  server.last().send("diff", out("s.1", "s.2", { dave: user(4) }, {}, "bob"));
  await turn();
  assert.deepEqual([p.ids("site"), p.told], ["dave,carol", ["diff site", "+dave"]]);
  server.last().send("diff", out("s.2", "s.3", { bob: user(2) }, { dave: { last_seen: at(9) } }));
  await turn();
  assert.deepEqual([p.ids("site"), p.told.slice(2)], ["carol,bob", ["diff site", "-dave"]]);
});

test("who has a dot stays when the window goes on", async (t) => {
  await restart();
  const p = await crowded(t, { dots: ["bob", "eve"] });
  assert.deepEqual(wanted("also"), ["bob,eve"]);
  server.last().send("diff", out("s.1", "s.2", { dave: user(4) }, {}, "bob"));
  server.last().send("diff", out("s.2", "s.2.b", { eve: user(1) }, {}));
  await turn();
  assert.deepEqual([p.ids("site"), p.told], ["dave,carol,bob,eve", ["diff site", "+dave", "diff site"]]);
  server.last().send("diff", out("s.2.b", "s.3", {}, { bob: {} }));
  await turn();
  assert.deepEqual([p.ids("site"), p.told.slice(3)], ["dave,carol,eve", ["diff site", "-bob"]]);
});

test("a long list of dots is posted, and what does not get through is in the window alone", async (t) => {
  await restart();
  const dots = Array.from({ length: 61 }, (_, i) => `u${i + 10}`);
  const p = page(t, { limit: 2, topics: { site: undefined, ...Object.fromEntries(dots.map((id) => [id + "\nalso", undefined])) } });
  await pass(30);
  const { method, form } = server.last();
  assert.deepEqual([method, form.getAll("also"), wanted("window", "also")], ["POST", dots, ["2", ""]]);
  server.last().wall(403, { "Content-Type": "text/html" }, "CSRF");
  await pass(30);
  assert.deepEqual([server.last().method, wanted("also")], ["GET", [dots.slice(0, 60).join()]]);
  server.last().welcome();
  server.last().send("state", state("s.1", 9, { u70: user(3), u69: user(2) }));
  server.last().send("diff", out("s.1", "s.2", { dave: user(4), zoe: user(5) }, {}, "u70", "u69"));
  await turn();
  assert.equal(p.ids("site"), "zoe,dave,u69", "u69 has a dot that the server knows of, u70 has not");
});

for (const me of ["alice", ""]) {
  test(`a page that nobody has seen for ten seconds says so, and at once that it is seen: ${me || "a guest"}`, async (t) => {
    await restart();
    const p = await crowded(t, { me });
    document.hidden = true;
    p.stream.look();
    await pass(9_900);
    assert.deepEqual(hiddenBeats(), []);
    document.hidden = false;
    p.stream.look();
    await pass(500);
    document.hidden = true;
    p.stream.look();
    await pass(9_900);
    assert.deepEqual(hiddenBeats(), [], "a glance starts it anew");
    await pass(200);
    assert.deepEqual(hiddenBeats(), [true]);
    for (let i = 0; i < 3; i++) { // a heartbeat a minute is no silence
      await pass(59_000);
      server.last().send("heartbeat", { topic: "site", cursor: "s.1", total: 9 });
      await turn();
    }
    assert.equal(server.streams().length, 1);
    document.hidden = false;
    p.stream.look();
    await turn();
    assert.equal(hiddenBeats().at(-1), false);
    server.last().send("diff", out("s.1", "s.8", { dave: user(4) }, { carol: {} }));
    await turn();
    assert.deepEqual([p.ids("site"), server.streams().length], ["dave,bob", 1]);
  });
}

test("a page that was hidden for so long that nothing leads on gets a state, in which nobody has left", async (t) => {
  await restart();
  const p = await crowded(t, { dots: ["bob"] });
  document.hidden = true;
  p.stream.look();
  await pass(10_100);
  document.hidden = false;
  p.stream.look();
  await turn();
  server.last().send("state", state("s.99", 12, { zoe: user(8), yan: user(7), bob: user(2) }, ["zoe", "yan"]));
  server.last().send("diff", out("s.99", "s.100", { xi: user(9) }, {}, "yan"));
  await turn();
  assert.deepEqual([p.ids("site"), p.rosters.site.counts.total, server.streams().length], ["xi,zoe,bob", 9, 1]);
  assert.deepEqual(p.told.filter((what) => /^-/.test(what)), []);
});

test("tabs that share a stream are hidden when all of them are, and have the window of the largest", async (t) => {
  await restart();
  const first = await crowded(t, { me: "alice" });
  const second = page(t, { limit: 5, topics: { site: undefined } });
  await pass(60);
  assert.deepEqual([server.open().length, wanted("window")], [1, ["5"]]);
  server.last().welcome({ connection: "n.2~site" });
  const users = { fay: user(6), eve: user(5), dave: user(4), carol: user(3), bob: user(2) };
  server.last().send("state", { ...state("s.2", 9, users), window: 5 });
  await turn();
  assert.deepEqual([first.ids("site"), second.ids("site")], ["fay,eve,dave,carol,bob", "fay,eve,dave,carol,bob"]);
  const show = async (hidden, p) => {
    document.hidden = hidden; // of the tab whose turn it is: tests have one document
    p.stream.look();
    await pass(60);
  };
  await show(true, first);
  await pass(15_000);
  assert.deepEqual(hiddenBeats(), [], "the other tab is in view");
  await show(true, second);
  await show(false, first);
  await pass(15_000);
  assert.deepEqual(hiddenBeats(), [], "the leader is in view");
  server.last().send("heartbeat", { topic: "site", cursor: "s.2", total: 9 });
  await show(true, first);
  await pass(10_100);
  assert.deepEqual(hiddenBeats(), [true]);
  await show(false, second);
  assert.deepEqual(hiddenBeats(), [true, false], "the other tab came into view");
});
