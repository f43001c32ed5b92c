// The elements <whos-online>, <online-dot>, <last-seen>, <online-count> and <presence-part>. The
// server renders them, and the script keeps them live.

import { become, connect, site } from "./connect.js";
import { get, parse } from "./link.js";
import { shown } from "./roster.js";
import { openLocale } from "./texts.js";

/** The names of counts in events, by their names in data-count. */
const FIGURES = { online: "total", guests: "guests", recent: "recent" };

const LOST = 3000; // ms without a connection before the widget says so

const AGAIN = 10_000; // ms before a module that did not load is asked for again

const { texts } = site;
const locale = openLocale(texts.lang);

/** An element of the server. The page's first such element has the attribute me, which names the page's user. */
class Rendered extends HTMLElement {
  static observedAttributes = ["me"];
  #me; // the user whom it has named already: an element that stays in the next page must not name its old user again

  /** Called when an element with the attribute comes, or when a page is morphed into another user's page. */
  attributeChangedCallback() {
    const me = this.getAttribute("me") ?? this.#me;
    if (this.isConnected && this.#me !== me) become((this.#me = me));
  }
}

class WhosOnline extends Rendered {
  #list; // a promise of the function that changes the list of users
  #shown; // the users in the list, as JSON
  #fresh = Date.now(); // when the list was last up to date
  #timer;

  connectedCallback() {
    this.attributeChangedCallback();
    const topic = (this.topic = this.getAttribute("topic"));
    const known = this.#read();
    this.#shown ??= JSON.stringify([...known.users]);
    this.addEventListener("error", this.#change, true); // of a picture that does not load
    for (const image of this.querySelectorAll("img")) if (image.complete && !image.naturalWidth) this.#change();
    let listens = known.cursor; // without a cursor, the first state has users who were there before, and they are no news
    const p = (this.presence = connect({ topics: [topic], src: this.getAttribute("src"), limit: +this.getAttribute("max") || 1, known }));
    for (const type of ["join", "leave"]) {
      p.on(type, (id, user) => {
        this.#fire(type, { topic, id, ...user });
        if (listens) import("./announce.js").then(({ tidings }) => tidings(this, locale, site, id, user, type)).catch(() => {}); // a module that does not load is asked for again with the next news
      });
    }
    p.on("state", (state) => this.#fire("state", state));
    p.on("live", (_, signedOut) => this.#live(signedOut));
    p.on("sync", () => {
      listens = true;
      this.#paint();
    });
    this.#paint();
    if (known.stale) this.#lost(texts.lost); // replaces the server's text by one in the visitor's time zone
  }

  disconnectedCallback() {
    this.#timer = clearTimeout(this.#timer);
    this.presence.close();
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
    // The timer runs from the first failure, and later failures do not restart it.
    if (live !== "on" && signedOut === undefined && !p.refused(this.topic)) return (this.#timer ||= setTimeout(() => this.#lost(texts.lost), LOST));
    this.#timer = clearTimeout(this.#timer);
    this.#lost(signedOut ? texts.signedOut : "");
  }

  /** Shows why changes do not arrive; "" if they do. */
  #lost(why) {
    const lost = this.#part("lost");
    lost.textContent = why.replace("{time}", () => new Date(this.#fresh).toLocaleTimeString(texts.lang, { timeStyle: "short" }));
    delete lost.dataset.since;
  }

  /** Returns the roster that the server rendered. */
  #read() {
    const users = new Map([...this.querySelectorAll("[data-user]")].map((item) => [
      item.dataset.user,
      {
        name: item.querySelector("bdi").textContent,
        status: item.dataset.status,
        since: item.dataset.since,
        group: item.dataset.group,
        avatar: item.querySelector("img")?.getAttribute("src"),
        url: item.querySelector("a").getAttribute("href"),
        data: parse(item.dataset.json),
      },
    ]));
    const counts = {};
    for (const name in FIGURES) {
      const { value } = this.querySelector(`[data-count=${name}]`) ?? ""; // the template may leave figures out
      if (value) counts[FIGURES[name]] = +value;
    }
    const { since } = this.#part("lost").dataset; // the store was out when the page was rendered
    if (since) this.#fresh = Date.parse(since);
    return { users, counts, cursor: this.getAttribute("cursor"), stale: !!since };
  }

  /** Shows users and counts. */
  #paint() {
    const counts = this.presence.counts(this.topic);
    const shown = [...this.presence.roster(this.topic)].slice(0, this.getAttribute("max"));
    const rest = Math.max(0, (counts.total ?? 0) - shown.length);
    this.#show(shown);
    for (const name in FIGURES) this.#count(`[data-count=${name}]`, counts[FIGURES[name]]);
    this.#count("[data-text=more]", rest);
    const known = "total" in counts;
    const visible = { more: rest, counts: known, empty: known && !counts.total, unknown: !known };
    for (const name in visible) if (this.#part(name)) this.#part(name).hidden = !visible[name];
    this.#live();
  }

  /** Loads the function that changes the list of users, with the first change. If that fails, the next event tries again. */
  #change = () => (this.#list ??= import("./list.js").then(({ userList }) => userList(this.#part("users"), texts.status)).catch(() => (this.#list = this.#shown = undefined)));

  /** Shows users in the list, if there is one. */
  async #show(users) {
    const json = JSON.stringify(users);
    if (!this.#part("users") || json === this.#shown) return;
    this.#shown = json;
    (await this.#change())?.(users);
  }

  /** Shows a number and its text. */
  #count(selector, n) {
    let part = this.querySelector(selector);
    if (!part || n === undefined || part.value === "" + n) return;
    if ("count" in part.dataset) {
      part.value = n;
      part.textContent = locale.number(n);
      part = part.nextElementSibling;
    }
    part.textContent = locale.text(texts[part.dataset.text], n);
  }
}

/** Any other element, such as a dot beside a name. The module that keeps it live is loaded on demand. */
class Mark extends Rendered {
  connectedCallback() {
    this.attributeChangedCallback();
    this.disconnectedCallback();
  }

  disconnectedCallback() {
    import("./marks.js").then(({ mark }) => mark(this, { connect, site, get, shown, locale }), () => setTimeout(() => this.disconnectedCallback(), AGAIN));
  }
}

// Another version of the script, which the page has loaded too, may have defined the elements.
for (const name of ["whos-online", "online-dot", "last-seen", "online-count", "presence-part"]) {
  customElements.get(name) ?? customElements.define(name, name === "whos-online" ? WhosOnline : class extends Mark {});
}
