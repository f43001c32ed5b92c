// The list of users in a widget. It does not change while the pointer is over it or the focus is
// in it. Loaded with the first change.

import { hue, initials, link } from "./person.js";
import { still } from "./still.js";

const FIELDS = ["status", "since", "group", "json"]; // data attributes of an item

/**
 * @param {HTMLElement} list as the server rendered it, after its template
 * @param {Record<string, string>} statuses the texts of statuses
 * @returns {(users: [string, import("./connect.js").User][]) => void} shows users, as soon as the list may change
 */
export function userList(list, statuses) {
  const blank = list.previousElementSibling.content.firstElementChild; // an item without a user
  const broken = new Set(); // pictures that do not load
  let paint; // shows the latest users; null: they are shown
  const busy = still(list, () => review());

  /** Removes a picture that does not load, so that the initials show. */
  const drop = (image) => {
    broken.add(image.getAttribute("src"));
    image.remove();
  };
  list.addEventListener("error", ({ target }) => drop(target), true);
  for (const image of list.querySelectorAll("img")) if (image.complete && !image.naturalWidth) drop(image);

  const review = () => {
    if (busy()) return;
    const now = paint;
    paint = null; // a user who is removed loses the focus, which calls review again
    now?.();
  };

  /** Shows users. It changes only items that differ, and keeps the focus near where it was. */
  const put = (users) => {
    const focused = list.querySelector(":focus");
    const place = [...list.children].findIndex((item) => item.contains(focused));
    const items = new Map([...list.children].map((item) => [item.dataset.user, item]));
    const stay = new Map(users);
    for (const [id, item] of items) if (!stay.has(id)) item.remove();
    users.forEach(([id, user], at) => {
      const fresh = item(id, user);
      const node = items.get(id) ?? fresh;
      for (const key of FIELDS) {
        if (fresh.dataset[key]) node.dataset[key] = fresh.dataset[key];
        else delete node.dataset[key];
      }
      if (!node.firstChild.isEqualNode(fresh.firstChild)) node.firstChild.replaceWith(fresh.firstChild);
      if (list.children[at] !== node) list.insertBefore(node, list.children[at]);
    });
    if (focused && !list.matches(":focus-within")) {
      list.tabIndex = -1;
      ((list.children[place] ?? list.lastElementChild)?.querySelector("a[href]") ?? list).focus();
    }
  };

  /** Returns the item of a user, as the server would have rendered it. */
  const item = (id, user) => {
    const item = blank.cloneNode(true);
    const [card, avatar, name, status] = item.querySelectorAll("*");
    item.dataset.user = id;
    const fields = { ...user, json: JSON.stringify(user.data) };
    for (const key of FIELDS) if (fields[key]) item.dataset[key] = fields[key];
    card.title = name.textContent = user.name || id;
    const [url, picture] = [user.url, user.avatar].map((url) => link(url, document.baseURI));
    if (url) card.setAttribute("href", url);
    avatar.classList.add("presence-hue-" + hue(id));
    avatar.textContent = initials(card.title);
    if (picture && !broken.has(picture)) avatar.append(Object.assign(new Image(), { src: picture, alt: "" }));
    status.textContent = statuses[user.status];
    return item;
  };

  return (users) => {
    paint = () => put(users);
    review();
  };
}
