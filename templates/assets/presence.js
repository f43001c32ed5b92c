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
  #timer = 0;

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
    p.on("live", () => this.#live());
    p.on("sync", () => {
      listens = true;
      this.#paint();
    });
    this.#paint();
  }

  disconnectedCallback() {
    clearTimeout(this.#timer);
    this.#timer = 0;
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

  #live() {
    const p = this.presence;
    const live = p.live === "on" && p.stale(this.topic) ? "off" : p.live;
    const was = this.dataset.live;
    if (live === was) return;
    this.dataset.live = live;
    this.#fire("live", { topic: this.topic, live });
    if (was === "on") this.#fresh = Date.now();
    if (live !== "on") {
      this.#timer ||= setTimeout(() => this.#lost(), LOST); // of the first try, not of each
      return;
    }
    clearTimeout(this.#timer);
    this.#timer = 0;
    this.#part("lost").textContent = "";
  }

  #lost() {
    const time = new Date(this.#fresh).toLocaleTimeString(texts.lang, { timeStyle: "short" });
    this.#part("lost").textContent = texts.lost.replace("{time}", time);
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
    return { users, counts, cursor: this.getAttribute("cursor") };
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
