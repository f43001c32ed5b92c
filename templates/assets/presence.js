// <whos-online>: what the server rendered, kept live.

import { Announcer } from "./announce.js";
import { connect, site } from "./connect.js";
import { OnlineDot } from "./dots.js";
import { UserList } from "./list.js";
import { Locale } from "./texts.js";

/** What data-count names, and what events call it. */
const FIGURES = { online: "total", guests: "guests", recent: "recent" };

const LOST = 3000; // ms without a connection before people are told

const { texts, topic: home } = site;
const locale = new Locale(texts.lang);

class WhosOnline extends HTMLElement {
  #announcer = new Announcer((came, went) => this.#say(came, went));
  #list; // of users, if there is one
  #fresh = Date.now(); // when all was known for the last time
  #timer;

  connectedCallback() {
    const topic = (this.topic = this.getAttribute("topic"));
    const list = this.#part("users");
    if (list) this.#list ??= new UserList(list, texts.status);
    const known = this.#read();
    let listens = known.cursor; // or whoever was there before comes in the first state
    const p = (this.presence = connect({ topics: [topic], src: this.getAttribute("src"), limit: this.max, known }));
    for (const type of ["join", "leave"]) {
      p.on(type, (id, user) => {
        this.#fire(type, { topic, id, ...user });
        if (listens) this.#announcer.note(id, user.name || id, type === "join");
      });
    }
    p.on("state", (state) => this.#fire("state", state));
    p.on("live", (_, signedOut) => this.#live(signedOut));
    p.on("sync", () => {
      listens = true;
      this.#paint();
    });
    this.#paint();
    if (known.stale) this.#lost(texts.lost); // in the visitor's own time
  }

  disconnectedCallback() {
    this.#timer = clearTimeout(this.#timer);
    this.presence.close();
  }

  get max() {
    return Number(this.getAttribute("max"));
  }

  #fire(name, detail) {
    this.dispatchEvent(new CustomEvent("presence:" + name, { bubbles: true, detail }));
  }

  #part(name) {
    return this.querySelector(".presence-" + name);
  }

  #live(signedOut) {
    const p = this.presence;
    const live = p.stale(this.topic) ? "off" : p.live;
    const was = this.dataset.live;
    if (live === was) return;
    this.dataset.live = live;
    this.#fire("live", { topic: this.topic, live });
    if (was === "on") this.#fresh = Date.now();
    if (live !== "on" && !signedOut) {
      this.#timer ||= setTimeout(() => this.#lost(texts.lost), LOST); // of the first try, not of each
      return;
    }
    this.#timer = clearTimeout(this.#timer);
    this.#lost(signedOut ? texts.signedOut : "");
  }

  /** Says that changes do not arrive, and why; or nothing. */
  #lost(why) {
    const lost = this.#part("lost");
    const time = new Date(this.#fresh).toLocaleTimeString(texts.lang, { timeStyle: "short" });
    lost.textContent = why.replace("{time}", time);
    delete lost.dataset.since;
  }

  #say(...names) {
    const summaries = this.topic === home ? [texts.came, texts.went] : [texts.joined, texts.left];
    this.#part("said").textContent = summaries.map((summary, i) => locale.summary(summary, names[i])).join(" ");
  }

  /** What the server rendered. */
  #read() {
    const users = new Map(Array.from(this.querySelectorAll("[data-user]"), (item) => [
      item.dataset.user,
      {
        name: item.querySelector("bdi").textContent,
        status: item.dataset.status,
        since: item.dataset.since,
        avatar: item.querySelector("img")?.getAttribute("src"),
        url: item.querySelector("a").getAttribute("href"),
      },
    ]));
    const counts = {};
    for (const name in FIGURES) {
      const { value } = this.querySelector(`[data-count=${name}]`);
      if (value) counts[FIGURES[name]] = Number(value);
    }
    const { since } = this.#part("lost").dataset; // the server itself knows no more
    if (since) this.#fresh = Date.parse(since);
    return { users, counts, cursor: this.getAttribute("cursor"), stale: !!since };
  }

  /** Brings the document to what is known. */
  #paint() {
    const counts = this.presence.counts(this.topic);
    const shown = [...this.presence.roster(this.topic)].slice(0, this.max);
    const rest = Math.max(0, (counts.total ?? 0) - shown.length);
    this.#list?.show(shown);
    for (const name in FIGURES) this.#count(`[data-count=${name}]`, counts[FIGURES[name]]);
    this.#count("[data-text=more]", rest);
    const visible = { more: rest, counts: "total" in counts, empty: counts.total === 0, unknown: !("total" in counts) };
    for (const name in visible) if (this.#part(name)) this.#part(name).hidden = !visible[name];
    this.#live();
  }

  /** Shows a number, and the text that goes with it. */
  #count(selector, n) {
    let part = this.querySelector(selector);
    if (!part || n === undefined || part.value === String(n)) return;
    if ("count" in part.dataset) {
      part.value = n;
      part.textContent = locale.number(n);
      part = part.nextElementSibling;
    }
    part.textContent = locale.text(texts[part.dataset.text], n);
  }
}

customElements.define("whos-online", WhosOnline);
customElements.define("online-dot", OnlineDot);
