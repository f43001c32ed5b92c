// What the client needs of a browser, and a server, as tests play them. Import it
// before any module of the client: those look at the page when they are loaded.

import { mock } from "node:test";

// Or whoever needs one first would wait for the disk.
import "../announce.js";
import "../asking.js";
import "../complaints.js";
import "../detours.js";
import "../dots.js";
import "../list_post.js";
import "../people.js";
import "../serve.js";

/** Lets everything happen that waits for nothing. */
export async function turn() {
  for (let i = 0; i < 30; i++) await new Promise((resolve) => setImmediate(resolve));
}

/** Lets time pass, and what it brings. */
export async function pass(ms) {
  await turn();
  const step = Math.max(10, Math.ceil(ms / 200));
  for (let left = ms, waited = 0; left > 0; left -= step) {
    mock.timers.tick(Math.min(left, step));
    if ((waited += step) % 100 < step) await turn();
  }
  await turn();
}

const page = new EventTarget();
globalThis.addEventListener = page.addEventListener.bind(page);
globalThis.document = Object.assign(new EventTarget(), { querySelector: () => undefined, querySelectorAll: () => [] });
Object.defineProperty(globalThis, "navigator", { value: { onLine: true, locks: undefined, sendBeacon }, configurable: true });

/** Something happens to the page. The window hears what the document does. */
export function happen(type, detail = {}, target = page) {
  for (const each of new Set([page, target])) each.dispatchEvent(Object.assign(new Event(type), detail));
}


globalThis.reportError = (error) => {
  throw error;
};

/** What the script told the site's developers. */
export const warnings = [];
console.warn = (text) => warnings.push(text);

/** What sendBeacon sent. */
export const beacons = [];

function sendBeacon(url, body) {
  beacons.push(url + " " + body);
  return true;
}

/** Locks as the Web Locks API has them: one holder a name, the others queue. */
class Locks {
  #queues = new Map();

  async request(name, { signal }, got) {
    const queue = this.#queues.get(name) ?? [];
    this.#queues.set(name, queue);
    const before = queue.at(-1);
    const mine = Promise.withResolvers ? Promise.withResolvers() : deferred();
    queue.push(mine.promise);
    try {
      await new Promise((granted, refused) => {
        (before ?? Promise.resolve()).then(granted);
        signal.addEventListener("abort", () => refused(signal.reason));
        if (signal.aborted) refused(signal.reason);
      });
      return await got();
    } finally {
      (before ?? Promise.resolve()).then(mine.resolve);
    }
  }
}

function deferred() {
  const d = {};
  d.promise = new Promise((resolve) => (d.resolve = resolve));
  return d;
}

/** Channels between pages: everybody but the sender hears a copy, in order. */
class Channel {
  static open = new Set();
  onmessage = () => {};

  constructor(name) {
    this.name = name;
    Channel.open.add(this);
  }

  postMessage(message) {
    for (const other of Channel.open) {
      if (other === this || other.name !== this.name) continue;
      const data = structuredClone(message);
      queueMicrotask(() => Channel.open.has(other) && other.onmessage({ data }));
    }
  }

  close() {
    Channel.open.delete(this);
  }
}

/** One request that reached the server, and how that answers. */
class Exchange {
  constructor(method, url, body, signal, headers) {
    this.url = new URL(url, "https://forum.example/");
    this.path = this.url.pathname;
    this.query = this.url.searchParams;
    this.topics = this.query.getAll("topic");
    this.method = method;
    this.headers = new Headers(headers);
    this.form = body instanceof URLSearchParams ? body : undefined;
    this.body = this.form || !body ? undefined : JSON.parse(body);
    this.open = true;
    this.answer = new Promise((resolve, reject) => {
      this.respond = resolve;
      this.fail = reject;
    });
    this.signal = signal;
    signal?.addEventListener("abort", () => this.end(signal.reason));
  }

