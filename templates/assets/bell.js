// The bell: how many notifications are unread.

const MOST = 99; // a higher number is shown as 99+
const GAP = 8; // px around the list that a bell opens
const LEAST = 160; // px: a lower list could not be read

/**
 * Returns the texts of a bell for a number.
 * @param {{label: string, unread: import("./texts.js").Plural}} words
 * @param {import("./texts.js").Locale} locale
 * @param {number} [unread] undefined: the number is not known
 * @returns {{badge: string, name: string}} the text of the badge, and the name of the link
 */
export function bellText(words, locale, unread) {
  if (!unread) return { badge: "", name: words.label };
  return { badge: unread > MOST ? locale.number(MOST) + "+" : locale.number(unread), name: locale.text(words.unread, unread) };
}

/**
 * Keeps a bell live.
 * @param {HTMLElement} part a <presence-part> with a <presence-bell>
 * @param {import("./inbox.js").Tools} tools
 * @returns {import("./inbox.js").View}
 */
export function bellView(part, { locale }) {
  const bell = part.querySelector("presence-bell");
  const words = JSON.parse(part.dataset.words);
  const link = bell.querySelector("a");
  const badge = link.querySelector(".presence-badge");
  const said = link.querySelector(".presence-said");

  const put = (name, value) => {
    if (value === undefined) delete bell.dataset[name];
    else bell.dataset[name] = value;
  };

  // If the bell has a list, a click opens it as a popover. With a modifier key the link works as usual.
  const template = bell.querySelector("template");
  let popover;
  if (template && HTMLElement.prototype.showPopover) {
    link.setAttribute("aria-expanded", "false");
    link.addEventListener("click", (e) => {
      if (e.button || e.ctrlKey || e.metaKey || e.shiftKey || e.altKey) return;
      e.preventDefault();
      if (!popover) {
        popover = Object.assign(document.createElement("div"), { className: "presence-popover", popover: "auto" });
        popover.append(document.importNode(template.content, true));
        bell.append(popover);
        popover.addEventListener("toggle", ({ newState }) => link.setAttribute("aria-expanded", newState === "open"));
      }
      place(popover);
      popover.togglePopover();
    });
  }

  /** Puts the list below the bell. Its height is at most what is left of the window. */
  const place = ({ style }) => {
    const below = Math.max(0, link.getBoundingClientRect().bottom) + GAP;
    style.top = below + "px";
    style.maxHeight = `max(${LEAST}px, 100vh - ${below + GAP}px)`;
  };

  return {
    cursor: bell.getAttribute("cursor") ?? "", // the stream starts from it
    unread: number(bell.dataset.unread),
    unseen: number(bell.dataset.unseen),
    take() {},
    paint({ unread, unseen, stale }) {
      put("unread", unread);
      put("unseen", unseen);
      put("stale", stale && unread !== undefined ? "" : undefined);
      const text = bellText(words, locale, unread);
      if (badge.textContent !== text.badge) badge.textContent = text.badge;
      if (said.textContent !== text.name) said.textContent = text.name;
    },
    clear() {
      popover?.hidePopover();
    },
  };
}

/** Returns the number of an attribute; undefined if there is none. */
export const number = (value) => (value ? +value : undefined);
