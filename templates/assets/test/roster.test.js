import assert from "node:assert/strict";
import test from "node:test";

import { Roster } from "../roster.js";

const at = (second, name = "") => ({ name, status: "online", since: `2026-11-21T06:57:0${second}.000Z` });

/** A roster of what a state event said, as JSON so that __proto__ is a key. */
function roster(users, rest = {}) {
  const r = new Roster();
  r.apply("state", { topic: "site", cursor: "c1", users, truncated: false, ...rest });
  return r;
}

const ids = ({ users }) => [...users.keys()];
const diff = (joins, leaves, rest = {}) => ({ topic: "site", prev: "c1", cursor: "c2", joins, leaves, ...rest });

test("a state is shown newest first, equal times by id", () => {
  const r = roster({ b: at(1), 10: at(2), 9: at(3), a: at(1) });
  assert.deepEqual(ids(r), ["9", "10", "a", "b"]);
});

test("a state replaces all, and tells what it says differently", () => {
  const r = roster({ a: at(1), b: at(2), d: at(4) }, { total: 3, guests: 3, recent: 4 });
  const { join: joined, change: changed, leave: parted } = r.apply("state", { cursor: "c9", users: { b: at(2), c: at(3), d: at(4, "D") }, total: 7 });
  assert.deepEqual(ids(r), ["d", "c", "b"]);
  assert.deepEqual([...joined.keys()], ["c"]);
  assert.deepEqual([...changed.keys()], ["d"]);
  assert.deepEqual([...parted], [["a", at(1)]]);
  assert.equal(r.counts.total, 7);
  assert.equal(r.cursor, "c9");
});

test("who is cut off from a state has not left", () => {
  const r = roster({ a: at(1), b: at(2) });
  const { leave: parted } = r.apply("state", { cursor: "c9", users: { b: at(2) }, total: 2, truncated: true });
  assert.deepEqual(ids(r), ["b"]);
  assert.equal(parted.size, 0);
});

test("who was cut off before a state has not come with it", () => {
  const r = roster({ b: at(2) }, { total: 2, truncated: true, window: 1 });
  const { join: joined, change: changed } = r.apply("state", { cursor: "c9", users: { a: at(1), b: at(2) }, total: 2 });
  assert.equal(joined.size, 0);
  assert.deepEqual([...changed.keys()], ["a"]);
});

test("nor when all who were in the list have left since", () => {
  const r = roster({ b: at(2) }, { total: 2, truncated: true, window: 1 });
  const { join: joined, change: changed } = r.apply("diff", diff({ a: at(1) }, { b: {} }, { total: 1 }));
  assert.equal(joined.size, 0);
  assert.deepEqual([...changed.keys()], ["a"]);
});

test("a roster told as a state is the same roster", () => {
  const r = roster(JSON.parse('{"__proto__":{"name":"x","status":"busy"},"a":{"name":"A","status":"online"}}'), { total: 2, guests: 1 });
  const other = new Roster();
  other.apply("state", structuredClone(r.state("site")));
  assert.deepEqual(ids(other), ["__proto__", "a"]);
  assert.deepEqual(other.counts, { total: 2, guests: 1 });
  assert.equal(other.cursor, "c1");
  assert.equal(r.state("site").truncated, false);
  r.counts.total = 3;
  assert.equal(r.state("site").truncated, true);
});

test("a diff tells who joined, who changed and who left", () => {
  const r = roster({ a: at(1, "A"), b: at(2, "B") });
  const { join: joined, change: changed, leave: parted } = r.apply("diff", diff({ c: at(3), b: { ...at(2), status: "away" } }, { a: { last_seen: "x" } }));
  assert.deepEqual([...joined.keys()], ["c"]);
  assert.deepEqual([...changed.keys()], ["b"]);
  assert.deepEqual([...parted], [["a", { ...at(1, "A"), last_seen: "x" }]]);
  assert.deepEqual(ids(r), ["c", "b"]);
  assert.equal(r.users.get("b").status, "away");
  assert.equal(r.cursor, "c2");
});

test("a user who changes stays in place, one who came again moves", () => {
  const r = roster({ a: at(1), b: at(2), c: at(3) });
  r.apply("diff", diff({ a: { ...at(1), status: "busy" } }, {}));
  assert.deepEqual(ids(r), ["c", "b", "a"]);
  r.apply("diff", diff({ a: at(9) }, {}));
  assert.deepEqual(ids(r), ["a", "c", "b"]);
});

test("who stands first without a time stays first when the time is told", () => {
  const r = new Roster();
  r.reset({ users: [["me", { name: "Me", status: "online" }], ["a", at(1)]] });
  assert.deepEqual(ids(r), ["me", "a"]);
  const { join: joined } = r.apply("diff", diff({ me: at(2) }, {}));
  assert.deepEqual(ids(r), ["me", "a"]);
  assert.equal(joined.size, 0);
});

test("the same diff twice is as good as once", () => {
  const r = roster({ a: at(1) });
  const d = diff({ b: at(2) }, { a: {} }, { total: 1 });
  r.apply("diff", d);
  r.apply("diff", d);
  assert.deepEqual(ids(r), ["b"]);
  assert.equal(r.counts.total, 1);
});

