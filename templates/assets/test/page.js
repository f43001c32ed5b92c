// A page in the tests of the stream, and what the server hears of it.

import { pass, server } from "./browser.js";
import { openStream } from "../stream.js";

export const at = (n) => `2026-11-21T06:57:${String(n).padStart(2, "0")}Z`;
export const user = (n = 1, status = "online") => ({ name: "U", status, since: at(n) });
export const known = (cursor, ...ids) => ({ users: new Map(ids.map((id) => [id, user()])), counts: { total: ids.length }, cursor });
export const diff = (prev, cursor, joins = {}, leaves = {}, topic = "site") => ({ topic, prev, cursor, joins, leaves });

/** A page: a stream, and what it tells of its topics. */
export function page(t, { me = "alice", tenant, topics = { site: known("s.1") }, limit = 20, late = [] } = {}) {
  const stream = openStream("/presence", { me, tenant }, late);
  const p = { stream, lives: [], told: [], rosters: {}, ids: (topic) => [...p.rosters[topic].users.keys()].join() };
  p.watcher = {
    limit,
    onLive: (live) => p.lives.push(live),
    onEvent: (topic, type, data, { join, leave }) => {
      p.told.push(`${type} ${topic}`);
      for (const id of join.keys()) p.told.push("+" + id);
      for (const id of leave.keys()) p.told.push("-" + id);
    },
  };
  p.watch = (topic, what) => (p.rosters[topic] = stream.follow(topic, p.watcher, what));
  for (const topic in topics) p.watch(topic, topics[topic]);
  t.after(() => stream.pause());
  return p;
}

export const cursors = () => server.last().query.get("cursor").split("~").sort().join("~");

/** What joined a stream, as the server heard it. */
export const followed = () => server.posts("/beat").filter(({ body }) => body.joined);

/** What the server answers to streams that are open without a welcome. */
export async function greet(user, refuse) {
  for (let i = 0; i < 5; i++) {
    for (const exchange of server.open()) {
      if (exchange.begun) continue;
      exchange.begun = true;
      if (refuse?.(exchange)) exchange.refuse(refuse(exchange));
      else exchange.welcome({ user, connection: `n.${server.all.length}~site` });
    }
    await pass(30);
  }
}
