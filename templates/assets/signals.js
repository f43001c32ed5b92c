// Typing and editors: what a page shows of signals, and of a topic that is followed for them.
// Loaded by pages that show any, and with the first signal that a site's script sends.

import { editorsView } from "./editors.js";
import { typingView } from "./typing.js";

/**
 * @typedef {import("./marks.js").Script & {announce: typeof import("./announce.js").announce,
 *   send: (topic: string, type: string, more: object, me?: string) => Promise<{status?: number, wait?: number}>}} Tools
 */

/** By data-show. */
const views = { typing: typingView, editors: editorsView };

/** What shows signals on this page. @type {ReturnType<typeof openSignals>} */
let page;

/**
 * Returns what shows signals on this page.
 * @param {import("./marks.js").Script & {announce: typeof import("./announce.js").announce}} script
 */
export const signalsOf = (script) => (page ??= openSignals(script));

/**
 * Posts a signal. It outlives the page, so a page that goes may say so.
 * @param {string} src where the handlers are mounted
 * @param {string} [me] the user whose page it is: the server refuses a signal of another
 * @returns {Promise<{status?: number, wait?: number}>} the status, undefined without an answer; and how many ms to wait
 */
async function post(src, topic, type, { for: seconds, data } = {}, me) {
  const answer = await fetch(src + "/signal" + (me ? "?me=" + encodeURIComponent(me) : ""), {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ topic, type, for: seconds, data }),
    keepalive: true,
    redirect: "manual",
  }).catch(() => "");
  return { status: answer.status, wait: answer.headers?.get("Retry-After") * 1000 || 0 };
}

/** Sends a signal for a site's own script. Returns the status; 0 without an answer. */
export async function send(src, topic, type, more) {
  src ??= JSON.parse(document.querySelector("meta[name=presence]")?.content ?? "{}").src ?? "/presence";
  return (await post(src, topic, type, more)).status ?? 0;
}

function openSignals(script) {
  /** By element, what ends it. @type {Map<HTMLElement, () => void>} */
  const shown = new Map();

  return {
    /** Keeps an element live until it leaves the page. @param {HTMLElement} element a <presence-part> */
    keep(element) {
      if (shown.has(element) || !element.isConnected) return;
      shown.set(element, views[element.dataset.show](element, { ...script, send: (...what) => post(element.getAttribute("src"), ...what) }));
    },
    /** Ends what an element showed that has left the page. */
    drop(element) {
      shown.get(element)?.();
      shown.delete(element);
    },
  };
}
