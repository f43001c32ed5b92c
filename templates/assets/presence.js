// <whos-online> and <online-dot>: what the server rendered, kept live.

import { connect, site } from "./connect.js";
import { get, parse } from "./link.js";
import { userList } from "./list.js";
import { shown } from "./person.js";
import { openLocale } from "./texts.js";

/** The names of counts: in data-count, and in events. */
const FIGURES = { online: "total", guests: "guests", recent: "recent" };

const LOST = 3000; // ms without a connection before the widget says so

const { texts, topic: home } = site;
const locale = openLocale(texts.lang);

class WhosOnline extends HTMLElement {
  #announcer; // loaded with the first news
  #show; // shows users, if there is a list
  #fresh = Date.now(); // when the list was up to date
  #timer;

  connectedCallback() {
    const topic = (this.topic = this.getAttribute("topic"));
    const list = this.#part("users");
    if (list) this.#show ??= userList(list, texts.status);
    const known = this.#read();
    let listens = known.cursor; // without a cursor, the first state has users who were there before: no news
    const p = (this.presence = connect({ topics: [topic], src: this.getAttribute("src"), limit: this.max, known }));
    for (const type of ["join", "leave"]) {
      p.on(type, (id, user) => {
        this.#fire(type, { topic, id, ...user });
        if (listens) this.#note(id, user.name || id, type === "join");
      });
    }
    p.on("state", (state) => this.#fire("state", state));
    p.on("live", (_, signedOut) => this.#live(signedOut));
    p.on("sync", () => {
      listens = true;
      this.#paint();
    });
    this.#paint();
    if (known.stale) this.#lost(texts.lost); // in the visitor's time zone
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
      this.#timer ||= setTimeout(() => this.#lost(texts.lost), LOST); // from the first failure, not from each
      return;
    }
    this.#timer = clearTimeout(this.#timer);
    this.#lost(signedOut ? texts.signedOut : "");
  }

  /** Shows why changes do not arrive; "" if they do. */
  #lost(why) {
    const lost = this.#part("lost");
    const time = new Date(this.#fresh).toLocaleTimeString(texts.lang, { timeStyle: "short" });
    lost.textContent = why.replace("{time}", time);
    delete lost.dataset.since;
  }

  async #note(...news) {
    const { Announcer, summary } = await import("./announce.js");
    const forms = this.topic === home ? [texts.came, texts.went] : [texts.joined, texts.left];
    this.#announcer ??= new Announcer((...names) => {
      this.#part("said").textContent = forms.map((form, i) => summary(locale, form, names[i])).join(" ");
    });
    this.#announcer.note(...news);
  }

  /** Reads what the server rendered. */
  #read() {
    const users = new Map([...this.querySelectorAll("[data-user]")].map((item) => [
      item.dataset.user,
      {
        name: item.querySelector("bdi").textContent,
        status: item.dataset.status,
        since: item.dataset.since,
        avatar: item.querySelector("img")?.getAttribute("src"),
        url: item.querySelector("a").getAttribute("href"),
        data: parse(item.dataset.json),
      },
    ]));
    const counts = {};
    for (const name in FIGURES) {
      const { value } = this.querySelector(`[data-count=${name}]`);
      if (value) counts[FIGURES[name]] = Number(value);
    }
    const { since } = this.#part("lost").dataset; // the store was out when the page was rendered
    if (since) this.#fresh = Date.parse(since);
    return { users, counts, cursor: this.getAttribute("cursor"), stale: !!since };
  }

  /** Shows what is known. */
  #paint() {
    const counts = this.presence.counts(this.topic);
    const shown = [...this.presence.roster(this.topic)].slice(0, this.max);
    const rest = Math.max(0, (counts.total ?? 0) - shown.length);
    this.#show?.(shown);
    for (const name in FIGURES) this.#count(`[data-count=${name}]`, counts[FIGURES[name]]);
    this.#count("[data-text=more]", rest);
    const known = "total" in counts;
    const visible = { more: rest, counts: known, empty: known && !counts.total, unknown: !known };
    for (const name in visible) if (this.#part(name)) this.#part(name).hidden = !visible[name];
    this.#live();
  }

  /** Shows a number and its text. */
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

let presence; // the client of all dots
let dots; // what keeps them live, loaded on demand
let there = 0;

/** A dot beside a name, for the site's topic. */
class OnlineDot extends HTMLElement {
  async connectedCallback() {
    if (!there++) {
      presence = connect({ topics: [site.topic], limit: 0, known: { cursor: site.cursor } });
      dots = import("./dots.js").then(({ openDots }) => openDots(presence, site, { get, shown }));
      for (const type of ["join", "change", "leave", "state", "sync"]) {
        presence.on(type, async (...what) => (await dots)[type](...what));
      }
    }
    (await dots).add(this);
  }

  disconnectedCallback() {
    if (!--there) presence.close();
    else dots.then((all) => all.remove(this));
  }
}

// The page may have loaded the script of another version, too.
for (const [name, element] of [["whos-online", WhosOnline], ["online-dot", OnlineDot]]) {
  customElements.get(name) ?? customElements.define(name, element);
}
