// <whos-online> and <online-dot>: what the server rendered, kept live.

import { hue, initials, link } from "./person.js";
import { connect, site } from "./connect.js";

/** What data-count names, and what events call it. */
const FIGURES = { online: "total", guests: "guests", recent: "recent" };

class WhosOnline extends HTMLElement {
  connectedCallback() {
    this.topic = this.getAttribute("topic");
    this.max = Number(this.getAttribute("max"));
    const presence = connect({
      topics: [this.topic],
      src: this.getAttribute("src"),
      limit: this.max,
      known: this.#read(),
    });
    this.presence = presence;
    this.#paint();
    this.#onLive();
    presence.on("live", () => this.#onLive());
    presence.on("sync", () => (this.#paint(), this.#onLive()));
    presence.on("state", (state) => this.#fire("state", state));
    for (const type of ["join", "leave"]) {
      presence.on(type, (id, user, topic) => this.#fire(type, { topic, id, ...user }));
    }
    this.addEventListener("error", (e) => e.target.remove(), true); // a picture, over initials
    for (const image of this.querySelectorAll("img")) if (image.complete && !image.naturalWidth) image.remove();
  }

  disconnectedCallback() {
    this.presence.close();
  }

  #onLive() {
    let { live } = this.presence;
    if (this.presence.stale(this.topic) && live === "on") live = "off";
    if (this.dataset.live === live) return;
    this.dataset.live = live;
    this.#fire("live", { topic: this.topic, live });
  }

  #fire(name, detail) {
    this.dispatchEvent(new CustomEvent("presence:" + name, { bubbles: true, detail }));
  }

  /** What the server rendered. */
  #read() {
    const users = new Map();
    for (const item of this.querySelectorAll("[data-user]")) {
      users.set(item.dataset.user, {
        name: item.querySelector(".presence-name").textContent,
        status: item.dataset.status,
        since: item.dataset.since,
        avatar: item.querySelector("img")?.getAttribute("src"),
        url: item.querySelector("a").getAttribute("href"),
      });
    }
    const counts = {};
    for (const name in FIGURES) {
      const figure = this.querySelector(`[data-count=${name}]`)?.textContent;
      if (figure) counts[FIGURES[name]] = Number(figure);
    }
    return { users, counts, cursor: this.getAttribute("cursor") };
  }

  /** Brings the document to the roster, touching only what differs. */
  #paint() {
    const counts = this.presence.counts(this.topic);
    const shown = [...this.presence.roster(this.topic).keys()].slice(0, this.max);
    this.#paintList(shown);
    for (const name in FIGURES) {
      const figure = this.querySelector(`[data-count=${name}]`);
      const n = counts[FIGURES[name]];
      if (!figure || n === undefined) continue;
      setText(figure, String(n));
      setPlural(figure.nextElementSibling, n);
    }
    const rest = (counts.total ?? 0) - shown.length;
    setPlural(this.querySelector(".presence-more"), rest);
    this.#toggle("more", rest > 0 && this.max > 0);
    this.#toggle("counts", counts.total !== undefined);
    this.#toggle("empty", counts.total === 0);
    this.#toggle("unknown", counts.total === undefined);
  }

  #paintList(shown) {
    const list = this.querySelector(".presence-users");
    if (!list) return;
    const items = new Map(Array.from(list.children, (item) => [item.dataset.user, item]));
    const keep = new Set(shown);
    for (const [id, item] of items) if (!keep.has(id)) item.remove();
    shown.forEach((id, at) => {
      const item = items.get(id) ?? newItem(id);
      fill(item, id, this.presence.roster(this.topic).get(id));
      if (list.children[at] !== item) list.insertBefore(item, list.children[at] ?? null);
    });
  }

  #toggle(part, visible) {
    const there = this.querySelector(".presence-" + part);
    if (there) there.hidden = !visible;
  }
}

/** The dot beside a name, for the topic in which the site records page views. */
class OnlineDot extends HTMLElement {
  connectedCallback() {
    const presence = connect({ topics: [site.topic], src: site.src, limit: 0, known: { cursor: site.cursor } });
    this.presence = presence;
    const about = (shown) => (id, user) => id === this.dataset.presenceDot && this.#show(shown ?? user.status);
    presence.on("join", about());
    presence.on("change", about());
    presence.on("leave", about("offline"));
    presence.on("state", ({ users, truncated }) => {
      const id = this.dataset.presenceDot;
      if (!truncated && !Object.hasOwn(users, id)) this.#show("offline"); // what is cut off says nothing
    });
    this.#show(presence.roster(site.topic).get(this.dataset.presenceDot)?.status);
  }

  disconnectedCallback() {
    this.presence.close();
  }

  #show(status) {
    if (!status) return;
    this.dataset.status = status;
    this.title = site.statuses[status];
    this.setAttribute("aria-label", this.title);
  }
}

const node = (tag, className) => Object.assign(document.createElement(tag), { className });

/** The markup of an item in widget.html. */
function newItem(id) {
  const item = node("li", "presence-user presence-new");
  const card = node("a", "presence-card");
  const avatar = node("span", "presence-avatar presence-hue-" + hue(id));
  avatar.setAttribute("aria-hidden", "true");
  card.append(avatar, node("bdi", "presence-name"), " ", node("span", "presence-status"));
  item.append(card);
  item.dataset.user = id;
  return item;
}

/** What an item shows. @type {WeakMap<Element, import("./roster.js").User>} */
const filled = new WeakMap();

function fill(item, id, user) {
  if (filled.get(item) === user) return;
  filled.set(item, user);
  const [card, avatar, name, status] = item.querySelectorAll("a, .presence-avatar, .presence-name, .presence-status");
  item.dataset.status = user.status;
  if (user.since) item.dataset.since = user.since;
  setText(name, user.name || id);
  name.title = name.textContent;
  setText(status, site.statuses?.[user.status] ?? user.status);

  const url = link(user.url, document.baseURI);
  if (url) card.setAttribute("href", url);
  else card.removeAttribute("href");

  const picture = link(user.avatar, document.baseURI);
  const letters = initials(name.textContent);
  const image = avatar.querySelector("img");
  if (avatar.textContent === letters && (image?.getAttribute("src") ?? "") === picture) return;
  avatar.textContent = letters;
  if (picture) avatar.append(Object.assign(new Image(), { src: picture, alt: "" }));
}

function setText(part, text) {
  if (part.textContent !== text) part.textContent = text;
}

/** Shows the text that goes with a number: {n} stands for it. */
function setPlural(part, n) {
  if (part) setText(part, (n === 1 ? part.dataset.singular : part.dataset.plural).replace("{n}", n));
}

customElements.define("whos-online", WhosOnline);
if (site.topic) customElements.define("online-dot", OnlineDot);
