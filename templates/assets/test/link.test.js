import assert from "node:assert/strict";
import test, { mock } from "node:test";

import { pass, restart, server, turn, warnings } from "./browser.js";
import { Feeds } from "../feeds.js";
import { openLink } from "../link.js";

/** A link, and what it told. */
function open(t, { me = "", idle = () => false, src = "/presence" } = {}) {
  const said = [];
  const refused = [];
  const link = openLink(src, { me, idle }, {
    query: () => new URLSearchParams("topic=site&cursor=" + said.filter((s) => s.startsWith("diff")).length),
    live(live, user, topics) {
      said.push(live);
      if (live === "on") refused.push(topics);
    },
    hear(type, data) {
      new Feeds().take(type, data, [], 1);
      if (type !== "welcome") said.push(`${type} ${JSON.stringify(data)}`);
    },
    refused: (status) => said.push("refused " + status),
  });
  t.after(() => link.close());
  return { ...link, said, refused };
}

const paths = () => server.streams().map(({ path }) => path.slice("/presence/".length));

test("events come as they were sent, however they are cut", async (t) => {
  await restart();
  const { said } = open(t);
  await turn();
  assert.equal(server.last().url.search, "?topic=site&cursor=0");
  for (const part of ["retr", "y: 2000\nevent: wel", "come\ndata: {}\n", "\n: keep-alive\n\nevent: diff\nid: x\ndata: {\"a\":\"ü", "\"}\n\nevent: diff\ndata: {\"b\":1}\n\n"]) {
    server.last().raw(part);
    await turn();
  }
  assert.deepEqual(said, ["on", 'diff {"a":"ü"}', 'diff {"b":1}']);
});

test("events are asked for as EventSource asks, for what stands on the way", async (t) => {
  await restart();
  open(t);
  await turn();
  assert.equal(server.last().headers.get("Accept"), "text/event-stream");
});

test("a stream that ends is taken up again, from where it was, when the server says", async (t) => {
  await restart();
  const { said } = open(t);
  await turn();
  server.last().welcome();
  server.last().send("diff", {});
  server.last().raw("retry: 1700\n");
  await turn();
  server.last().end();
  await pass(1690);
  assert.equal(server.streams().length, 1);
  await pass(20);
  assert.equal(server.streams().length, 2);
  assert.equal(server.last().query.get("cursor"), "1");
  assert.deepEqual(said, ["on", "diff {}", "connecting", "connecting"]);
});

test("what fails is tried again later and later; the fourth time by other ways, without a wait", async (t) => {
  await restart();
  t.mock.method(Math, "random", () => 0.5);
  const { said } = open(t);
  await turn();
  server.last().fail(new TypeError("network"));
  await pass(990);
  assert.deepEqual(paths(), ["events"]);
  await pass(20);
  server.last().refuse(502);
  await pass(1990);
  assert.deepEqual(paths(), ["events", "events"]);
  await pass(20);
  server.last().refuse(502);
  await turn();
  assert.deepEqual(paths().slice(2), ["events"]);
  await pass(4000);
  server.last().refuse(502);
  await turn();
  server.last().end();
  await turn();
  server.last().refuse(502);
  await turn();
  assert.deepEqual(paths().slice(3), ["events", "ws", "poll"]);
  await pass(7990);
  assert.equal(paths().length, 6);
  await pass(20);
  assert.deepEqual(paths().slice(6), ["events"], "all anew");
  assert.deepEqual(said.slice(0, 2), ["off", "connecting"]);
  server.last().welcome();
  await turn();
  assert.equal(said.at(-1), "on");
});

test("no wait is longer than a minute, whatever an answer asks for", async (t) => {
  await restart();
  t.mock.method(Math, "random", () => 0.999);
  const { arrived } = open(t);
  for (let i = 0; i < 40; i++) {
    await turn();
    server.last().open && server.last().wall(502, { "Retry-After": "86400" });
    if (i > 30) await pass(60_000);
    else await pass(10);
    if (i <= 30) arrived(); // wakes it
  }
  const before = server.streams().length;
  await turn();
  server.last().wall(502, { "Retry-After": "86400" });
  await pass(60_000);
  assert.ok(server.streams().length > before);
});

