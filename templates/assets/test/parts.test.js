import assert from "node:assert/strict";
import test, { before, beforeEach } from "node:test";

import { happen, pass, restart, server, turn } from "./browser.js";
import { keep } from "../parts.js";
import { openLocale } from "../texts.js";

const locale = openLocale("en");
let widget; // the figure of a widget on the page
let observe; // says that the figure changed
document.querySelector = (selector) => (selector === `whos-online[topic="thread:9"] [data-count=online]` ? widget : undefined);
globalThis.MutationObserver = class {
  constructor(fn) {
    observe = fn;
  }
  observe() {}
};
AbortSignal.timeout = () => undefined; // real time, which the tests do not have
globalThis.fetch = ((fetch) => (url, options) => fetch(new URL(url, "https://forum.example/").href, options))(globalThis.fetch);

before(restart); // once: what keeps the counts lives as long as the page
beforeEach(() => {
  server.all.length = 0;
});

/** An <online-count>, as far as the script uses it. */
class Count {
  localName = "online-count";
  dataset = {};
  isConnected = true;
  textContent;
  #attributes;

  constructor(topic, value, src = "/presence") {
    this.#attributes = { topic, value: String(value), src };
    this.textContent = String(value);
  }
  getAttribute(name) {
    return this.#attributes[name];
  }
  setAttribute(name, value) {
    this.#attributes[name] = String(value);
  }
  get shows() {
    return [this.getAttribute("value"), this.textContent].join();
  }
}

/** Counts on the page until the test ends. */
function counts(t, ...of) {
  const all = of.map((of) => new Count(...of));
  t.after(() => all.forEach((count) => (count.isConnected = false)));
  for (const count of all) keep(count, locale);
  return all;
}

const asked = () => server.posts("/counts");

test("the counts of a page are asked for together, once a minute", async (t) => {
  const all = counts(t, ["thread:1", 1], ["thread:1", 1], ["thread:2", 2], ["thread:3", 3]);
  await pass(44_000);
  assert.equal(asked().length, 0);
  await pass(32_000);
  assert.deepEqual(asked().map(({ topics }) => topics), [["thread:1", "thread:2", "thread:3"]]);
  asked()[0].json({ topics: { "thread:1": { total: 12345, guests: 1 }, "thread:2": { total: 0 } } });
  await turn();
  assert.deepEqual(all.map(({ shows }) => shows), ["12345,12,345", "12345,12,345", "0,0", "3,3"], "what is not told stays");
  await pass(76_000);
  assert.equal(asked().length, 2);
  asked()[1].refuse(503);
  await turn();
  assert.equal(all[0].shows, "12345,12,345");
});

test("a request is for a hundred topics at most", async (t) => {
  counts(t, ...Array.from({ length: 150 }, (_, i) => ["thread:" + i, 0]));
  await pass(76_000);
  assert.equal(asked()[0].topics.length, 100);
  asked()[0].json({});
  await turn();
  assert.deepEqual(asked().map(({ topics }) => topics.length), [100, 50]);
  asked()[1].json({});
  await turn();
});

test("a page that is hidden asks for nothing, and at once when it is in view again", async (t) => {
  counts(t, ["thread:1", 1]);
  document.hidden = true;
  t.after(() => (document.hidden = false));
  await pass(200_000);
  assert.equal(asked().length, 0);
  happen("visibilitychange", {}, document);
  await turn();
  assert.equal(asked().length, 0, "it is hidden still");
  document.hidden = false;
  happen("visibilitychange", {}, document);
  await turn();
  assert.equal(asked().length, 1);
  asked()[0].json({});
  await turn();
});

test("a count that has left the page is not asked for", async (t) => {
  const [gone] = counts(t, ["thread:1", 1], ["thread:2", 1]);
  gone.isConnected = false;
  await pass(76_000);
  assert.deepEqual(asked().map(({ topics }) => topics), [["thread:2"]]);
  asked()[0].json({});
  await turn();
});

test("beside a widget of the same topic a count shows what the widget shows", async (t) => {
  widget = { value: "1200", textContent: "1,200", isConnected: true };
  const [count] = counts(t, ["thread:9", 3]);
  assert.equal(count.shows, "1200,1,200");
  Object.assign(widget, { value: "1201", textContent: "1,201" });
  observe();
  assert.equal(count.shows, "1201,1,201");
  await pass(76_000);
  assert.equal(asked().length, 0);
  widget.isConnected = false; // it left the page
  await pass(76_000);
  assert.equal(asked().length, 1);
  asked()[0].json({});
  await turn();
});
