// The elements that show signals: typing and editors. Loaded by pages that have one, and with the
// first signal that a site's script sends.

import { editorsView } from "./editors.js";
import { typingView } from "./typing.js";

/**
 * @typedef {import("./marks.js").Script & {announce: typeof import("./announce.js").announce,
 *   send: (topic: string, type: string, more: object, me?: string) => Promise<{status?: number, wait?: number}>}} Tools
 */

/** The views by data-show. */
const views = { typing: typingView, editors: editorsView };

/** Keeps the elements of signals on this page live. @type {ReturnType<typeof openSignals>} */
let page;

/**
 * Returns the object that keeps the elements of signals on this page live.
 * @param {import("./marks.js").Script & {announce: typeof import("./announce.js").announce}} script
 */
export const signalsOf = (script) => (page ??= openSignals(script));

/**
 * Posts a signal. The request outlives the page, so a page that is being closed can still send one.
 * @param {string} src where the handlers are mounted
 * @param {string} [me] the page's user: the server refuses the signal if another user has signed in since
 * @returns {Promise<{status?: number, ours?: boolean, wait?: number}>} the status, undefined without an answer; whether it is the server's own; and how many ms to wait
 */
async function post(src, topic, type, { for: seconds, data } = {}, me) {
  const answer = await fetch(src + "/signal" + (me ? "?me=" + encodeURIComponent(me) : ""), {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ topic, type, for: seconds, data }),
    keepalive: true,
    redirect: "manual",
  }).catch(() => "");
  return { status: answer.status, ours: !!answer.headers?.get("Presence-Answer"), wait: answer.headers?.get("Retry-After") * 1000 || 0 };
}

/** Sends a signal for a site's own script. Returns the status; 0 without an answer. */
export async function send(src, topic, type, more) {
  src ??= JSON.parse(document.querySelector("meta[name=presence]")?.content ?? "{}").src ?? "/presence";
  return (await post(src, topic, type, more)).status ?? 0;
}

function openSignals(script) {
  /** The functions that end the views, by element. @type {Map<HTMLElement, () => void>} */
  const shown = new Map();

  return {
    /** Keeps an element live until it leaves the page. @param {HTMLElement} element a <presence-part> */
    keep(element) {
      if (shown.has(element) || !element.isConnected) return;
      shown.set(element, views[element.dataset.show](element, { ...script, send: (...what) => post(element.getAttribute("src"), ...what) }));
    },
    /** Ends the view of an element that has left the page. */
    drop(element) {
      shown.get(element)?.();
      shown.delete(element);
    },
  };
}