test("a proxy that collects answers: WebSocket after three seconds, and remembered", async (t) => {
  await restart();
  const { said, close } = open(t);
  await turn();
  server.last().begin();
  await pass(2990);
  assert.deepEqual(paths(), ["events"]);
  await pass(20);
  assert.deepEqual(paths(), ["events", "ws"]);
  assert.equal(server.open().length, 1, "the first was given up");
  server.last().welcome();
  server.last().send("diff", { a: 1 });
  await turn();
  assert.deepEqual(said, ["on", 'diff {"a":1}']);
  close();
  open(t);
  await turn();
  assert.deepEqual(paths(), ["events", "ws", "ws"]);
});

test("nor WebSocket: long poll, patient as far as answers get through", async (t) => {
  await restart();
  const { said } = open(t);
  await turn();
  server.last().begin();
  await pass(3010);
  server.last().end();
  await turn();
  assert.deepEqual(paths(), ["events", "ws", "poll"]);
  const waits = [];
  for (let i = 0; i < 7; i++) {
    waits.push(server.last().query.get("wait"));
    server.last().json({ cursor: "c", events: [{ event: "diff", data: { i } }], heartbeats: [{ topic: "site" }] });
    await turn();
  }
  assert.deepEqual(waits, ["1", "2", "4", "8", "16", "25", "25"]);
  assert.deepEqual(said.slice(0, 4), ["on", 'diff {"i":0}', 'heartbeat {"topic":"site"}', "on"]);
  assert.equal(server.last().query.get("cursor"), "7");
  assert.equal(sessionStorage.presence, 2);
  server.last().refuse(504); // cut: from a second on again, by the same way
  await pass(2000);
  assert.deepEqual(paths().slice(-2), ["poll", "poll"]);
  assert.equal(server.last().query.get("wait"), "1");
});

test("a browser that may not remember streams all the same", async (t) => {
  await restart();
  Object.defineProperty(globalThis, "sessionStorage", { get: () => { throw new Error("denied"); }, configurable: true });
  t.after(() => Object.defineProperty(globalThis, "sessionStorage", { value: {}, writable: true, configurable: true }));
  const { said } = open(t);
  await turn();
  server.last().welcome();
  await turn();
  assert.deepEqual(said, ["on"]);
});

test("a refusal ends it, but too much for now is no refusal", async (t) => {
  for (const [status, want] of [[429, "off"], [503, "off"], [500, "off"], [401, "refused 401"], [403, "refused 403"], [400, "refused 400"]]) {
    await restart();
    const { said, close } = open(t);
    await turn();
    server.last().refuse(status);
    await turn();
    assert.deepEqual(said, [want], String(status));
    await pass(2000);
    assert.equal(server.streams().length, want !== "off" ? 1 : 2, String(status));
    close();
  }
});

test("Retry-After is kept, and no other way tried meanwhile", async (t) => {
  await restart();
  t.mock.method(Math, "random", () => 0.5);
  open(t);
  for (const backoff of [1000, 2000, 4000, 8000]) {
    await turn();
    const before = server.streams().length;
    server.last().refuse(503, { "Retry-After": "20" });
    await pass(20_000 + backoff - 20);
    assert.equal(server.streams().length, before, `before ${backoff}`);
    await pass(40);
    assert.equal(server.streams().length, before + 1, `after ${backoff}`);
  }
  assert.deepEqual(new Set(paths()), new Set(["events"]));
});

test("that the network came or went is asked of the server: at once, and then at the usual pauses", async (t) => {
  await restart();
  const { said, doubt } = open(t);
  await turn();
  server.last().welcome();
  await turn();
  navigator.onLine = false;
  doubt();
  await pass(1500);
  assert.deepEqual([server.streams().length, server.open().length], [2, 1]);
  server.last().welcome();
  await turn();
  assert.equal(said.at(-1), "on", "the browser was wrong");
  doubt();
  await pass(1500);
  const before = server.streams().length;
  for (let i = 0; i < 20; i++) {
    for (const exchange of server.open()) exchange.end(new TypeError("network")); // it was right
    await pass(1000);
  }
  assert.ok(server.streams().length > before + 3);
  for (let i = 0; i < 5; i++) {
    for (const exchange of server.open()) exchange.end(new TypeError("network"));
    await turn();
  }
  const asked = server.streams().length;
  doubt();
  await turn();
  assert.equal(server.streams().length, asked + 1, "it waits no longer");
});

