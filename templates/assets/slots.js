// The parts of an item's element that show its words: elements with a data-slot. The same
// slots serve lists and rooms. Text is set as text and never as HTML.

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
 * Returns what fills the slots of an element, by the words of a data-slot.
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
    // What the server rendered from the same text stays, also with more markup.
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

/** Shows the state of an item; undefined: those of rooms have none. */
export function setState(element, state) {
  const focused = element.querySelector(":focus");
  if (state) element.dataset.state = state;
  else delete element.dataset.state;
  for (const part of element.querySelectorAll("[data-when]")) part.hidden = part.dataset.when !== state;
  // The stream may say so before the answer to the form does.
  if (focused?.hidden) focused.parentElement.querySelector("button:not([hidden])")?.focus();
}

/** Fills the slots of an item's element, itself among them. */
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
