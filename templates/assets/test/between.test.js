// Something between the page and the server answers in the server's place, a browser refuses what it has, or
// it says what is not so. The page goes on.

import assert from "node:assert/strict";
import test, { mock } from "node:test";

import { happen, pass, restart, server, turn, warnings } from "./browser.js";
import { known, page } from "./page.js";
import { insist, isOurs, queries } from "../asking.js";
import { connect } from "../connect.js";
import { get } from "../link.js";
import { cut } from "../list_post.js";

const html = { "Content-Type": "text/html" };
const problem = { "Content-Type": "application/problem+json" };
const json = { "Content-Type": "application/json" };
const stream = { "Content-Type": "text/event-stream" };

/** What stands between answers: a name, and how it answers an exchange. */
const walls = {
  "a portal's page": (e) => e.wall(200, html, "<!doctype html><title>Sign in</title>"),
  "an empty page": (e) => e.wall(200),
  "nothing": (e) => e.wall(204),
  "a redirect": (e) => e.wall(0),
  ...Object.fromEntries([400, 401, 403, 404, 405, 410, 421, 426, 429, 451, 500, 502, 503, 504, 511, 530].flatMap((status) => [
    [`${status}, HTML`, (e) => e.wall(status, html, "<h1>no</h1>")],
    [`${status}, empty`, (e) => e.wall(status)],
    [`${status}, problem details of its own`, (e) => e.wall(status, problem, JSON.stringify({ type: "about:blank", status, title: "No", detail: "A gateway's word." }))],
  ])),
  "503 for a day": (e) => e.wall(503, { ...html, "Retry-After": "86400" }, "maintenance"),
  "JSON": (e) => e.wall(200, json, "{}"),
  "a stream of something else": (e) => e.wall(200, stream, "hello\n\nevent: message\ndata: {}\n\nevent: welcome\ndata: null\n\n"),
  "a stream that never ends": (e) => e.raw(": wait\n\n"),
  "a reset connection": (e) => e.fail(new TypeError("network")),
  "silence": () => {},
};

/** Lets time pass, in one step. */
async function step(ms) {
  mock.timers.tick(ms);
  await turn();
}

/** Answers whatever the page asks, for some time. */
async function between(ms, answer) {
  for (let left = ms; left > 0; left -= 250) {
    for (const exchange of server.open()) if (exchange.walled !== (exchange.walled = true)) exchange.socket ? exchange.end() : answer(exchange);
    await step(250);
  }
}

/** Lets the page through again, and returns how many ms it took to be live. */
async function through(stream, most = 61_000) {
  for (let ms = 0; ms < most; ms += 250) {
    for (const exchange of server.open()) {
      if (exchange.walled !== true) {
        exchange.walled = true;
        exchange.path.endsWith("/poll") ? exchange.json({ cursor: "c", events: [], heartbeats: [] }) : exchange.welcome();
      }
    }
    await turn();
    if (stream.feeds.live === "on") return ms;
    await step(250);
  }
  return Infinity;
}

for (const [name, answer] of Object.entries(walls)) {
  test(`an open page comes back after ${name}`, async (t) => {
    await restart();
    t.mock.method(Math, "random", () => 0.5);
    const { stream } = page(t);
    await pass(50);
    server.last().welcome();
    await pass(50);
    server.last().end(new TypeError("cut"));
    await between(9000, answer);
    assert.notEqual(stream.feeds.live, "on");
    assert.ok(server.streams().length > 3, `asked ${server.streams().length} times`);
    assert.ok(await through(stream) <= 8000);
    if (/portal|redirect|404, HTML|silence/.test(name)) {
      server.last().end(new TypeError("cut"));
      await between(90_000, answer);
      assert.ok(await through(stream) <= 60_000, "once a minute");
    }
    assert.deepEqual(warnings.filter((text) => !/redirect/.test(text)), [], "a stranger's word is not told");
  });
}

test("an outage that is shorter than the grace ends before it: there is a last try", async (t) => {
  for (const random of [0, 0.5, 0.999]) {
    await restart();
    t.mock.method(Math, "random", () => random);
    const { stream } = page(t);
    await pass(50);
    server.last().welcome({ grace: 10 });
    await pass(50);
    server.last().end(new TypeError("cut"));
    await between(9000, walls["404, HTML"]);
    assert.ok(await through(stream) <= 1000, `${random}`);
  }
});

test("the server's own word is the last, and is told", async (t) => {
  for (const status of [400, 401, 403, 404, 426]) {
    await restart();
    const { stream } = page(t);
    await pass(50);
    server.last().refuse(status, problem, JSON.stringify({ status, detail: `Because of ${status}.` }));
    await pass(300_000);
    assert.deepEqual([server.streams().length, stream.feeds.live], [1, "off"]);
    assert.equal(warnings.at(-1), `presence: Because of ${status}.`);
  }
});