test("a stream that falls silent is dead", async (t) => {
  await restart();
  const { said } = open(t);
  await turn();
  server.last().welcome({ heartbeat: 15 });
  await pass(30_000);
  server.last().send("heartbeat", {});
  await pass(32_000);
  assert.equal(said.at(-1), "heartbeat {}");
  await pass(1500);
  assert.equal(said.at(-1), "connecting");
  await pass(2000);
  assert.deepEqual(paths(), ["events", "events"]);
});

test("beats answer what the server says, and need no timer", async (t) => {
  await restart();
  open(t, { me: "alice" });
  await turn();
  assert.deepEqual(["beat", "me", "idle"].map((name) => server.last().query.getAll(name).join()), ["auto", "alice", ""]);
  server.last().welcome();
  await turn();
  mock.timers.setTime(Date.now() + 19_900); // no timer fires
  server.last().send("diff", {});
  await turn();
  assert.equal(server.posts("/beat").length, 0, "too early");
  mock.timers.setTime(Date.now() + 200);
  server.last().send("heartbeat", {});
  server.last().send("diff", {});
  await turn();
  assert.deepEqual(server.posts("/beat").map(({ method, body }) => [method, body]), [["POST", { connection: "n.1~site", idle: false }]]);
});

test("a page beats as often as the server says, by its own clock where nothing happens", async (t) => {
  for (const [welcome, every] of [[{}, 20_000], [{ beat: 8.888 }, 8_888]]) {
    await restart();
    const { close } = open(t, { me: "alice" });
    await turn();
    server.last().welcome(welcome);
    for (let n = 0; n < 3; n++) {
      await pass(every - 200 - 300 * +(n > 0));
      server.last().send("diff", {});
      await turn();
      assert.equal(server.posts("/beat").length, n, `${every}: too early`);
      await pass(500);
      server.last().send("diff", {});
      await turn();
      assert.equal(server.posts("/beat").length, n + 1, `${every}: in time, and once`);
    }
    close();
  }
});

test("over a WebSocket a page beats only when its visitor goes or comes", async (t) => {
  await restart();
  let away = false;
  const link = open(t, { me: "alice", idle: () => away });
  const beats = () => server.posts("/beat").map(({ body }) => body.idle);
  const rest = async () => {
    for (let i = 0; i < 40; i++) {
      await pass(15_000);
      server.last().send("heartbeat", {});
      await turn();
    }
  };
  await turn();
  server.last().welcome({ beat: 0 });
  await rest();
  link.beat();
  assert.deepEqual(beats(), []);
  away = true;
  server.last().send("heartbeat", {});
  await turn();
  assert.deepEqual(beats(), [true]);
  await rest();
  assert.deepEqual(beats(), [true]);
  away = false;
  link.beat();
  await turn();
  assert.deepEqual(beats(), [true, false], "without an event");
  await rest();
  assert.deepEqual(beats(), [true, false]);
  assert.equal(server.streams().length, 1);
});

test("that the visitor went is said again until the server has heard it", async (t) => {
  await restart();
  let away = false;
  open(t, { me: "alice", idle: () => away });
  await turn();
  server.last().welcome({ beat: 0 });
  away = true;
  for (const [status, n] of [[503, 1], [429, 2], [204, 3], [204, 3]]) {
    server.beat = () => status;
    for (let i = 0; i < 10; i++) server.last().send("diff", {});
    await pass(9_900);
    assert.equal(server.posts("/beat").length, n, `${status}`);
  }
  assert.deepEqual(new Set(server.posts("/beat").map(({ body }) => body.idle)), new Set([true]));
});

test("a guest has nothing to prove", async (t) => {
  await restart();
  open(t);
  await turn();
  assert.equal(server.last().query.has("beat"), false);
  server.last().welcome();
  await pass(21_000);
  server.last().send("heartbeat", {});
  await turn();
  assert.equal(server.posts("/beat").length, 0);
});

test("what a newer server adds is passed over: events, data that is no JSON, fields of a welcome", async (t) => {
  await restart();
  const { said } = open(t);
  await turn();
  server.last().welcome({ v: 2, speaks: ["token"], app: null });
  server.last().raw("event: ping\ndata: not JSON\n\nevent: token\ndata: null\n\ndata: {}\n\nevent: signal\ndata: {\"a\":1}\nextra: x\n\n");
  server.last().send("diff", {});
  await pass(100);
  assert.deepEqual(said, ["on", 'signal {"a":1}', "diff {}"]);
  assert.equal(server.streams().length, 1);
});

