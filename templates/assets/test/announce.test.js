import assert from "node:assert/strict";
import test, { beforeEach, mock } from "node:test";

import { Announcer } from "../announce.js";

let said;
const announcer = (of = "") =>
  new Announcer((came, went) => said.push(`${of}+${came.join()} -${went.join()} @${Date.now()}`));

// A day of its own for each test, for the last word of the one before is heard of.
let day = 0;
beforeEach(() => {
  mock.timers.reset();
  mock.timers.enable({ apis: ["setTimeout", "Date"], now: 0 });
  mock.timers.setTime((day += 1) * 86_400_000);
  said = [];
});
const since = (ms) => day * 86_400_000 + ms;

test("what happens at once is one word, after a moment", () => {
  const a = announcer();
  a.note("alice", "Alice", true);
  mock.timers.tick(500);
  a.note("bob", "Bob", true);
  a.note("carol", "Carol", false);
  mock.timers.tick(499);
  assert.deepEqual(said, []);
  mock.timers.tick(1);
  assert.deepEqual(said, [`+Alice,Bob -Carol @${since(1000)}`]);
});

test("from one word to the next are ten seconds, of all topics together", () => {
  const [a, b] = [announcer("site"), announcer("thread")];
  a.note("alice", "Alice", true);
  mock.timers.tick(1000);
  a.note("bob", "Bob", true);
  b.note("bob", "Bob", true);
  mock.timers.tick(5000);
  a.note("carol", "Carol", true);
  mock.timers.tick(4999);
  assert.equal(said.length, 1);
  mock.timers.tick(1);
  assert.deepEqual(said.slice(1), [`site+Bob,Carol - @${since(11_000)}`, `thread+Bob - @${since(11_000)}`]);
  mock.timers.tick(60_000);
  assert.equal(said.length, 3, "nothing is said twice");
});

test("who came and went meanwhile did nothing", () => {
  const a = announcer();
  a.note("alice", "Alice", true);
  a.note("alice", "Alice", false);
  a.note("bob", "Bob", false);
  a.note("bob", "Bob", true);
  mock.timers.tick(1000);
  mock.timers.tick(59_000);
  assert.deepEqual(said, []);
  a.note("carol", "Carol", true);
  mock.timers.tick(1000);
  assert.deepEqual(said, [`+Carol - @${since(61_000)}`]);
});

test("a user called __proto__ is named", () => {
  const a = announcer();
  a.note("__proto__", "__proto__", true);
  mock.timers.tick(1000);
  assert.deepEqual(said, [`+__proto__ - @${since(1000)}`]);
});