  /** The server refuses. */
  refuse(status, headers = {}, body = null) {
    this.wall(status, { "Presence-Answer": "1", ...headers }, body);
  }

  /**
   * Something between the page and the server answers, and ends. 0: with a redirect that is not followed. As
   * in a browser, the body cannot be read once the request is aborted.
   */
  wall(status, headers = {}, body = null) {
    this.open = false;
    const read = (controller) => {
      if (this.signal?.aborted) return controller.error(this.signal.reason);
      controller.enqueue(new TextEncoder().encode(body));
      controller.close();
    };
    const stream = body && new ReadableStream({ pull: read }, { highWaterMark: 0 });
    const response = status ? new Response(stream, { status, headers }) : Object.defineProperty(Response.error(), "type", { value: "opaqueredirect" });
    this.respond(Object.defineProperty(response, "url", { value: this.url.href }));
  }

  json(value) {
    this.open = false;
    this.respond(Response.json(value));
  }

  /** Begins a stream, as the handlers do. */
  begin() {
    if (this.socket || this.body?.enqueue) return;
    const body = new ReadableStream({ start: (controller) => (this.body = controller) });
    this.respond(new Response(body, { headers: { "Content-Type": "text/event-stream" } }));
  }

  raw(text) {
    this.begin();
    this.body.enqueue(new TextEncoder().encode(text));
  }

  welcome(more = {}) {
    this.begin();
    this.send("welcome", { connection: "n.1~site", heartbeat: 15, beat: 20, grace: 10, ...more });
  }

  send(event, data) {
    if (this.socket) this.socket.onmessage({ data: JSON.stringify({ event, data }) });
    else this.raw(`event: ${event}\nid: x\ndata: ${JSON.stringify(data)}\n\n`);
  }

  /** Ends what was begun, or breaks it off. */
  end(why) {
    if (!this.open) return;
    this.open = false;
    if (this.socket) this.socket.onclose();
    else if (this.body?.enqueue) why ? this.body.error(why) : this.body.close();
    else this.fail(why ?? new TypeError("network"));
  }
}

/** The server: what was asked, newest last. */
export const server = {
  /** @type {Exchange[]} */
  all: [],
  streams: () => server.all.filter(({ path }) => /events|ws|poll/.test(path)),
  open: () => server.streams().filter(({ open }) => open),
  last: () => server.streams().at(-1),
  posts: (path) => server.all.filter((exchange) => exchange.path.endsWith(path)),
};

globalThis.fetch = (url, { method = "GET", body, signal, headers, redirect } = {}) => {
  const exchange = new Exchange(method, url, body, signal, headers);
  server.all.push(exchange);
  if (method !== "GET" && !exchange.form) {
    let status = exchange.path.endsWith("/beat") ? server.beat(exchange.body) : 204;
    if (/^30/.test(status)) status = redirect === "manual" ? 0 : 200; // the page of the sign-in
    exchange.refuse(status);
  }
  return exchange.answer;
};

globalThis.WebSocket = class {
  constructor(url) {
    this.exchange = Object.assign(new Exchange("GET", url), { socket: this, sent: [] });
    server.all.push(this.exchange);
  }

  send(text) {
    this.exchange.sent.push(JSON.parse(text));
  }

  close() {
    this.exchange.open = false;
  }
};

let started = false;

/** A new browser, and time that stands still until a test lets it pass. */
export async function restart({ shared = true } = {}) {
  if (started) await pass(100); // what the test before closed comes to its end
  started = true;
  mock.timers.reset();
  mock.timers.enable({ apis: ["setTimeout", "Date"] });
  server.all = [];
  server.beat = () => 204;
  beacons.length = warnings.length = 0;
  document.hidden = false;
  Channel.open.clear();
  navigator.onLine = true;
  navigator.locks = shared ? new Locks() : undefined;
  globalThis.BroadcastChannel = Channel;
  globalThis.sessionStorage = {};
}
