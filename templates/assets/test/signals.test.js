import assert from "node:assert/strict";
import test from "node:test";

import { pass, restart, server, turn } from "./browser.js";
import { page, user } from "./page.js";
import { connect, site } from "../connect.js";
import { inOrder } from "../editors.js";
import { send } from "../signals.js";
import { openTypist } from "../typist.js";
import { Typists } from "../typists.js";

const typing = (from, seconds = 6, more = {}) => ({ type: "typing", v: 1, from, name: from.toUpperCase(), for: seconds, ...more });

test("S5: a typist is forgotten when the signal ends, by a word, by a leave, and after a state without the typist", () => {
  const all = new Typists();
  const names = (now) => all.names("me", now).join();
  all.hear(typing("bob"), 0);
  all.hear(typing("me"), 0);
  assert.deepEqual([names(0), names(5999), names(6000), names(0)], ["BOB", "BOB", "", ""]);
  all.hear(typing("bob", 600), 0);
  assert.equal(all.next, 30_000, "no signal stands for longer than 30 s");
  all.hear(typing("bob", -1), 1);
  assert.equal(names(1), "");
  all.hear(typing("bob"), 1);
  all.leave("bob");
  assert.equal(names(1), "");
  all.hear(typing("bob"), 1);
  all.state({ users: { bob: {} } });
  all.state({ users: {}, truncated: true });
  all.state({ users: {}, names: false });
  assert.equal(names(1), "BOB", "nothing says that Bob is gone");
  all.state({ users: {} });
  assert.equal(names(1), "");
  assert.equal(all.next, Infinity);
});

test("typists stand in the order in which they began, and other signals change nothing", () => {
  const all = new Typists();
  for (const from of ["bob", "__proto__", "carol", "bob"]) all.hear(typing(from), 0);
  all.hear({ type: "typing", v: 1, for: 6 }, 0); // of the site
  all.hear(typing("eve", 6, { type: "waving" }), 0);
  all.hear(typing("dave", 6, { name: undefined }), 0);
  all.hear(typing("zoe", 0), 0); // which does not stand
  assert.deepEqual(all.names("", 0), ["BOB", "__PROTO__", "CAROL", "dave"]);
});

/** A typist, and what it said: the seconds, at which second. */
function typist({ there = () => true, answer = () => ({ status: 204 }) } = {}) {
  const said = [];
  const began = Date.now();
  const send = async (seconds) => {
    said.push(`${seconds} at ${(Date.now() - began) / 1000}`);
    return answer();
  };
  return { ...openTypist(send, there), said };
}

test("who types says so every three seconds, and that it is over after six of rest", async () => {
  await restart();
  const { type, said } = typist();
  for (let i = 0; i < 8; i++) {
    type();
    await pass(1000);
  }
  await pass(20_000);
  assert.deepEqual(said.map((what) => what.replace(/\.\d+$/, "")), ["6 at 0", "6 at 3", "6 at 6", "6 at 9", "-1 at 13"]);
});

test("who stops says so at once, and once", async () => {
  await restart();
  const { type, end, said } = typist();
  end();
  type();
  end();
  end();
  await pass(20_000);
  assert.deepEqual(said, ["6 at 0", "-1 at 0"]);
});

test("who is refused says nothing more, until the others see the visitor again", async () => {
  for (const status of [401, 403]) {
    await restart();
    const { type, end, again, said } = typist({ answer: () => ({ status, ours: true }) });
    type();
    await pass(10_000);
    type();
    end();
    await pass(10_000);
    assert.equal(said.length, 1);
    again();
    type();
    await turn();
    assert.equal(said.length, 2);
    end();
  }
});

test("over the limit a typist waits as long as the server wants", async () => {
  await restart();
  let status = 429;
  const { type, end, said } = typist({ answer: () => ({ status, wait: 5000 }) });
  for (let i = 0; i < 7; i++) {
    type();
    await pass(1000);
    status = 204;
  }
  end();
  await turn();
  assert.deepEqual(said.map((what) => what.replace(/(\.\d)\d*$/, "$1")).slice(0, 2), ["6 at 0", "6 at 5"]);
});

test("whom the others do not see says nothing, and begins when they do", async () => {
  await restart();
  let seen = false;
  const { type, end, said } = typist({ there: () => seen });
  type();
  await pass(1000);
  assert.deepEqual(said, []);
  seen = true;
  type();
  assert.equal(said.length, 1);
  end();
});

