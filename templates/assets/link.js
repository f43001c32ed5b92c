// A link to the server: one connection after the other, until the link is closed or
// refused. It uses the first transport that gets through.

import { site } from "./connect.js";

const FIRST_WAIT = 1000; // ms before the first retry; each further one waits twice as long
const LONGEST_WAIT = 60_000;
const RETRY = 10_000; // ms before a beat that failed is sent again
const PATIENCE = 3000; // ms to wait for a welcome; a proxy that buffers answers would delay it

const LONG_LIST = 61; // users, of whom an address holds 60: the list is the body of a POST
const UNSEEN_HEARTBEAT = 60_000; // ms between two heartbeats while nobody sees a tab

/**
 * How many transports there are: events and two detours, best first. Each returns when the
 * server ends the connection, or throws: the response, if the server refuses. Few pages
 * need the detours, which are loaded on demand.
 */
const TRANSPORTS = 3;

/** Returns the value of JSON; undefined if it is not JSON. */
export function parse(json) {
  try {
    return JSON.parse(json);
  } catch {}
}

/** Server-Sent Events. EventSource would hide the status and Retry-After of a refusal. */
async function events(address, signal, hear) {
  const url = address("events");
  const ask = url.split(/&(?:also|person)=/)[LONG_LIST] ? (await import("./list_post.js")).postList : get;
  const { body, cut } = await ask(url, signal, { Accept: "text/event-stream" });
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  for (let text = "", read = {}; !read.done; ) {
    read = await reader.read();
    const blocks = (text + (read.value ?? "\n\n")).split("\n\n");
    text = blocks.pop();
    for (const block of blocks) {
      const [type, data, retry] = ["event", "data", "retry"].map((name) => block.match(`(?:^|\n)${name}: (.*)`)?.[1]);
      hear(type, cut ? { ...parse(data), cut } : parse(data), retry); // also of a comment: a beat may be due
    }
  }
}

async function detour(address, signal, hear, transport) {
  const { detours } = await import("./detours.js");
  await detours[transport - 1](address, signal, hear, get, parse);
}

export async function get(url, signal, headers) {
  const response = await fetch(url, { signal, headers, cache: "no-store", redirect: "manual" });
  if (!response.ok) throw response;
  return response;
}

/**
 * Tells the site's developers, in the console, what is wrong. The texts are loaded on demand, and so is what decides
 * whether the answer to a beat is the last: see explain.
 */
export const complain = (about, page) => import("./complaints.js").then(({ explain }) => explain(about, site, page)).catch(() => {});

/**
 * Posts a beat. If it is refused for good, the page sends no more.
 * @param {string} url
 * @param {Page} page
 * @returns {Promise<number | undefined>} the status; undefined without an answer
 */
export async function report(url, page, what, signal) {
  const answer = await fetch(url, { method: "POST", body: JSON.stringify(what), signal, keepalive: true, redirect: "manual" }).catch(() => "");
  const { status } = answer;
  if (status > -1 && status !== 204) await complain(answer, page);
  return status;
}

/** Returns the transport that got through last in this tab; 0 if the page may not use storage. */
function remembered(transport) {
  try {
    return +(sessionStorage.presence = transport ?? sessionStorage.presence ?? 0);
  } catch {
    return 0;
  }
}

/**
 * @typedef {object} Page
 * @property {string} me the user whose page it is; empty: a guest, who sends no beats but to say that nobody sees a tab
 * @property {number | ""} [nobeat] the status with which a beat was refused: the page sends no more
 * @property {() => boolean} idle whether the visitor is away; never of a guest
 * @property {boolean} [hidden] whether nobody sees a tab; undefined: that was never so
 */

/**
 * Opens a link.
 * @param {string} src where the handlers are mounted
 * @param {Page} page
 * @param {object} to
 * @param {() => string} to.query the parameters of each connection
 * @param {(live: import("./connect.js").Live, user?: string, refused?: string) => void} to.live
 *   with the user, if the server names one, and the topics that the visitor may not follow, with commas
 * @param {(type: string, data: any) => void} to.hear
 * @param {(status: number) => void} to.refused
 */