test("the server's own word is not the last where it says so", async (t) => {
  for (const status of [408, 429, 500, 503]) {
    await restart();
    const { stream } = page(t);
    await pass(50);
    server.last().refuse(status, problem, "{}");
    await pass(50);
    assert.ok(await through(stream) < 3000, `${status}`);
  }
});

test("a page that comes into view asks at once", async (t) => {
  await restart();
  const { stream } = page(t);
  await pass(50);
  await between(60_000, walls["a redirect"]);
  const before = server.streams().length;
  stream.look();
  await turn();
  assert.equal(server.streams().length, before + 1);
});

test("a poll that something else answers says nothing", async (t) => {
  for (const body of ["{}", '{"cursor":"c"}', '{"events":[]}', '{"cursor":"c","events":{}}', "null", '{"cursor":"c","eve', "<p>"]) {
    await restart();
    sessionStorage.presence = 2;
    const { stream, lives } = page(t);
    await pass(50);
    server.last().wall(200, json, body);
    await pass(50);
    assert.equal(lives.includes("on"), false, body);
    assert.ok(await through(stream) < 5000, body);
  }
});

const undo = [];

/** Makes something of the browser refuse, until all is undone. */
function refuse(of, name, value) {
  const was = Object.getOwnPropertyDescriptor(of, name);
  undo.unshift(() => (was ? Object.defineProperty(of, name, was) : delete of[name]));
  Object.defineProperty(of, name, { configurable: true, ...value });
}

const thrower = () => {
  throw new DOMException("The operation is insecure.", "SecurityError");
};
const never = () => new Promise(() => {});
const refusing = class {
  constructor() {
    thrower();
  }
};
/** What a browser refuses: on which object, and how. */
const refusals = {
  "locks that are not there": () => refuse(navigator, "locks", { value: undefined }),
  "locks that throw": () => refuse(navigator, "locks", { get: thrower }),
  "locks that refuse": () => refuse(navigator, "locks", { value: { request: () => Promise.reject(new Error("no")) } }),
  "locks that never answer": () => refuse(navigator, "locks", { value: { request: never } }),
  "no channel": () => refuse(globalThis, "BroadcastChannel", { value: undefined }),
  "a channel that throws": () => refuse(globalThis, "BroadcastChannel", { value: refusing }),
  "a channel that does not send": () => refuse(BroadcastChannel.prototype, "postMessage", { value: thrower }),
  "a channel that swallows": () => refuse(BroadcastChannel.prototype, "postMessage", { value: () => {} }),
  "storage that throws": () => refuse(globalThis, "sessionStorage", { get: thrower }),
  "no AbortController": () => refuse(globalThis, "AbortController", { value: refusing }),
  "sendBeacon that throws": () => refuse(navigator, "sendBeacon", { value: thrower }),
  "a WebSocket that throws": () => refuse(globalThis, "WebSocket", { value: refusing }),
  "a browser that says it is offline": () => refuse(navigator, "onLine", { value: false }),
};
refusals["all of it"] = () => Object.entries(refusals).forEach(([name, how]) => name !== "all of it" && how());

for (const [name, how] of Object.entries(refusals)) {
  test(`the page helps itself within two seconds: ${name}`, async (t) => {
    await restart();
    t.after(() => undo.splice(0).forEach((each) => each()));
    how();
    const tabs = [page(t), page(t, { topics: { "thread:1": known("t.1") } })];
    for (const { stream } of tabs) assert.ok(await through(stream, 3000) <= 2250, name);
    const [{ stream }] = tabs;
    server.streams().forEach((exchange) => exchange.end(new TypeError("cut")));
    await between(9000, walls["404, HTML"]);
    assert.ok(await through(stream) <= 8000);
    stream.pause(true);
    stream.resume();
    assert.ok(await through(stream, 4000) <= 2250);
  });
}

test("without fetch the page uses a WebSocket", async (t) => {
  for (const value of [thrower, () => Promise.reject(new TypeError("refused"))]) {
    await restart();
    t.mock.method(globalThis, "fetch", value);
    const { stream } = page(t, { me: "" });
    assert.ok(await through(stream, 4000) <= 2000);
    t.mock.restoreAll();
  }
});