test("the same by WebSocket and by long poll", async (t) => {
  await restart();
  sessionStorage.presence = 1;
  const { said, close } = open(t);
  await turn();
  server.last().welcome();
  for (const data of ["not JSON", "null", "[]", '{"event":"token"}', '{"event":"ping","data":null}']) server.last().socket.onmessage({ data });
  server.last().send("diff", {});
  await turn();
  assert.deepEqual(said, ["on", "diff {}"]);
  close();
  sessionStorage.presence = 2;
  const poll = open(t);
  await turn();
  server.last().json({ cursor: "c", more: 1, events: [{ event: "token" }, { event: "diff", data: {}, x: 1 }] });
  await turn();
  assert.deepEqual(poll.said, ["on", "diff {}"]);
  assert.equal(server.streams().at(-1).path, "/presence/poll");
  assert.equal(server.open().length, 1);
});

test("a connection that the server has lost is opened again", async (t) => {
  await restart();
  open(t, { me: "alice", idle: () => true });
  await turn();
  assert.equal(server.last().query.get("idle"), "1");
  server.last().welcome();
  await pass(19_900);
  server.beat = ({ connection }) => (connection === "n.1~site" ? 410 : 204);
  server.last().send("heartbeat", {});
  await pass(2000);
  assert.deepEqual(server.posts("/beat")[0].body, { connection: "n.1~site", idle: true });
  assert.equal(server.streams().length, 2);
  server.last().welcome({ connection: "n.2~site" });
  await pass(19_900);
  server.last().send("heartbeat", {});
  await pass(2000);
  assert.equal(server.posts("/beat").at(-1).body.connection, "n.2~site");
  assert.equal(server.streams().length, 2, "the fresh one is good");
});

/** Lets a page of alice beat, and has the server answer with a status. */
async function refuseBeat(t, status, src) {
  await restart();
  const { said, close } = open(t, { me: "alice", src });
  await turn();
  server.last().welcome();
  await pass(19_900);
  server.beat = () => status;
  server.last().send("heartbeat", {});
  await pass(2000);
  return { said, close };
}

test("after a beat that is refused, the next connection holds the user online without beats, and the one after that beats again", async (t) => {
  for (const status of [400, 403, 500, 302, 200]) {
    const { said, close } = await refuseBeat(t, status, `/refused${status}`);
    assert.deepEqual([server.streams().length, server.open().length], [2, 1], `${status}: it is opened anew`);
    assert.deepEqual(["beat", "nobeat", "me"].map((name) => server.last().query.get(name)), [null, String(status), "alice"]);
    server.last().welcome({ connection: "n.2~site" });
    for (let i = 0; i < 3; i++) {
      await pass(12_000);
      server.last().send("heartbeat", {});
    }
    await turn();
    assert.equal(server.posts("/beat").length, 1, String(status));
    server.beat = () => 204; // what refused it has gone
    server.last().end();
    await pass(3000);
    assert.deepEqual(["beat", "nobeat"].map((name) => server.last().query.get(name)), ["auto", null], String(status));
    server.last().welcome({ connection: "n.3~site" });
    await pass(21_000);
    assert.equal(server.posts("/beat").at(-1).body.connection, "n.3~site");
    assert.equal(said[0], "on");
    assert.equal(warnings.length, 1, warnings.join());
    assert.match(warnings[0], /^presence: .*POST \/refused.*CSRF/);
    assert.match(warnings[0], status === 302 ? /a redirect/ : RegExp(`status ${status}`));
    close();
  }
});

test("a beat without an answer, or with one for now only, is no refusal", async (t) => {
  for (const status of [204, 408, 429, 502, 503, 504]) {
    const { close } = await refuseBeat(t, status);
    assert.equal(server.streams().length, 1, String(status));
    await pass(status === 204 ? 18_000 : 8000);
    server.last().send("heartbeat", {});
    await pass(500);
    assert.deepEqual([server.posts("/beat").length, warnings.length], [2, 0], String(status));
    close();
  }
  await restart();
  open(t, { me: "alice" });
  await turn();
  server.last().welcome();
  t.mock.method(globalThis, "fetch", () => Promise.reject(new TypeError("network")));
  await pass(19_900);
  server.last().send("heartbeat", {});
  await pass(2000);
  assert.deepEqual([server.streams().length, warnings.length], [1, 0], "no network");
});

