// The line that says who is typing. It also watches the form in which the page's visitor types.

import { openTypist } from "./typist.js";
import { Typists } from "./typists.js";
import { isolated, listening, sentence, show } from "./words.js";

const QUIET = 10_000; // ms, at least, between two texts that screen readers read
const SAID = 3000; // ms after which such a text is removed

/** Returns the text for names, as nodes. @param {{one: string, two: string, many: string}} words */
export function line({ one, two, many }, locale, names) {
  const [name, other] = names.map(isolated);
  if (names.length > 2) return [many.replaceAll("{n}", locale.number(names.length))];
  return names.length ? sentence(other ? two : one, { "{name}": name, "{other}": other }) : [];
}

/**
 * Returns the form or field in which the visitor types.
 * @returns {HTMLElement | null}
 */
const inputOf = (part) => (part.dataset.input ? document.querySelector(part.dataset.input) : part.closest("form"));

/**
 * Keeps the line live.
 * @param {HTMLElement} part a <presence-part> as the server rendered it
 * @param {import("./signals.js").Tools} tools
 * @returns {() => void} ends it
 */
export function typingView(part, { connect, site, locale, send }) {
  const topic = part.dataset.feed;
  const words = JSON.parse(part.dataset.words);
  const shown = part.querySelector(".presence-typists");
  const said = part.querySelector(".presence-said");
  const typists = new Typists();
  const [listen, deafen] = listening();
  let timer;
  let quiet = 0; // until then, screen readers get no text
  let speaking;

  const paint = () => {
    clearTimeout(timer);
    const now = Date.now();
    const changed = show(shown, line(words, locale, typists.names(site.me, now)));
    if (typists.next < Infinity) timer = setTimeout(paint, typists.next - now);
    if (changed) speaking ??= setTimeout(speak, Math.max(0, quiet - now));
  };

  const speak = () => {
    speaking = undefined;
    if (!shown.textContent) return;
    quiet = Date.now() + QUIET;
    said.textContent = shown.textContent;
    setTimeout(() => (said.textContent = ""), SAID); // screen readers can still read the line itself
  };

  const presence = connect({ topics: [topic], src: part.getAttribute("src"), limit: 0 });
  const typist = openTypist(
    (seconds) => send(topic, "typing", { for: seconds }, site.me),
    () => !!site.me && presence.live === "on" && (presence.roster(topic).has(site.me) || presence.roster(topic).size < presence.counts(topic).total),
  );
  presence.on("signal", ({ signals = [] }) => {
    for (const each of signals) typists.hear(each, Date.now());
    paint();
  });
  presence.on("join", (id) => id === site.me && typist.again());
  presence.on("leave", (id) => {
    typists.leave(id);
    paint();
  });
  presence.on("state", (state) => {
    typists.state(state);
    paint();
  });
  // In hidden pages timers are late, and in sleeping pages they do not run.
  listen(document, "visibilitychange", paint);
  for (const type of ["pageshow", "focus"]) listen(globalThis, type, paint);

  // The listeners are on the document, since the form may come later or be replaced.
  const mine = ({ target }) => !!inputOf(part)?.contains(target);
  listen(document, "input", (e) => {
    if (!mine(e) || /^(checkbox|radio|file|submit|button|hidden)$/.test(e.target.type)) return;
    if (e.target.value === "") typist.end();
    else typist.type();
  });
  listen(document, "focusout", (e) => mine(e) && typist.end());
  listen(document, "submit", (e) => (mine(e) || e.target.contains(inputOf(part))) && typist.end());
  listen(globalThis, "pagehide", typist.end);

  return () => {
    typist.end();
    deafen();
    clearTimeout(timer);
    clearTimeout(speaking);
    presence.close();
  };
}
