// The dots beside names, loaded by pages that have one. All dots share one connection. They
// ask the server together for users that are not in the roster.

const BATCH = 100; // the most users in one request
const POLL = 30_000; // ms, at least, before users are asked for again while events have counts only

/**
 * Keeps dots live.
 * @param {import("./connect.js").Presence} presence follows the topic of the dots
 * @param {{topic: string, src: string, texts: {status: Record<string, string>}}} site
 * @param {object} script functions that the page has loaded already
 * @param {typeof import("./link.js").get} script.get
 * @param {typeof import("./person.js").shown} script.shown
 */
export function openDots(presence, { topic, src, texts }, { get, shown }) {
  /** @type {Map<string, Set<HTMLElement>>} by user id */
  const dots = new Map();
  /** Ids to ask for; and ids that had an event since, so that the answer is out of date. */
  const unknown = new Set();
  const told = new Set();
  let due; // when to ask again, ms

  const show = (id, status) => {
    for (const dot of dots.get(id) ?? []) {
      dot.dataset.status = status;
      dot.title = dot.ariaLabel = texts.status[status];
    }
  };

  /** Asks for users, in one request a turn. A request that fails changes nothing. */
  const ask = (ids) => {
    if (!unknown.size) setTimeout(fetchUnknown);
    for (const id of ids) unknown.add(id);
  };

  const fetchUnknown = async () => {
    const ids = [...unknown];
    unknown.clear();
    told.clear();
    while (ids.length) {
      const query = new URLSearchParams(ids.splice(0, BATCH).map((id) => ["id", id]));
      query.set("topic", topic);
      const answer = await get(`${src}/users?${query}`).then((response) => response.json()).catch(() => "");
      for (const [id, { online, status }] of Object.entries(answer.users ?? {})) {
        if (!told.has(id)) show(id, online ? shown(status) : "offline");
      }
    }
  };

  const tell = (id, status) => {
    told.add(id);
    show(id, status);
  };

  return {
    add(dot) {
      const id = dot.dataset.presenceDot;
      if (!dots.has(id)) dots.set(id, new Set());
      dots.get(id).add(dot);
      const user = presence.roster(topic).get(id);
      if (user) show(id, user.status);
      else if (!dot.dataset.status) ask([id]);
    },

    remove(dot) {
      const id = dot.dataset.presenceDot;
      dots.get(id).delete(dot);
      if (!dots.get(id).size) dots.delete(id);
    },

    // The events of presence:
    join: (id, { status }) => tell(id, status),
    change: (id, { status }) => tell(id, status),
    leave: (id) => tell(id, "offline"),
    state({ users, truncated }) {
      const absent = [...dots.keys()].filter((id) => !Object.hasOwn(users, id));
      if (!truncated) for (const id of absent) show(id, "offline");
      else if (!presence.sampled(topic)) ask(absent);
    },
    sync() {
      const now = Date.now();
      if (!presence.sampled(topic) || document.hidden || now < due) return;
      if (due) ask(dots.keys());
      due = now + POLL * (1 + Math.random() / 2); // not at once with every other browser
    },
  };
}
