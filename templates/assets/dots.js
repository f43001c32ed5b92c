// The dots beside names. However many a page has, they share one connection,
// and ask the server together for whom it does not tell of.

import { connect, site } from "./connect.js";

const BATCH = 100; // users that one request may ask for

/** @type {Map<string, Set<HTMLElement>>} by user id */
const dots = new Map();
/** Ids to ask for; and those of which an answer would be old, since an event told of them. */
const unknown = new Set();
const told = new Set();
let presence;

/** Beside a name, for the topic in which the site records page views. */
export class OnlineDot extends HTMLElement {
  connectedCallback() {
    const id = this.dataset.presenceDot;
    if (!dots.has(id)) dots.set(id, new Set());
    dots.get(id).add(this);
    if (!presence) open();
    const user = presence.roster(site.topic).get(id);
    if (user) show(id, user.status);
    else if (!this.dataset.status) ask([id]);
  }

  disconnectedCallback() {
    const id = this.dataset.presenceDot;
    dots.get(id).delete(this);
    if (!dots.get(id).size) dots.delete(id);
    if (!dots.size) presence = presence.close();
  }
}

function open() {
  presence = connect({ topics: [site.topic], limit: 0, known: { cursor: site.cursor } });
  for (const type of ["join", "change", "leave"]) {
    presence.on(type, (id, { status }) => {
      told.add(id);
      show(id, type === "leave" ? "offline" : status);
    });
  }
  presence.on("state", ({ users, truncated }) => {
    const absent = [...dots.keys()].filter((id) => !Object.hasOwn(users, id));
    if (truncated) ask(absent);
    else for (const id of absent) show(id, "offline");
  });
}

function show(id, status) {
  for (const dot of dots.get(id) ?? []) {
    dot.dataset.status = status;
    dot.title = dot.ariaLabel = site.texts.status[status];
  }
}

/** Asks for users, once a turn. An answer that does not come changes nothing. */
function ask(ids) {
  if (!unknown.size) setTimeout(fetchUnknown);
  for (const id of ids) unknown.add(id);
}

async function fetchUnknown() {
  const ids = [...unknown];
  unknown.clear();
  told.clear();
  while (ids.length) {
    const query = new URLSearchParams(ids.splice(0, BATCH).map((id) => ["id", id]));
    query.set("topic", site.topic);
    const answer = await fetch(`${site.src}/users?${query}`);
    const { users } = await answer.json();
    for (const id in users) if (!told.has(id)) show(id, users[id].online ? users[id].status : "offline");
  }
}
