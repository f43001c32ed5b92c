// A link to the server: one connection after the other, by whichever transport
// gets through, until it is closed or refused.

const FIRST_WAIT = 1000; // ms before what failed is tried again: twice as long each time
const LONGEST_WAIT = 60_000;
const PATIENCE = 3000; // ms until a welcome: after that, something on the way collects answers

/**
 * The transports, best first. Each tells what it hears until the server ends it,
 * or throws: the response, where that is a refusal. Few pages need more than the
 * first, so the others are loaded by those that do.
 */
const TRANSPORTS = [events, detour, detour];

/** What JSON says; undefined where it is not JSON. */
export function parse(json) {
  try {
    return JSON.parse(json);
  } catch {}
}

/** Server-Sent Events. EventSource would hide why it was refused, and until when. */
async function events(address, signal, hear) {
  const { body } = await get(address("events"), signal, "text/event-stream");
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  for (let text = "", ended; !ended; ) {
    const { done, value = "\n\n" } = await reader.read();
    ended = done;
    const blocks = (text + value).split("\n\n");
    text = blocks.pop();
    for (const block of blocks) {
      const [type, data, retry] = ["event", "data", "retry"].map((name) => block.match(`(?:^|\n)${name}: (.*)`)?.[1]);
      if (data || retry) hear(type, parse(data), retry);
    }
  }
}

async function detour(address, signal, hear, transport) {
  const { detours } = await import("./detours.js");
  await detours[transport - 1](address, signal, hear, get, parse);
}

export async function get(url, signal, Accept = "*/*") {
  const response = await fetch(url, { signal, headers: { Accept }, cache: "no-store" });
  if (!response.ok) throw response;
  return response;
}

/** Posts JSON. What came of it has a status, unless the network is to blame. */
export function say(url, what, signal) {
  return fetch(url, { method: "POST", body: JSON.stringify(what), signal, keepalive: true }).catch(() => "");
}

/** The transport that got through last, in this tab, which may not be allowed to remember. */
function remembered(transport) {
  try {
    if (transport >= 0) sessionStorage.presence = transport;
    return +sessionStorage.presence || 0;
  } catch {
    return 0;
  }
}

/**
 * Opens a link.
 * @param {string} src where the handlers are mounted
 * @param {string} me whose page it is; empty: a guest's, who need not prove to be alive
 * @param {object} to
 * @param {() => string} to.query what to ask for, each time
 * @param {() => boolean} to.idle whether nobody is at the page
 * @param {(live: import("./connect.js").Live, user?: string) => void} to.live and as whom, where the server says
 * @param {(type: string, data: any) => void} to.hear
 * @param {(status: number) => void} to.refused
 */
export function openLink(src, me, { query, idle, live, hear, refused }) {
  let turn, token, timer, beaten;
  let closed = false;

  const within = (ms) => {
    clearTimeout(timer);
    timer = setTimeout(() => turn.abort(), ms);
  };

  // Beats answer what the server says, for timers sleep in hidden tabs.
  const beat = async () => {
    if (!me || !token) return;
    beaten = Date.now();
    const { signal } = turn;
    const { status } = await say(src + "/beat", { connection: token, idle: idle() }, signal);
    if (status === 410 && !signal.aborted) turn.abort();
  };

  const address = (path) => `${src}/${path}?${query()}` + (me && "&beat=1&me=" + encodeURIComponent(me) + (idle() ? "&idle=1" : ""));

  /** Waits so many ms, or until the browser is online again. */
  const sleep = (ms) =>
    new Promise((wake) => {
      turn = new AbortController();
      if (navigator.onLine === false) live("off");
      else setTimeout(wake, ms);
      addEventListener("online", wake, { signal: turn.signal });
    });

  const run = async () => {
    let transport = remembered();
    for (let failures = 0; !closed; ) {
      let heartbeat, refusal, wait;
      turn = new AbortController();
      const { signal } = turn;
      addEventListener("offline", () => turn.abort(), { signal });
      within(PATIENCE);
      try {
        await TRANSPORTS[transport](address, signal, (type, data, retry) => {
          if (signal.aborted) return;
          wait = retry ?? wait;
          if (type === "welcome") {
            heartbeat = (data.heartbeat ?? 15) * 1000;
            token = data.connection;
            beaten = Date.now();
            failures = 0;
            remembered(transport);
            live("on", data.user);
          } else if (type && data) hear(type, data);
          within(PATIENCE + 2 * heartbeat);
          if (Date.now() - beaten > heartbeat / 2) beat();
        }, transport);
      } catch (why) {
        refusal = why;
      }
      const silent = signal.aborted;
      clearTimeout(timer);
      turn.abort();
      token = "";
      if (closed) return;
      const { status, headers } = refusal ?? "";
      const after = headers?.get("Retry-After") * 1000 || 0;
      if (status >= 400 && status < 500 && status !== 429) return refused(status);
      if (!heartbeat) {
        if ((silent || transport || failures > 2) && !after && ++transport < TRANSPORTS.length) continue;
        transport = 0;
      }
      live(heartbeat ? "connecting" : "off");
      await sleep(+wait || after + Math.min(FIRST_WAIT * 2 ** failures++, LONGEST_WAIT) * (0.5 + Math.random()));
      turn.abort();
      if (!closed) live("connecting");
    }
  };
  run();

  return {
    beat,
    /** What the server knows the connection by; empty: there is none. */
    get token() {
      return token;
    },
    close() {
      closed = true;
      turn.abort();
    },
    /** Says goodbye: the page goes, and nobody takes over. */
    leave() {
      if (token) navigator.sendBeacon(src + "/leave", JSON.stringify({ connection: token }));
    },
  };
}
