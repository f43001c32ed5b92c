// Slots are the parts of an item's element that the script fills: elements with a data-slot. Lists
// and rooms have the same slots. A slot gets text, never HTML.

/** Returns url if it is a safe address for a link: http, https or relative; else "". */
export function safe(url) {
  try {
    return url && /^https?:$/.test(new URL(url, document.baseURI).protocol) ? url : "";
  } catch {
    return "";
  }
}

/** Returns the paragraphs of a text, each as its lines. @param {string} text */
export function paragraphs(text) {
  return text.replace(/\r\n?/g, "\n").split(/\n[ \t]*\n\s*/).map((part) => part.replace(/^\n+|\s+$/g, "").split("\n")).filter((lines) => lines.join("").trim());
}

const write = (element, text) => {
  if (element.textContent !== text) element.textContent = text;
};

/**
 * Returns the functions that fill slots, by the words of a data-slot.
 * @param {(time: HTMLTimeElement) => void} age shows how long ago a time is
 */
export const fillers = (age) => ({
  text: (element, { text }) => write(element, text),
  paragraphs(element, { text }) {
    const fresh = paragraphs(text).map((lines) => {
      const p = document.createElement("p");
      p.append(...lines.flatMap((line, i) => (i ? [document.createElement("br"), line] : [line])));
      return p;
    });
    // If the server has rendered the same text, its elements stay: they may have more markup.
    const words = (part) => part.replace(/\s+/g, "");
    if (words(element.textContent) !== words(text)) element.replaceChildren(...fresh);
  },
  link(element, { url }) {
    const address = safe(url);
    if (address) element.setAttribute("href", address);
    else element.removeAttribute("href");
  },
  time(element, { at }) {
    const moment = new Date(at);
    if (isNaN(moment)) return;
    element.setAttribute("datetime", at);
    element.title = moment.toISOString().slice(0, 16).replace("T", " ") + " UTC";
    age(element);
  },
  actor: (element, { names = [] }) => write(element, names[0] ?? ""),
  id: (element, { id }) => (element.id = id),
  pos: (element, { pos }) => (element.value = pos),
  scope: (element, { about, type }) => (element.value = about ? "about:" + about : "type:" + type),
});

/** Shows the state of an item. Items of rooms have none: undefined. */
export function setState(element, state) {
  const focused = element.querySelector(":focus");
  if (state) element.dataset.state = state;
  else delete element.dataset.state;
  for (const part of element.querySelectorAll("[data-when]")) part.hidden = part.dataset.when !== state;
  // A focused button may be hidden here, because the stream may bring the new state before the form's answer.
  if (focused?.hidden) focused.parentElement.querySelector("button:not([hidden])")?.focus();
}

/** Fills the slots of an item's element. The element itself may be a slot too. */
export function fill(element, item, by) {
  const { dataset } = element;
  dataset.item = item.id;
  dataset.pos = item.pos;
  dataset.type = item.type;
  if (item.about) dataset.about = item.about;
  else delete dataset.about;
  for (const slot of [element, ...element.querySelectorAll("[data-slot]")]) {
    for (const word of slot.dataset.slot?.split(" ") ?? []) by[word]?.(slot, item);
  }
  setState(element, item.state);
}

/** Returns a new element of a template, for an item. @param {HTMLTemplateElement} template */
export function element(template, item, by) {
  const made = document.importNode(template.content.firstElementChild, true);
  fill(made, item, by);
  return made;
}