test("a page that still runs is not frozen", async (t) => {
  await restart();
  const client = connect({ src: "/frozen", known: { cursor: "s.1" } });
  t.after(client.close);
  await pass(50);
  server.last().welcome();
  await pass(50);
  happen("freeze", {}, document);
  await pass(5000);
  assert.equal(server.open().length, 0);
  await pass(6000);
  assert.equal(server.open().length, 1);
});

test("what is asked beside the stream is asked until the server answers", async (t) => {
  for (const [name, answer] of Object.entries(walls)) {
    if (name === "a stream that never ends") continue;
    await restart();
    const answered = insist(get, "/presence/users?id=bob", "users", () => true);
    for (let ms = 0; ms < 40_000; ms += 1000) {
      for (const exchange of server.all) if (exchange.open && exchange.walled !== (exchange.walled = true)) answer(exchange);
      await step(1000);
    }
    let found;
    answered.then((data) => (found = data));
    for (let ms = 0; ms < 95_000 && !found; ms += 1000) {
      for (const exchange of server.all) if (exchange.open) exchange.json({ users: { bob: { online: true } } });
      await step(1000);
    }
    assert.deepEqual(found, { users: { bob: { online: true } } }, name);
  }
  for (const [status, wanted] of [[403, true], [0, false]]) {
    await restart();
    const answered = insist(get, "/presence/users?id=bob", "users", () => wanted || !server.all.length);
    await turn();
    server.all.at(-1)[status ? "refuse" : "wall"](status, problem, "{}");
    await pass(2000);
    assert.equal(await answered, "");
    assert.equal(server.all.length, 1);
  }
  assert.equal(isOurs(undefined), false);
});

const hindi = (n) => Array.from({ length: n }, (_, i) => "उपयोगकर्ता".repeat(4).slice(0, 41) + String.fromCodePoint(0x0915 + (i % 30)) + i);

test("no address is longer than proxies take, whatever the script of the names", async (t) => {
  assert.ok(hindi(1).every((id) => new TextEncoder().encode(id).length > 110));
  const asked = queries("id", hindi(200), { topic: "site" });
  assert.ok(asked.every((query) => query.length <= 2048), "" + asked.map(({ length }) => length));
  assert.deepEqual(asked.flatMap((query) => new URLSearchParams(query).getAll("id")), hindi(200));
  assert.ok(asked.every((query) => new URLSearchParams(query).get("topic") === "site"));
  assert.deepEqual(queries("id", Array.from({ length: 250 }, (_, i) => "u" + i)).map((query) => new URLSearchParams(query).size), [100, 100, 50]);
  assert.deepEqual(queries("id", []), []);
  for (const ids of [hindi(5), hindi(60), hindi(500)]) {
    for (const transport of [0, 1, 2]) {
      await restart();
      sessionStorage.presence = transport;
      const topics = Object.fromEntries(ids.flatMap((id) => [[id + "\nalso", undefined], [id + "\nperson", undefined]]));
      page(t, { topics: { site: undefined, people: undefined, ...topics } });
      await pass(50);
      const { url, form, socket, query, sent } = server.last();
      assert.ok(url.search.length <= 2048, `${url.search.length} bytes`);
      assert.deepEqual(query.getAll("topic"), ["people", "site"]);
      if (!socket) assert.deepEqual(form.getAll("also").length, ids.length);
      socket?.onopen();
      if (socket) assert.deepEqual(sent[0].users.length, ids.length);
    }
  }
});

test("many topics with long names go into the body too", async (t) => {
  await restart();
  page(t, { topics: Object.fromEntries(Array.from({ length: 16 }, (_, i) => ["t:".repeat(63) + i, known("c".repeat(60) + i)])) });
  await pass(50);
  const { url, form, query } = server.last();
  assert.ok(url.search.length <= 2048);
  assert.deepEqual([form.getAll("topic").length, form.get("cursor").split("~").length, query.has("topic")], [16, 16, false]);
});

test("an address is cut by bytes and by users", () => {
  const long = "/presence/ws?topic=site&cursor=" + "c".repeat(50) + hindi(30).map((id) => "&" + new URLSearchParams({ also: id })).join("");
  const [url, left] = cut(long);
  const kept = new URLSearchParams(url.split("?")[1]).getAll("also");
  assert.ok(url.length <= 2000 && url.length > 1500);
  assert.deepEqual([...kept, ...left], hindi(30));
  const [short, rest] = cut("/presence/ws?topic=site" + Array.from({ length: 61 }, (_, i) => "&also=u" + i).join(""));
  assert.deepEqual([short.split("also=").length - 1, rest], [60, ["u60"]]);
  assert.equal(new URLSearchParams(cut("/p?topic=site&cursor=" + "c".repeat(2000))[0].split("?")[1]).has("cursor"), false);
});
