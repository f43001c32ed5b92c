// Gives each <online-dot>, <last-seen>, <online-count> and <presence-part> to the module that keeps
// it live. Loaded by pages that have one.

import { openDots } from "./dots.js";
import { isSignals, keep, loadSignals } from "./parts.js";

/**
 * The modules that the page has loaded already.
 * @typedef {object} Script
 * @property {typeof import("./connect.js").connect} connect
 * @property {{topic: string, src: string, cursor: string, texts: Record<string, any>, people?: string}} site people: the selector of elements that follow more than rosters of topics; it has [data-people] if this visitor can see people
 * @property {typeof import("./link.js").get} get
 * @property {typeof import("./roster.js").shown} shown
 * @property {import("./texts.js").Locale} locale
 */

/** The elements that show a user or a number of the site's topic. */
const dots = new Set();
let shared; // their connection, while there are such elements
let opened; // shared was opened before on this page

/**
 * Handles an element that has come into the page, or has left it.
 * @param {HTMLElement} element
 * @param {Script} script
 */
export function mark(element, script) {
  if (!element.isConnected) return isSignals(element) ? loadSignals(script).then((signals) => signals.drop(element)) : unmark(element);
  if (element.hasAttribute("src")) return keep(element, script.locale, script);
  const { connect, site } = script;
  dots.add(element);
  shared ??= open(connect({ topics: [site.topic], limit: 0, known: site }), script); // known: of site, only the cursor counts
  shared.all.add(element);
}

function open(presence, script) {
  // The elements of the page may still show users who left before this was loaded.
  const { topic, cursor } = script.site;
  const rendered = [cursor, ...[...document.querySelectorAll("whos-online")].map((list) => list.getAttribute("cursor"))];
  presence.moved = !opened && !rendered.includes(presence.cursor(topic));
  opened = true;
  return { presence, all: openDots(presence, script.site, script) };
}

function unmark(element) {
  if (!dots.delete(element)) return;
  if (!dots.size) shared.presence.close(); // before remove, so that no request is made for removed elements
  shared.all.remove(element);
  if (dots.size) return;
  shared.all.end();
  shared = undefined;
}
