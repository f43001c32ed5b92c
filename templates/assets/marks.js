// <online-dot>, <last-seen>, <online-count> and <presence-part>: who keeps each of them live.
// Loaded by pages that have one.

import { openDots } from "./dots.js";
import { isSignals, keep, loadSignals } from "./parts.js";

/**
 * What the page has loaded already.
 * @typedef {object} Script
 * @property {typeof import("./connect.js").connect} connect
 * @property {{topic: string, src: string, cursor: string, texts: Record<string, any>, people?: string}} site people: of elements that follow more than their topic, a selector; where the site has people for this visitor, with [data-people]
 * @property {typeof import("./link.js").get} get
 * @property {typeof import("./roster.js").shown} shown
 * @property {import("./texts.js").Locale} locale
 */

/** The elements that show a user or a number of the site's topic, and what they share while there are any. */
const dots = new Set();
let shared;
let opened; // on this page

/**
 * Takes note of an element that has come into the page, or has left it.
 * @param {HTMLElement} element
 * @param {Script} script
 */
export function mark(element, script) {
  if (!element.isConnected) return isSignals(element) ? loadSignals(script).then((signals) => signals.drop(element)) : unmark(element);
  if (element.hasAttribute("src")) return keep(element, script.locale, script);
  const { connect, site } = script;
  dots.add(element);
  shared ??= open(connect({ topics: [site.topic], limit: 0, known: site }), script); // of the site its cursor
  shared.all.add(element);
}

function open(presence, script) {
  // The elements of a page may have missed who left before this was loaded.
  const { topic, cursor } = script.site;
  const rendered = [cursor, ...[...document.querySelectorAll("whos-online")].map((list) => list.getAttribute("cursor"))];
  presence.moved = !opened && !rendered.includes(presence.cursor(topic));
  opened = true;
  return { presence, all: openDots(presence, script.site, script) };
}

function unmark(element) {
  if (!dots.delete(element)) return;
  if (!dots.size) shared.presence.close(); // first: what is removed asks for nothing
  shared.all.remove(element);
  if (dots.size) return;
  shared.all.end();
  shared = undefined;
}
