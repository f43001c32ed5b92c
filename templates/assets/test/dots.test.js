import assert from "node:assert/strict";
import test from "node:test";

import { pass, restart, server, turn } from "./browser.js";
import { connect } from "../connect.js";
import { openDots } from "../dots.js";
import { get } from "../link.js";
import { shown } from "../person.js";

const user = (status) => ({ name: "U", status, since: "2026-11-21T06:57:10Z" });

/** Dots for ids, as presence.js wires them. */
function dotsOf(t, ...ids) {
  const src = `/dots${Math.random()}`;
  const site = { src, topic: "site", texts: { status: { online: "online", away: "away", busy: "busy", offline: "offline" } } };
  const presence = connect({ src, topics: ["site"], limit: 0, known: { cursor: "1" } });
  const dots = openDots(presence, site, { get, shown });
  for (const type of ["join", "change", "leave", "state", "sync"]) presence.on(type, (...what) => dots[type](...what));
  const all = ids.map((presenceDot) => ({ dataset: { presenceDot, status: "online" } }));
  for (const dot of all) dots.add(dot);
  t.after(() => presence.close());
  return { dots, shows: () => all.map(({ dataset, title }) => [dataset.presenceDot, dataset.status, title].join(" ")) };
}

const asked = () => server.posts("/users");

test("a status that is not known shows as online, from an event and from an answer", async (t) => {
  await restart();
  const { shows } = dotsOf(t, "a", "b");
  await pass(30);
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

test("over the roster limit all are asked for, every 30 s at most, while somebody looks", async (t) => {
  await restart();
  const { shows } = dotsOf(t, "a", "b");
  await pass(30);
  server.last().welcome();
  server.last().send("state", { topic: "site", cursor: "0", total: 2, users: { a: user("online"), b: user("busy") } });
  let n = 0;
  const count = async (seconds) => {
    for (let i = 0; i < seconds; i++) {
      server.last().send("count", { topic: "site", cursor: `${++n}`, total: 20_000 });
      await pass(1000);
    }
  };
  await count(29);
  assert.equal(asked().length, 0, "an event told of them just now");
  await count(18);
  assert.deepEqual(asked().map(({ query }) => query.getAll("id").join()), ["a,b"]);
  asked()[0].json({ users: { a: {}, b: { online: true, status: "away" } } });
  await turn();
  assert.deepEqual(shows(), ["a offline offline", "b away away"]);
  await count(46);
  assert.equal(asked().length, 2);
  asked()[1].refuse(503);
  await turn();
  assert.deepEqual(shows(), ["a offline offline", "b away away"], "what is not known stays");
  document.hidden = true;
  await count(60);
  assert.equal(asked().length, 2);
  assert.equal(server.posts("/roster").length, 0, "no list, no sample");
});