test("a beat that is refused beside a WebSocket", async (t) => {
  await restart();
  sessionStorage.presence = 1;
  open(t, { me: "alice", src: "/ws-refused" });
  await turn();
  server.last().welcome();
  await pass(19_900);
  server.beat = () => 403;
  server.last().send("heartbeat", {});
  await pass(2000);
  assert.deepEqual([server.last().path, server.last().query.get("nobeat"), server.last().query.get("beat")], ["/ws-refused/ws", "403", null]);
});

test("an answer to a beat of a link that is closed decides nothing", async (t) => {
  await restart();
  const page = { me: "alice", idle: () => false };
  const link = openLink("/closed", page, { query: () => "topic=site", live: () => {}, hear: () => {}, refused: () => {} });
  await turn();
  server.last().welcome();
  server.beat = () => 401;
  await pass(19_900);
  server.last().send("heartbeat", {});
  link.close(); // such as when somebody else has signed in
  await turn();
  assert.equal(page.nobeat, undefined);
});

test("a server that is slow to answer is waited for longer with each round of tries, up to 12 s", async (t) => {
  await restart();
  t.mock.method(Math, "random", () => 0.5);
  const { said } = open(t);
  for (const [round, ms] of [3000, 6000, 9000, 12_000, 3000].entries()) {
    await turn();
    for (let way = 0; way < 3; way++) {
      assert.equal(server.streams().length, 3 * round + way + 1);
      await pass(ms - 10);
      assert.equal(server.streams().length, 3 * round + way + 1, `round ${round}: ${ms} ms`);
      await pass(20);
    }
    assert.equal(said.at(-1), "off");
    await pass(1000 * 2 ** round);
  }
});

test("the console has the server's warnings, each once", async (t) => {
  await restart();
  const { close } = open(t);
  await turn();
  server.last().welcome({ warnings: ["The middleware is missing.", "The proxy has no name."] });
  await turn();
  server.last().end();
  await pass(3000);
  server.last().welcome({ warnings: ["The middleware is missing."] });
  await turn();
  assert.deepEqual(warnings, ["presence: The middleware is missing.", "presence: The proxy has no name."]);
  close();
});

test("the console has why a request was refused, once", async (t) => {
  await restart();
  open(t);
  const problem = [{ "Content-Type": "application/problem+json" }, JSON.stringify({ status: 500, detail: "Something collects answers." })];
  for (let i = 0; i < 3; i++) {
    await turn();
    server.last().refuse(500, ...problem);
    await pass(19_900);
  }
  assert.ok(server.streams().length > 2);
  assert.deepEqual(warnings, ["presence: Something collects answers."]);
});

test("an answer that explains nothing is not told", async (t) => {
  for (const [type, body] of [["text/html", "<p>no"], ["application/problem+json", "no JSON"], ["application/problem+json", "{}"]]) {
    await restart();
    const { close } = open(t);
    await turn();
    server.last().refuse(500, { "Content-Type": type }, body);
    await pass(100);
    assert.deepEqual(warnings, []);
    close();
  }
});

test("the topics that the visitor may not follow are named by welcome, and by the answer of a poll", async (t) => {
  for (const transport of [0, 1]) {
    await restart();
    sessionStorage.presence = transport;
    const { refused, close } = open(t);
    await turn();
    server.last().welcome({ refused: ["page:a", "page:b"] });
    await turn();
    server.last().end();
    await pass(3000);
    server.last().welcome();
    await turn();
    assert.deepEqual(refused, ["page:a,page:b", ""]);
    close();
  }
  await restart();
  sessionStorage.presence = 2;
  const { refused } = open(t);
  for (const answer of [{ refused: ["page:a"], warnings: ["Of a poll."] }, {}]) {
    await turn();
    server.last().json({ cursor: "c", events: [], ...answer });
  }
  await turn();
  assert.deepEqual([refused, warnings], [["page:a", ""], ["presence: Of a poll."]]);
});

test("what is closed stays closed, and says nothing", async (t) => {
  for (const moment of ["before", "open", "waiting"]) {
    await restart();
    const { said, close } = open(t);
    await turn();
    if (moment === "open") server.last().welcome();
    if (moment === "waiting") server.last().refuse(503);
    await turn();
    const before = [...said];
    close();
    await pass(100_000);
    assert.equal(server.open().length, 0, moment);
    assert.equal(server.streams().length, 1, moment);
    assert.deepEqual(said, before, moment);
  }
});
