// Who the page is for: a visitor signs in or out without loading it.

import assert from "node:assert/strict";
import test from "node:test";

import { pass, restart, server, turn } from "./browser.js";
import { user, known, diff, page, cursors, followed, greet } from "./page.js";

test("a guest signs in: the page goes on as that user, with what it shows", async (t) => {
  await restart();
  const p = page(t, { me: "", topics: { site: known("s.1", "a"), "thread:1": known("t.1") } });
  await pass(30);
  await greet("");
  server.last().send("diff", diff("s.1", "s.2", { alice: user(9) })); // of her page view
  await turn();
  p.stream.become("alice");
  p.watch("site", { ...known("s.1", "a", "alice") });
  await pass(50);
  assert.deepEqual([server.streams().length, server.open().length], [2, 1]);
  const { query, topics } = server.last();
  assert.deepEqual([query.get("me"), query.get("beat"), topics.join()], ["alice", "auto", "site,thread:1"]);
  assert.equal(cursors(), "s.2~t.1");
  await greet("alice");
  server.last().send("diff", diff("s.2", "s.3", { carol: user(10) }));
  await turn();
  assert.deepEqual([p.ids("site"), p.stream.feeds.live], ["carol,alice,a", "on"]);
  assert.ok(!p.told.includes("-alice"), p.told.join());
  assert.ok(!p.lives.includes("off"), p.lives.join());
  await pass(20_100);
  assert.equal(server.posts("/beat").length, 1, "she beats");
  p.stream.become("alice");
  await pass(50);
  assert.equal(server.streams().length, 2, "the same user: nothing is opened");
});

test("alice signs out, and bob in, on the same page", async (t) => {
  for (const soon of [true, false]) {
    await restart();
    const p = page(t);
    await pass(30);
    await greet("alice");
    server.last().end(); // signed out
    if (soon) p.stream.become(""); // the page after signing out comes first
    await pass(2500);
    await greet("");
    if (!soon) p.stream.become("");
    await pass(50);
    await greet("");
    assert.deepEqual([server.open().length, server.last().query.get("me"), p.stream.feeds.live], [1, null, "on"]);
    server.beat = () => 403; // hears nothing of it
    p.stream.become("bob");
    await pass(50);
    assert.deepEqual([server.open().length, server.last().query.get("me"), server.last().query.get("beat")], [1, "bob", "auto"]);
    await greet("bob");
    const other = page(t, { me: "bob" });
    await pass(50);
    assert.equal(server.open().length, 1, "bob's other tab shares it");
    assert.deepEqual([p, other].map(({ stream }) => stream.feeds.live), ["on", "on"]);
  }
});

test("a page that says signed out goes on as the user for whom it gets an element", async (t) => {
  for (const next of ["bob", "alice"]) {
    await restart();
    const p = page(t);
    await pass(30);
    server.last().refuse(401);
    await pass(30);
    assert.equal(p.stream.feeds.live, "off");
    p.stream.become(next);
    await pass(50);
    assert.equal(server.last().query.get("me"), next);
    await greet(next);
    assert.equal(p.stream.feeds.live, "on");
  }
});

test("a page that followed as a guest after signing out goes on as the user who signs in again", async (t) => {
  await restart();
  const p = page(t);
  await pass(30);
  await greet("alice");
  server.last().end();
  await pass(2500);
  await greet("");
  p.stream.become("alice");
  await pass(50);
  await greet("alice");
  const other = page(t);
  await pass(50);
  assert.deepEqual([server.open().length, other.stream.feeds.live], [1, "on"], "as any page of alice's");
});

test("the page view of the next user tells the server when another tab's connection shows it", async (t) => {
  await restart();
  page(t, { me: "bob" });
  await pass(50);
  await greet("bob");
  const p = page(t);
  await pass(50);
  await greet("alice");
  p.stream.become("bob");
  await pass(100);
  assert.equal(followed().length, 1);
  p.stream.become("");
  await pass(100);
  await greet("");
  assert.equal(followed().length, 1, "a guest's does not");
});

test("a page that becomes another user's while it is hidden connects when it is shown", async (t) => {
  await restart();
  const p = page(t);
  await pass(30);
  p.stream.pause();
  p.stream.become("bob");
  await pass(50);
  assert.equal(server.open().length, 0);
  p.stream.resume();
  await pass(50);
  assert.equal(server.last().query.get("me"), "bob");
});
