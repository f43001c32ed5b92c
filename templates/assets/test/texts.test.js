import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import test from "node:test";

import { summary } from "../announce.js";
import { openLocale } from "../texts.js";

// The same file is held against the server's rules.
const texts = JSON.parse(readFileSync(new URL("../../testdata/texts.json", import.meta.url)));
const all = { zero: "zero", one: "one", two: "two", few: "few", many: "many", other: "other" };

test("the form that goes with a number", () => {
  for (const [lang, forms] of Object.entries(texts.forms)) {
    for (const n in forms) assert.equal(openLocale(lang).text(all, Number(n)), forms[n], `${lang}, ${n}`);
  }
});

test("digits are grouped", () => {
  for (const [lang, numbers] of Object.entries(texts.numbers)) {
    for (const n in numbers) assert.equal(openLocale(lang).number(Number(n)), numbers[n], `${lang}, ${n}`);
  }
});

test("a browser without Intl, or with one that refuses the language, shows plain digits and the general form", (t) => {
  const plain = ({ number, text }) => [number(2000), text(all, 1), text({ other: "{n} users" }, 1234)];
  assert.deepEqual(plain(openLocale("de_DE")), ["2000", "other", "1234 users"]);
  const { Intl } = globalThis;
  t.after(() => (globalThis.Intl = Intl));
  delete globalThis.Intl;
  assert.deepEqual(plain(openLocale("de")), ["2000", "other", "1234 users"]);
});

test("a form that is missing is the other", () => {
  assert.equal(openLocale("pl").text({ one: "x", other: "{n} osób, {n}" }, 2000), `2\u00a0000 osób, 2\u00a0000`);
});

test("summaries", () => {
  const came = { alone: "{name} came", others: { one: "{name} and {n} other came", other: "{name} and {n} others came" } };
  const en = openLocale("en");
  assert.equal(summary(en, came, []), "");
  assert.equal(summary(en, came, ["Alice"]), "Alice came.");
  assert.equal(summary(en, came, ["Alice", "Bob"]), "Alice and 1 other came.");
  assert.equal(summary(en, came, ["Alice", "Bob", "Carol"]), "Alice and 2 others came.");
  assert.equal(summary(en, came, ["$& {n} {name}", "Bob"]), "$& {n} {name} and 1 other came.", "a name stays as it is");
});
