// People: users as the visitor may see them, in lists of contacts, on profiles and beside
// names. Loaded by pages that show any, of sites that have people.

const MOST = 500; // the most people that a connection watches
const AGE = 10_000; // ms between two updates of texts such as "5 minutes ago"
const SOON = 50; // ms to collect elements, which come in groups
const LOST = 3000; // ms without a connection before a list says so

/**
 * Returns connect with the options people and contacts. The topic "people" has the events of
 * all lists in all tabs of the browser. The listeners of a call hear only of the call's own people.
 * @param {typeof import("./connect.js").connect} connect
 * @returns {typeof import("./connect.js").connect}
 */
export const withPeople = (connect) => ({ people, contacts, ...options } = {}) => {
  if (!people && !contacts) return connect(options);
  const wanted = new Set(people);
  if (wanted.size > MOST) throw new RangeError(`presence: connect watches at most ${MOST} people`);
  const lists = [...wanted].map((id) => id + "\nperson");
  if (contacts) lists.push("contacts\nlist");
  const { topics = [] } = options;
  const p = connect({ ...options, topics: [...topics, "people", ...lists] });
  const listed = (users) => [...users].filter(([id]) => contacts || wanted.has(id));
  const roster = (topic) => (topic === "people" ? new Map(listed(p.roster(topic))) : p.roster(topic));
  const live = () => (!topics.length && p.refused("people") ? "off" : p.live);
  return {
    get live() {
      return live();
    },
    on: (type, listener) =>
      p.on(type, (...what) => {
        if (type === "live") what[0] = live();
        else if (what.at(-1) === "people" && type === "state") {
          const users = Object.fromEntries(listed(Object.entries(what[0].users)));
          what[0] = { ...what[0], users, total: Object.keys(users).length };
        } else if (what[2] === "people" && !contacts && !wanted.has(what[0])) return;
        listener(...what);
      }),
    roster,
    counts: (topic) => (topic === "people" && "total" in p.counts(topic) ? { total: roster(topic).size } : p.counts(topic)),
    stale: p.stale,
    cursor: p.cursor,
    refused: p.refused,
    close: p.close,
  };
};

/** Keeps the elements of people on this page live. @type {ReturnType<typeof openPage>} */
let page;

/**
 * Returns the object that keeps the elements of people on this page live.
 * @param {import("./marks.js").Script & {ago: typeof import("./dots.js").ago, announce: typeof import("./announce.js").announce}} script
 */
export const peopleOf = (script) => (page ??= openPage(script));

const write = (element, text) => {
  if (element.textContent !== text) element.textContent = text;
};

