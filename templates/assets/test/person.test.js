import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import test from "node:test";

import { hue, initials, link } from "../person.js";

// The same file is held against the server's rules.
const people = JSON.parse(readFileSync(new URL("../../testdata/people.json", import.meta.url)));

test("initials", () => {
  for (const [name, want] of Object.entries(people.initials)) assert.equal(initials(name), want, JSON.stringify(name));
});

test("hue", () => {
  for (const [id, want] of Object.entries(people.hues)) assert.equal(hue(id), want, JSON.stringify(id));
});

test("link", () => {
  for (const [url, ok] of Object.entries(people.links)) {
    assert.equal(link(url, "https://forum.example/threads/1"), ok ? url : "", JSON.stringify(url));
  }
  assert.equal(link(undefined, "https://forum.example/"), "");
});