test("editors stand in the order in which they came, the same on every page", () => {
  const at = (since) => ({ since });
  const users = [["zoe", {}], ["b", at("2026-01-01T00:00:01Z")], ["c", at("2026-01-01T00:00:00.500Z")], ["a", at("2026-01-01T00:00:01Z")]];
  assert.deepEqual(inOrder(users).map(([id]) => id), ["c", "a", "b", "zoe"]);
});

test("a program hears signals, which are no news of the roster, and sends them", async (t) => {
  await restart();
  const p = connect({ src: "/of-signals", topics: ["thread:1"] });
  t.after(() => p.close());
  const heard = [];
  let syncs = 0;
  p.on("signal", ({ signals }, topic) => heard.push([topic, ...signals.map(({ type, from }) => type + from)].join()));
  await pass(30);
  assert.equal(server.last().query.get("v"), "1");
  server.last().welcome();
  server.last().send("state", { topic: "thread:1", cursor: "1", total: 1, users: { bob: user() } });
  await turn();
  p.on("sync", () => syncs++);
  server.last().send("signal", { topic: "thread:1", signals: [typing("bob"), { type: "replies", v: 1, data: { n: 17 } }] });
  server.last().send("signal", { topic: "elsewhere", signals: [typing("bob")] });
  await turn();
  assert.deepEqual([heard, syncs, p.cursor("thread:1"), p.roster("thread:1").size], [["thread:1,typingbob,repliesundefined"], 0, "1", 1]);
  assert.equal(await send("/of-signals", "thread:1", "typing", { for: 6 }), 204);
  const [{ path, body, headers }] = server.posts("/signal");
  assert.deepEqual([path, body, headers.get("Content-Type")], ["/of-signals/signal", { topic: "thread:1", type: "typing", for: 6 }, "application/json"]);
});

test("all tabs of a browser hear a signal over one connection", async (t) => {
  await restart();
  const tabs = [page(t), page(t)];
  await pass(50);
  server.last().welcome();
  server.last().send("signal", { topic: "site", signals: [typing("bob")] });
  await pass(50);
  assert.deepEqual([server.streams().length, ...tabs.map(({ told }) => told)], [1, ["signal site"], ["signal site"]]);
});

test("T3: the tabs of two tenants at one address share nothing, also of one user's name", async (t) => {
  await restart();
  const [acme, globex] = ["a", "b"].map((tenant) => page(t, { tenant }));
  const other = page(t, { tenant: "a" });
  await pass(50);
  assert.equal(server.open().length, 2);
  for (const [i, exchange] of server.open().entries()) {
    exchange.welcome();
    exchange.send("diff", { topic: "site", prev: "s.1", cursor: "s.2", joins: { ["of" + i]: user() }, leaves: {} });
  }
  await pass(50);
  assert.deepEqual([acme, globex, other].map((tab) => tab.ids("site")), ["of0", "of1", "of0"]);
});

test("a page learns once that the site has another build, in every tab, and that it must be loaded again", async (t) => {
  const told = [];
  const note = ({ detail }) => told.push(`${detail.page}>${detail.server}`);
  document.addEventListener("presence:outdated", note);
  t.after(() => (document.removeEventListener("presence:outdated", note), delete site.app));
  await restart();
  globalThis.CustomEvent ??= class extends Event {};
  site.app = "4.12";
  const tabs = [page(t), page(t)];
  await pass(50);
  server.last().welcome({ app: "4.12" });
  await pass(50);
  server.last().end();
  await pass(3000);
  server.last().welcome();
  await pass(50);
  assert.deepEqual(told, [], "the same build, or none");
  server.last().end();
  await pass(5000);
  server.last().welcome({ app: "4.13" });
  await pass(50);
  server.last().end();
  await pass(5000);
  server.last().welcome({ app: "4.13" });
  await pass(50);
  assert.deepEqual([told, tabs.length], [["4.12>4.13"], 2]);
});

test("E4: a page whose version the server does not speak any more says that it is out of date", async (t) => {
  await restart();
  site.texts = { lost: "Connection lost", outdated: "Load it again." };
  t.after(() => delete site.texts);
  const p = page(t);
  await pass(50);
  server.last().refuse(426, { Upgrade: "presence.v2" });
  await pass(5000);
  assert.deepEqual([site.texts.lost, p.lives.at(-1), server.streams().length], ["Load it again.", "off", 1]);
});