function openPage({ connect, site, get, insist, queries, locale, ago, announce }) {
  const { texts, src } = site;
  /** The elements with a data-people, and their texts. @type {Map<HTMLElement, Record<string, any>>} */
  const elements = new Map();
  /** Other modules that show people: the dots. */
  const others = new Set();
  let client; // watches the people of all elements
  let list; // the people whom it watches, as JSON
  let due; // the timer of review
  let fresh = Date.now(); // when the lists were last up to date
  let alive; // whether changes arrive
  let losing; // the timer of lost
  let growing; // the timer of grow

  /** Returns the items of an element: those that show one person, or without an id all. */
  const itemsOf = (element, id) => {
    const items = element.dataset.person === undefined ? [...element.querySelectorAll("[data-person]")] : [element];
    return items.filter(({ dataset }) => id === undefined || dataset.person === id);
  };

  /** Soon watches the people who are on the page then. */
  const review = () => {
    due ??= setTimeout(() => {
      due = undefined;
      for (const element of elements.keys()) if (!element.isConnected) elements.delete(element);
      const shown = [...elements.keys()];
      const contacts = shown.some(({ dataset }) => dataset.people === "contacts");
      const ids = [...shown.flatMap(({ dataset }) => dataset.person ?? []), ...[...others].flatMap((other) => [...other.ids()])];
      watch(contacts, [...new Set(ids)].sort().slice(0, MOST));
    }, SOON);
  };

  const watch = (contacts, people) => {
    const wanted = JSON.stringify([contacts, people]);
    if (wanted === list) return;
    list = wanted;
    const before = client;
    client = undefined;
    if (contacts || people.length) {
      client = withPeople(connect)({ people, contacts, src, limit: 0 });
      for (const type of ["join", "change"]) client.on(type, (id, user) => put(id, user));
      client.on("leave", (id, { last_seen }) => put(id, undefined, last_seen ?? ""));
      client.on("state", state);
      client.on("live", (_, signedOut) => live(signedOut));
      live();
    }
    before?.close(); // after the new client is open, so that people in both stay known
  };

  /** Shows a person in all elements. Without a user the person is offline; an empty lastSeen: not known. */
  const put = (id, user, lastSeen) => {
    for (const [element, words] of elements) for (const item of itemsOf(element, id)) show(element, words, item, user, lastSeen);
    for (const other of others) other.put(id, user, lastSeen);
  };

  const show = (element, words, item, user, lastSeen = "") => {
    const was = item.dataset.status;
    const status = user?.status ?? "offline";
    const [word, says, on, time] = item.querySelector(".presence-note").children;
    item.dataset.status = item.querySelector(".presence-dot").dataset.status = status;
    write(word, texts.status[status]);
    write(says.firstElementChild, user?.text ?? "");
    says.title = says.textContent; // the text may be cut off
    write(on, (user?.on?.length === 1 && words[user.on[0]]) || "");
    date(time, words, user ? "" : lastSeen);
    const name = item.querySelector(".presence-link bdi");
    if (name && user?.name) write(name, user.name);
    if ((was === "offline") === (status === "offline")) return;
    const type = user ? "join" : "leave";
    const id = item.dataset.person;
    fire(element, type, { topic: "people", id, ...user, ...(lastSeen && { last_seen: lastSeen }) });
    count(element, words);
    const said = element.querySelector(".presence-said");
    if (said) announce(said, locale, texts, true, id, name?.textContent ?? id, type === "join");
  };

  const fire = (element, type, detail) => element.dispatchEvent(new CustomEvent("presence:" + type, { bubbles: true, detail }));

  const count = (element, words) => {
    const figure = element.querySelector("[data-count=online]");
    if (!figure) return;
    figure.value = itemsOf(element).filter(({ dataset }) => dataset.status !== "offline").length;
    write(figure, locale.number(+figure.value));
    write(figure.nextElementSibling, locale.text(words.online, +figure.value));
  };

  /** Shows when a person was last seen. @param {string} at empty: the time is not known, or the person is online */
  const date = (time, words, at) => {
    const moment = new Date(at);
    if (isNaN(moment)) {
      time.removeAttribute("datetime");
      time.removeAttribute("title");
      return write(time, "");
    }
    time.dateTime = at;
    time.title = moment.toISOString().slice(0, 16).replace("T", " ") + " UTC";
    write(time, words.seen.replace("{ago}", ago(texts, locale, Date.now() - moment)));
  };

  /** Takes a state. The people in it were shown by put before, so all others are offline. */
  const state = (data) => {
    const gone = new Set();
    for (const [element, words] of elements) {
      for (const item of itemsOf(element)) {
        const { person, status } = item.dataset;
        if (status === "offline" || Object.hasOwn(data.users, person)) continue;
        gone.add(person);
        show(element, words, item);
      }
      const mine = new Set(itemsOf(element).map(({ dataset }) => dataset.person));
      const users = Object.fromEntries(Object.entries(data.users).filter(([id]) => mine.has(id)));
      fire(element, "state", { topic: "people", total: Object.keys(users).length, users });
    }
    for (const other of others) other.only(data.users);
    ask([...gone]);
  };

  /** Asks when people were last seen, for those who left while there was no connection. */
  const ask = async (ids) => {
    for (const query of queries("id", ids)) {
      const { users = {} } = await insist(get, `${src}/people?${query}`, "users", () => elements.size > 0);
      for (const [id, { online, last_seen }] of Object.entries(users)) {
        if (!online && last_seen && !client?.roster("people").has(id)) put(id, undefined, last_seen);
      }
    }
  };

  const live = (signedOut) => {
    const now = client.live;
    if (alive === "on" && now !== alive) fresh = Date.now();
    alive = now;
    for (const element of elements.keys()) {
      if (element.dataset.live === now) continue;
      element.dataset.live = now;
      fire(element, "live", { topic: "people", live: now });
    }
    if (now === "on" || signedOut !== undefined || client.refused("people")) {
      losing = clearTimeout(losing);
      lost(signedOut ? texts.signedOut : "");
    } else losing ??= setTimeout(() => lost(texts.lost), LOST);
  };

  /** Says in the lists why changes do not arrive; "" if they do. */
  const lost = (why) => {
    const text = why.replace("{time}", () => new Date(fresh).toLocaleTimeString(texts.lang, { timeStyle: "short" }));
    for (const element of elements.keys()) {
      const part = element.querySelector(".presence-lost");
      if (part) write(part, text);
    }
  };

  /** Updates the texts of last seen at intervals, and drops elements that have left the page. */
  const grow = () => {
    growing ??= setTimeout(() => {
      growing = undefined;
      for (const [element, words] of elements) for (const time of element.querySelectorAll("time[datetime]")) date(time, words, time.dateTime);
      if ([...elements.keys()].some(({ isConnected }) => !isConnected)) review();
      if (elements.size) grow();
    }, AGE);
  };

  return {
    /** Keeps an element of the server live. */
    keep(element) {
      elements.set(element, JSON.parse(element.dataset.words));
      grow();
      const known = client?.roster("people");
      for (const item of known ? itemsOf(element) : []) {
        const user = known.get(item.dataset.person);
        if (user) show(element, elements.get(element), item, user);
      }
      review();
      if (client) live();
    },
    /**
     * Watches the people whom another module shows, and passes their changes to it.
     * @param {{ids: () => Iterable<string>, put: (id: string, user?: any, lastSeen?: string) => void, only: (users: object) => void}} other
     */
    join(other) {
      others.add(other);
      review();
      return {
        /** To call when the ids have changed. */
        review,
        end() {
          others.delete(other);
          review();
        },
      };
    },
  };
}