test("a leave of someone whom a truncated state left out changes only the total", () => {
  const r = roster({ a: at(5) }, { total: 101, truncated: true });
  const { leave: parted } = r.apply("diff", diff({}, { z: { last_seen: "x" } }, { total: 100 }));
  assert.deepEqual(ids(r), ["a"]);
  assert.equal(r.counts.total, 100);
  assert.deepEqual([...parted.keys()], ["z"]);
});

for (const id of ["__proto__", "constructor", "hasOwnProperty", "toString"]) {
  test(`a user called ${id} joins, is listed, leaves`, () => {
    const r = roster({});
    r.apply("diff", JSON.parse(`{"cursor":"c2","joins":{"${id}":{"name":"x","status":"online","since":"2026-11-21T06:57:00Z"}},"leaves":{}}`));
    assert.deepEqual(ids(r), [id]);
    const { leave: parted } = r.apply("diff", JSON.parse(`{"cursor":"c3","joins":{},"leaves":{"${id}":{"last_seen":"x"}}}`));
    assert.deepEqual(ids(r), []);
    assert.ok(parted.has(id));
  });
}

test("counts of a heartbeat and of a count event", () => {
  const r = roster({ a: at(1) }, { total: 1, guests: 0, recent: 1 });
  r.apply("heartbeat", { cursor: "c1", total: 1, guests: 5, recent: 2 });
  assert.deepEqual(r.counts, { total: 1, guests: 5, recent: 2 });
  r.apply("count", { cursor: "c7", total: 20000, guests: 6, recent: 3 });
  assert.deepEqual(r.counts, { total: 20000, guests: 6, recent: 3 });
  assert.deepEqual(ids(r), ["a"]);
});

test("a state, a heartbeat or a count says whether the server knows no more, a diff does not", () => {
  const r = roster({}, { stale: true });
  assert.equal(r.stale, true);
  r.reset({ cursor: "c1", stale: true });
  assert.equal(r.stale, true);
  r.reset({});
  assert.equal(r.stale, false);
  r.apply("state", { cursor: "c1", total: 0, users: {}, stale: true });
  r.apply("diff", diff({}, {}));
  assert.equal(r.stale, true);
  r.apply("heartbeat", { cursor: "c2", total: 0 });
  assert.equal(r.stale, false);
  r.apply("count", { cursor: "c3", total: 0, stale: true });
  assert.equal(r.stale, true);
});

test("an event that no roster has changes nothing, whatever it names", () => {
  const r = roster({ a: at(1) }, { total: 1 });
  for (const type of ["token", "signal", "welcome", "feed", "__proto__", "constructor", "", undefined]) {
    const changes = r.apply(type, diff({ b: at(2) }, { a: {} }, { total: 9, stale: true }));
    assert.deepEqual(Object.values(changes).map(({ size }) => size), [0, 0, 0], type);
    assert.equal(r.lacks(type, { prev: "x", cursor: "y" }), false, type);
  }
  assert.deepEqual([ids(r), r.cursor, r.counts, r.stale], [["a"], "c1", { total: 1 }, false]);
  r.apply("diff", diff({ b: at(2) }, {}, { more: {} }));
  assert.deepEqual([ids(r), r.cursor], [["b", "a"], "c2"]);
});

test("a heartbeat moves no cursor", () => {
  const r = roster({});
  r.apply("heartbeat", { cursor: "c9", total: 0 });
  assert.equal(r.cursor, "c1");
});

test("a status that is not known is online, and fields that are not known stay", () => {
  const r = roster({ a: { ...at(1), status: "gaming", text: "hi" }, b: { ...at(2), status: "constructor" }, c: { name: "C" } });
  assert.deepEqual([...r.users.values()].map(({ status }) => status), ["online", "online", "online"]);
  assert.equal(r.users.get("a").text, "hi");
  r.apply("diff", diff({ a: { ...at(1), status: "busy" } }, {}));
  assert.equal(r.users.get("a").status, "busy");
});

test("a state of a newer kind, without users, is an empty roster", () => {
  const r = roster({ a: at(1) });
  assert.deepEqual([...r.apply("state", { cursor: "c9", total: 0, items: [] }).leave.keys()], ["a"]);
});

test("a gap is seen: a diff from elsewhere, a heartbeat of another version", () => {
  const r = roster({});
  assert.equal(r.lacks("diff", { prev: "c1", cursor: "c2" }), false);
  assert.equal(r.lacks("diff", { prev: "c0", cursor: "c2" }), true);
  assert.equal(r.lacks("heartbeat", { cursor: "c1" }), false);
  assert.equal(r.lacks("heartbeat", { cursor: "c2" }), true);
  assert.equal(r.lacks("state", { cursor: "c5" }), false);
  assert.equal(r.lacks("count", { prev: "c1", cursor: "c5" }), false);
  assert.equal(r.lacks("count", { prev: "c0", cursor: "c5" }), true);
  r.cursor = "";
  assert.equal(r.lacks("count", { prev: "", cursor: "c5" }), true, "a state is awaited");
});
