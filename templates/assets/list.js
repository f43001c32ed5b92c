// The list of users in a widget: brought to what it should be, and not while
// somebody is at it.

import { hue, initials, link } from "./person.js";

const HOLD = 30_000; // ms that a pointer or a focus at rest keeps the list as it is

export class UserList {
  #list;
  #blank; // a template of what stands for a user
  #statuses;
  #paint; // brings what is to be shown, and is not yet
  #timer = 0;
  #pointer = false; // it is over the list
  #until = 0; // it or the focus rests no longer than this
  #broken = new Set(); // pictures that do not load

  /**
   * @param {HTMLElement} list as the server rendered it, after its template
   * @param {Record<string, string>} statuses what they are called
   */
  constructor(list, statuses) {
    this.#list = list;
    this.#blank = list.previousElementSibling.content.firstElementChild;
    this.#statuses = statuses;
    for (const type of ["pointermove", "focusin", "keydown"]) {
      list.addEventListener(type, () => {
        this.#pointer ||= type === "pointermove";
        this.#until = Date.now() + HOLD;
      });
    }
    for (const type of ["pointerleave", "focusout"]) {
      list.addEventListener(type, ({ relatedTarget }) => {
        if (list.contains(relatedTarget)) return;
        this.#pointer &&= type === "focusout";
        this.#review();
      });
    }
    list.addEventListener("error", ({ target }) => this.#drop(target), true);
    for (const image of list.querySelectorAll("img")) if (image.complete && !image.naturalWidth) this.#drop(image);
  }

  /** Leaves the initials where a picture does not load. */
  #drop(image) {
    this.#broken.add(image.getAttribute("src"));
    image.remove();
  }

  /**
   * Shows users, as soon as nobody points at the list or has the focus in it.
   * @param {[string, import("./connect.js").User][]} users
   */
  show(users) {
    this.#paint = () => this.#put(users);
    this.#review();
  }

  #review() {
    clearTimeout(this.#timer);
    const rest = this.#until - Date.now();
    if (rest > 0 && (this.#pointer || this.#list.matches(":focus-within"))) {
      this.#timer = setTimeout(() => this.#review(), rest);
      return;
    }
    const paint = this.#paint;
    this.#paint = null; // what is removed loses the focus, which leads here again
    paint?.();
  }

  /** Touches only what differs, and keeps the focus near where it was. */
  #put(users) {
    const list = this.#list;
    const focused = list.querySelector(":focus");
    const place = [...list.children].findIndex((item) => item.contains(focused));
    const items = new Map(Array.from(list.children, (item) => [item.dataset.user, item]));
    const stay = new Map(users);
    for (const [id, item] of items) if (!stay.has(id)) item.remove();
    users.forEach(([id, user], at) => {
      const fresh = this.#item(id, user);
      const item = items.get(id) ?? fresh;
      if (!item.isEqualNode(fresh)) {
        for (const { name, value } of fresh.attributes) item.setAttribute(name, value);
        item.replaceChildren(...fresh.childNodes);
      }
      if (list.children[at] !== item) list.insertBefore(item, list.children[at]);
    });
    if (focused && !list.matches(":focus-within")) {
      list.tabIndex = -1;
      ((list.children[place] ?? list.lastElementChild)?.querySelector("a[href]") ?? list).focus();
    }
  }

  /** What stands for a user, as the server would have rendered it. */
  #item(id, user) {
    const item = this.#blank.cloneNode(true);
    const [card, avatar, name, status] = item.querySelectorAll("*");
    item.dataset.user = id;
    item.dataset.status = user.status;
    if (user.since) item.dataset.since = user.since;
    if (user.data !== undefined) item.dataset.json = JSON.stringify(user.data);
    card.title = name.textContent = user.name || id;
    const [url, picture] = [user.url, user.avatar].map((url) => link(url, document.baseURI));
    if (url) card.setAttribute("href", url);
    avatar.classList.add("presence-hue-" + hue(id));
    avatar.textContent = initials(card.title);
    if (picture && !this.#broken.has(picture)) avatar.append(Object.assign(new Image(), { src: picture, alt: "" }));
    status.textContent = this.#statuses[user.status];
    return item;
  }
}
