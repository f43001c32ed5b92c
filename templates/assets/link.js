// A link to the server. It makes one connection after the other, until it is closed or the server
// refuses it. It uses the best transport that gets through.

import { site } from "./connect.js";

const FIRST_WAIT = 1000; // ms before the first retry; each further one waits twice as long
const LONGEST_WAIT = 60_000;
const RETRY = 10_000; // ms before a beat that failed is sent again
const PATIENCE = 3000; // ms to wait for the event welcome, which a proxy that buffers answers delays

const LONG = 2000; // bytes: proxies take no longer address for sure, so more is the body of a POST
const MANY = 62; // parameters, likewise: the server takes no more than 60 users in an address
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
async function events(address, turn, hear) {
  const { body, read = parse } = await get(address("events"), turn, "text/event-stream");
  const reader = body.getReader();
  const decoder = new TextDecoder();
  for (let text = "", part = {}; !part.done; ) {
    part = await reader.read();
    const blocks = (text + (part.done ? "\n\n" : decoder.decode(part.value, { stream: true }))).split("\n\n");
    text = blocks.pop();
    for (const block of blocks) {
      const [type, data, retry] = ["event", "data", "retry"].map((name) => block.match(`(?:^|\n)${name}: ([^\n]*)`)?.[1]);
      hear(type, read(data), retry); // called for comments too, because a beat may be due
    }
  }
}

const detour = (address, turn, hear, transport) => import("./detours.js").then(({ detours }) => detours[transport](address, turn, hear, get, parse));

/** Asks the server, and returns an answer of the wanted type. Any other answer is thrown. What is too long for an address is sent as a form. */
export async function get(url, turn, type = "application/json", body) {
  if ((url[LONG] || url.split("&")[MANY]) && body !== null) return import("./list_post.js").then(({ postList }) => postList(get, parse, url, turn, type));
  const response = await fetch(url, { method: body ? "POST" : "GET", body, signal: turn.signal, headers: { Accept: type }, cache: "no-store", redirect: "manual" });
  if (!response.ok || !response.headers.get("Content-Type")?.includes(type)) throw response;
  return response;
}

/**
 * Returns what a connection belongs to: abort ends it. A browser that refuses an AbortController lets requests
 * go on, but nobody hears their answers.
 */
export function openTurn() {
  const turn = {};
  turn.over = new Promise((resolve) => {
    turn.abort = () => resolve((turn.aborted = true));
  });
  try {
    const controller = new AbortController();
    turn.signal = controller.signal;
    turn.over.then(() => controller.abort());
  } catch {}
  return turn;
}

/**
 * Explains in the console, to the site's developers, what is wrong. Returns whether the server itself has refused. After the
 * answer to a beat it also decides whether the page sends more beats. See explain, which is loaded on demand.
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
  if (answer && answer.status !== 204) await complain(answer, page);
  return answer.status;
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
  let grace; // seconds for which the server keeps the user online without a connection
  let last = 0; // when to try for the last time before the grace ends

  const within = (ms) => {
    clearTimeout(timer);
    timer = setTimeout(turn.abort, ms);
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
    const mine = turn;
    const { hidden } = page;
    const status = await report(src + "/beat", page, { connection: token, idle: page.idle(), hidden }, mine.signal);
    if (status !== 204) rest(RETRY);
    else if (hidden !== page.hidden) beat(); // page.hidden has changed since, and a beat about that may have come before this one
    // Connects anew. If the page sends no beats, the next connection keeps the user online without them.
    if (status === 410 || (page.me && page.nobeat)) mine.abort();
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

  const run = async () => {
    let transport = 0;
    try {
      transport = +sessionStorage.presence || 0; // the detour that got through last in this tab
    } catch {} // the page may not use storage
    for (let failures = 0; ; ) {
      let refusal, wait;
      const { nobeat } = page;
      const mine = (turn = openTurn());
      heartbeat = 0;
      within(PATIENCE * (1 + (failures & 3)));
      try {
        const transported = (transport ? detour : events)(address, mine, (type, data, retry) => {
          if (mine.aborted) return;
          wait = retry ?? wait;
          if (type === "welcome") {
            heartbeat = data.heartbeat * 1000;
            grace = data.grace; // a poll names none
            token = data.connection;
            every = (page.me && data.beat * 1000) || 1e9;
            rest(every);
            failures = 0;
            live("on", data.user, "" + [data.refused]);
          }
          if (type && data) hear(type, data);
          if (heartbeat) listen();
          due();
        }, transport);
        await Promise.race([mine.over, transported]);
      } catch (why) {
        refusal = why;
      }
      const silent = mine.aborted;
      const { status, headers } = refusal ?? ""; // 0: a redirect, which the presence endpoints never send
      // Whatever is not the server's own refusal is an outage: something between has answered. This is asked before the abort, after which the body cannot be read.
      const ours = headers && (await Promise.race([mine.over, complain(refusal)]));
      mine.abort();
      token = "";
      if (closed) return;
      if (ours && /^4(?!08|29)/.test(status)) return refused(status);
      if (nobeat) page.nobeat = ""; // what refused the beat may be gone
      const after = (ours && headers.get("Retry-After") * 1000) || 0;
      if (heartbeat) last = Date.now() + grace * (920 + 50 * Math.random());
      else {
        if ((silent || transport || failures > (status ? 2 : 0)) && !after && ++transport < TRANSPORTS) continue;
        transport = 0;
      }
      live(heartbeat ? "connecting" : "off");
      const pause = FIRST_WAIT * 2 ** failures++ * (0.5 + Math.random());
      const left = last - Date.now();
      turn = openTurn();
      setTimeout(turn.abort, Math.min(+wait || after + Math.min(pause, left > 0 ? left : pause), LONGEST_WAIT));
      wake = after ? undefined : turn.abort;
      await turn.over;
      if (closed) return;
      live("connecting");
    }
  };
  run();

  return {
    /** To call when another page has just loaded: the site is up, so the link tries again at once. */
    arrived: () => wake?.(),
    /** To call when the browser says that the network came or went. That may be wrong, so the link asks the server, at once. */
    doubt: () => (token ? turn.abort() : wake?.()),
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
      try {
        if (token) navigator.sendBeacon(src + "/leave", JSON.stringify({ connection: token }));
      } catch {} // the server notices that the connection ends
    },
  };
}
