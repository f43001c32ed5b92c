// A link to the server. It makes one connection after the other, until it is closed or the server
// refuses it. It uses the best transport that gets through.

import { site } from "./connect.js";

const FIRST_WAIT = 1000; // ms before the first retry; each further one waits twice as long
const LONGEST_WAIT = 60_000;
const RETRY = 10_000; // ms before a beat that failed is sent again
const PATIENCE = 3000; // ms to wait for the event welcome, which a proxy that buffers answers delays

const LONG_LIST = 61; // users: an address holds 60, so such a list is the body of a POST
const UNSEEN_HEARTBEAT = 60_000; // ms between two heartbeats while no tab is in view

/**
 * The number of transports: events and two detours, best first. A transport returns when the
 * server ends the connection, and throws if the connection fails. If the server refuses it, the
 * response is thrown. The detours are loaded on demand, because few pages need them.
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
      hear(type, cut ? { ...parse(data), cut } : parse(data), retry); // called for comments too, because a beat may be due
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
 * Explains in the console, to the site's developers, what is wrong. After the answer to a beat it also decides whether the
 * page sends more beats. See explain, which is loaded on demand.
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
 * @property {string} me the page's user; empty: a guest, whose page sends beats only to say whether a tab is in view
 * @property {number | ""} [nobeat] the status with which a beat was refused: the page sends no more
 * @property {() => boolean} idle whether the visitor is away; always false for a guest
 * @property {boolean} [hidden] whether no tab is in view; undefined: a tab was in view all the time
 */

/**
 * Opens a link.
 * @param {string} src where the handlers are mounted
 * @param {Page} page
 * @param {object} to
 * @param {() => string} to.query the parameters of each connection
 * @param {(live: import("./connect.js").Live, user?: string, refused?: string) => void} to.live
 *   called with the user, if the server names one, and with the topics that the visitor may not follow, separated by commas
 * @param {(type: string, data: any) => void} to.hear
 * @param {(status: number) => void} to.refused
 */
export function openLink(src, page, { query, live, hear, refused }) {
  let turn, token, timer;
  let every; // ms between two beats; a WebSocket needs none
  let next; // when a beat is due
  let said; // the news that the server has: see news
  let heartbeat; // ms, at most, between two events of the server while a tab is in view; 0: no welcome yet
  let closed = false;
  let wake; // ends the wait before the next try; undefined if the server has said how long to wait

  const within = (ms) => {
    clearTimeout(timer);
    timer = setTimeout(() => turn.abort(), ms);
  };

  /** Ends the connection if no event comes in time. */
  const listen = () => within(PATIENCE + 2 * (page.hidden ? UNSEEN_HEARTBEAT : heartbeat));

  /** Returns what a beat says, as text. */
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
    else if (hidden !== page.hidden) beat(); // page.hidden has changed since, and a beat about that may have come before this one
    // Connects anew. If the page sends no beats, the next connection keeps the user online without them.
    if ((status === 410 || (page.me && page.nobeat)) && !signal.aborted) turn.abort();
  };

  const rest = (ms) => {
    next = Date.now() + ms;
    setTimeout(due, ms + 9); // later by a little, because a timer may be early
  };

  /** Sends a beat if one is due, or if there is news. Events of the server call this too, because browsers slow down timers in hidden tabs. */
  const due = () => (said !== news() || Date.now() >= next) && beat();

  const address = (path) => {
    said = news(false);
    return `${src}/${path}?${query()}` + (page.me && (page.nobeat ? "&nobeat=" + page.nobeat : "&beat=auto") + "&me=" + encodeURIComponent(page.me) + (page.idle() ? "&idle=1" : ""));
  };

  /** Waits for ms. The wait ends early when the browser is online again. It also ends early when another page arrives, unless the server has asked for this wait. */
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
      const { status, headers } = refusal ?? ""; // 0: a redirect, such as to a sign-in, which the presence endpoints never send
      if (status > -1) await complain(refusal); // before the abort, after which the body cannot be read
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
    /** To call when another page has just loaded: the site is up, so the link tries again at once. */
    arrived: () => wake?.(),
    /** Sends a beat if there is news, such as that the visitor is back, or if a beat is due. */
    beat: due,
    /** The token of the connection; empty: there is no connection. */
    get token() {
      return token;
    },
    close() {
      closed = true;
      turn.abort();
    },
    /** Tells the server that the page is closed, and that no other tab needs the connection. */
    leave() {
      if (token) navigator.sendBeacon(src + "/leave", JSON.stringify({ connection: token }));
    },
  };
}