export function openLink(src, page, { query, live, hear, refused }) {
  let turn, token, timer;
  let every; // ms between two beats; a WebSocket needs none
  let next; // when a beat is due
  let said; // to the server: see news
  let heartbeat; // ms, at most, between two events of the server, if anybody sees a tab
  let closed = false;
  let wake; // ends the wait before the next try; undefined where the server has said how long that is

  const within = (ms) => {
    clearTimeout(timer);
    timer = setTimeout(() => turn.abort(), ms);
  };

  /** Waits for the next event. */
  const listen = () => within(PATIENCE + 2 * (page.hidden ? UNSEEN_HEARTBEAT : heartbeat));

  /** What a beat says. */
  const news = (hidden = page.hidden) => "" + [page.idle(), !!hidden];

  const beat = async () => {
    if (!token || page.nobeat) return;
    rest(every);
    if (said !== news()) listen();
    said = news();
    const { signal } = turn;
    const { hidden } = page;
    const status = await report(src + "/beat", page, { connection: token, idle: page.idle(), hidden }, signal);
    if (status !== 204) rest(RETRY);
    else if (hidden !== page.hidden) beat(); // the one that has said so since may have been faster
    // Without beats the next connection holds the user online by itself.
    if ((status === 410 || (page.me && page.nobeat)) && !signal.aborted) turn.abort();
  };

  const rest = (ms) => {
    next = Date.now() + ms;
    setTimeout(due, ms + 9); // no timer may be early
  };

  /** Beats if that is due, or if there is news. Events of the server ask too: browsers slow down timers in hidden tabs. */
  const due = () => (said !== news() || Date.now() >= next) && beat();

  const address = (path) => {
    said = news(false);
    return `${src}/${path}?${query()}` + (page.me && (page.nobeat ? "&nobeat=" + page.nobeat : "&beat=auto") + "&me=" + encodeURIComponent(page.me) + (page.idle() ? "&idle=1" : ""));
  };

  /** Waits for ms, or until the browser is online again, or until a page has come, unless the server has asked to wait. */
  const sleep = (ms, asked) =>
    new Promise((over) => {
      turn = new AbortController();
      navigator.onLine ? setTimeout(over, ms) : live("off");
      addEventListener("online", over, { signal: turn.signal });
      wake = asked ? undefined : over;
    });

  const run = async () => {
    let transport = remembered();
    for (let failures = 0; !closed; ) {
      let refusal, wait;
      heartbeat = 0;
      turn = new AbortController();
      const { signal } = turn;
      addEventListener("offline", () => turn.abort(), { signal });
      within(PATIENCE);
      try {
        await (transport ? detour : events)(address, signal, (type, data, retry) => {
          if (signal.aborted) return;
          wait = retry ?? wait;
          if (type === "welcome") {
            heartbeat = (data.heartbeat ?? 15) * 1000;
            token = data.connection;
            every = (page.me && data.beat * 1000) || 1e9;
            rest(every);
            failures = 0;
            remembered(transport);
            live("on", data.user, "" + [data.refused]);
          }
          if (type && data) hear(type, data);
          listen();
          due();
        }, transport);
      } catch (why) {
        refusal = why;
      }
      const silent = signal.aborted;
      const { status, headers } = refusal ?? ""; // 0: a redirect, as to a sign-in: the endpoints have none
      if (status > -1) await complain(refusal); // before the abort, which would end the body too
      clearTimeout(timer);
      turn.abort();
      token = "";
      if (closed) return;
      const after = headers?.get("Retry-After") * 1000 || 0;
      if (/^(0|4(?!29))/.test(status)) return refused(status);
      if (!heartbeat) {
        if ((silent || transport || failures > 2) && !after && ++transport < TRANSPORTS) continue;
        transport = 0;
      }
      live(heartbeat ? "connecting" : "off");
      await sleep(+wait || after + Math.min(FIRST_WAIT * 2 ** failures++, LONGEST_WAIT) * (0.5 + Math.random()), after);
      turn.abort();
      if (!closed) live("connecting");
    }
  };
  run();

  return {
    /** A page has just come: the site is up, so there is no need to wait for the next try. */
    arrived: () => wake?.(),
    /** Beats if there is news, such as that the visitor is back, or if a beat is due. */
    beat: due,
    /** The token of the connection; empty: there is no connection. */
    get token() {
      return token;
    },
    close() {
      closed = true;
      turn.abort();
    },
    /** Tells the server that the page is closed, and that no other tab goes on. */
    leave() {
      if (token) navigator.sendBeacon(src + "/leave", JSON.stringify({ connection: token }));
    },
  };
}
