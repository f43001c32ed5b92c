import assert from "node:assert/strict";
import test from "node:test";

import { happen, pass, restart, server, turn, warnings } from "./browser.js";
import { at, greet, known, page } from "./page.js";
import { connect as base } from "../connect.js";
import { withPeople } from "../people.js";

const connect = withPeople(base);
const person = (n = 1, more = {}) => ({ name: "P", status: "online", since: at(n), ...more });
const state = (cursor, users = {}) => ({ topic: "people", cursor, total: Object.keys(users).length, users, truncated: false });
const change = (prev, cursor, joins = {}, leaves = {}) => ({ topic: "people", prev, cursor, total: 1, joins, leaves });
const ids = (n) => Array.from({ length: n }, (_, i) => `p${i}`);
const people = (...ids) => Object.fromEntries(["people", ...ids.map((id) => id + "\nperson")].map((topic) => [topic, undefined]));
const asked = () => server.last().query.getAll("person").sort().join();

/** A call of connect that notes what it is told. */
function follow(t, options) {
  const p = connect({ src: `/presence${Math.random()}`, ...options });
  const told = [];
  for (const type of ["join", "change", "leave"]) p.on(type, (id, user, topic) => told.push([type, id, user.last_seen ?? user.text ?? user.status, topic].join(" ")));
  p.on("sync", (topic) => told.push("sync " + topic));
  p.on("state", ({ total, users }, topic) => told.push(`state ${total} ${Object.keys(users)} ${topic}`));
  p.on("live", (live) => told.push(live));
  t.after(() => p.close());
  return { p, told };
}

test("a page watches people, and hears of them as of a topic", async (t) => {
  await restart();
  const { p, told } = follow(t, { people: ["bob", "eve"] });
  await pass(30);
  assert.deepEqual([server.last().topics, asked(), server.last().query.getAll("list"), server.last().method], [["people"], "bob,eve", [], "GET"]);
  server.last().welcome();
  server.last().send("state", state("1", { bob: person(1, { text: "in a call", on: ["mobile"] }) }));
  server.last().send("diff", change("1", "2", { eve: person(2) }, { bob: { last_seen: at(9) } }));
  await turn();
  assert.deepEqual(told, ["on", "join bob in a call people", "state 1 bob people", "sync people",
    "join eve online people", `leave bob ${at(9)} people`, "sync people"]);
  assert.deepEqual([[...p.roster("people").keys()], p.counts("people")], [["eve"], { total: 1 }]);
});

test("a page watches its visitor's contacts", async (t) => {
  await restart();
  follow(t, { contacts: true, topics: ["site"] });
  await pass(30);
  assert.deepEqual([server.last().topics, server.last().query.getAll("list"), asked()], [["people", "site"], ["contacts"], ""]);
});

test("without people the options are those of any client", async (t) => {
  await restart();
  follow(t, {});
  await pass(30);
  assert.deepEqual(server.last().topics, ["site"]);
  assert.throws(() => connect({ people: ids(501) }), RangeError);
});

test("each call is told of its own people alone", async (t) => {
  await restart();
  const src = "/own";
  const one = follow(t, { src, people: ["bob"] });
  const two = follow(t, { src, people: ["eve"] });
  await pass(30);
  assert.equal(asked(), "bob,eve");
  server.last().welcome();
  server.last().send("state", state("1", { bob: person(), eve: person() }));
  await turn();
  assert.deepEqual(one.told, ["on", "join bob online people", "state 1 bob people", "sync people"]);
  assert.deepEqual(two.told, ["on", "join eve online people", "state 1 eve people", "sync people"]);
  assert.deepEqual([one.p.counts("people"), [...two.p.roster("people").keys()]], [{ total: 1 }, ["eve"]]);
});

test("people who may not be watched are off, and the others are live", async (t) => {
  await restart();
  const { p, told } = follow(t, { people: ["bob"] });
  await pass(30);
  server.last().welcome({ refused: ["people"] });
  await turn();
  assert.deepEqual([p.live, told, p.refused("people")], ["off", ["off"], true]);
});

test("the tabs of a browser watch all their people over one connection", async (t) => {
  await restart();
  const leader = page(t, { topics: people("bob") });
  await pass(30);
  await greet();
  server.last().send("state", state("1", { bob: person() }));
  await turn();
  const other = page(t, { topics: { ...people("eve"), site: known("s.1") } });
  await pass(60);
  assert.deepEqual([server.open().length, asked(), server.last().topics.join()], [1, "bob,eve", "people,site"]);
  // The list is another: a cursor of the old list would say that nothing has changed.
  assert.equal(server.last().query.get("cursor"), "s.1");
  await greet();
  server.last().send("state", state("2", { bob: person(), eve: person() }));
  await turn();
  assert.deepEqual([leader.ids("people"), other.ids("people")], ["bob,eve", "bob,eve"]);
  assert.deepEqual(leader.told.filter((what) => /bob/.test(what)), ["+bob"]);
});

test("a tab does not lose people whom a new leader does not watch yet", async (t) => {
  await restart();
  const first = page(t, { topics: people("bob") });
  await pass(30);
  const second = page(t, { topics: people("eve") });
  const third = page(t, { topics: people("zoe") });
  await pass(60);
  await greet();
  server.last().send("state", state("1", { bob: person(), eve: person(), zoe: person() }));
  await turn();
  assert.equal(third.ids("people"), "bob,eve,zoe");
  first.stream.pause(true); // the second leads, and asks for its own at first
  for (let i = 0; i < 5; i++) await turn();
  const early = server.last();
  assert.equal(early.query.getAll("person").includes("zoe"), false);
  early.welcome();
  early.send("state", state("2", { eve: person() }));
  await turn();
  await pass(60);
  await greet();
  server.last().send("state", state("3", { eve: person(), zoe: person() }));
  await turn();
  assert.equal(asked().includes("zoe"), true);
  assert.deepEqual(third.told.filter((what) => /zoe/.test(what)), ["+zoe"]);
  assert.deepEqual(second.told.filter((what) => /eve/.test(what)), ["+eve"]);
});

test("a long list is the body of a POST", async (t) => {
  await restart();
  follow(t, { people: ["a b&c", ...ids(60)], topics: ["site"] });
  await pass(30);
  const { method, form, query, topics } = server.last();
  assert.deepEqual([method, form.getAll("person").length, form.getAll("person").includes("a b&c"), query.has("person"), topics], ["POST", 61, true, false, ["people", "site"]]);
});

test("a site that refuses the POST gets as many people as an address holds", async (t) => {
  await restart();
  follow(t, { people: ids(61) });
  await pass(30);
  server.last().wall(403, { "Content-Type": "text/html" }, "CSRF");
  await pass(30);
  const { method, query } = server.last();
  assert.deepEqual([method, query.getAll("person").length, server.open().length], ["GET", 60, 1]);
  assert.match(warnings.join(), /watches 60 of 61 users/);
});

test("the handlers' refusal of a list is the last word", async (t) => {
  await restart();
  const { p } = follow(t, { people: ids(61) });
  await pass(30);
  server.last().refuse(403, { "Content-Type": "application/problem+json" }, "{}");
  await pass(3000);
  assert.deepEqual([server.streams().length, p.live], [1, "off"]);
});

test("over a WebSocket a list is a message, and a poll posts it", async (t) => {
  await restart();
  globalThis.sessionStorage.presence = "1";
  follow(t, { people: ids(61) });
  await pass(30);
  const socket = server.last();
  assert.deepEqual([socket.path.endsWith("/ws"), socket.query.has("person")], [true, false]);
  socket.socket.onopen();
  assert.deepEqual(socket.sent, [{ type: "watch", users: ids(61).sort() }]);

  await restart();
  globalThis.sessionStorage.presence = "2";
  follow(t, { people: ids(61) });
  await pass(30);
  assert.deepEqual([server.last().path.endsWith("/poll"), server.last().form.getAll("person").length], [true, 61]);
});
