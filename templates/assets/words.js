// Texts that contain names and times as elements.

/**
 * Returns the nodes of a text, with nodes in place of the words in braces. A name such as
 * "{time}" is not replaced, because only the text is searched.
 * @param {string} text
 * @param {Record<string, Node | string>} parts
 */
export const sentence = (text, parts) => text.split(/(\{\w+\})/).map((piece) => parts[piece] ?? piece);

/** Returns an element for a name. A name from right to left does not change the text around it. */
export function isolated(name) {
  const bdi = document.createElement("bdi");
  bdi.textContent = name;
  return bdi;
}

/** Returns a function that adds listeners until another one ends all of them. */
export function listening() {
  const all = [];
  const listen = (target, type, listener) => {
    target.addEventListener(type, listener);
    all.push([target, type, listener]);
  };
  return [listen, () => all.splice(0).forEach(([target, ...what]) => target.removeEventListener(...what))];
}

/** Replaces the content of an element, unless it is the same. Returns whether it has changed. */
export function show(element, nodes) {
  const same = element.cloneNode();
  same.replaceChildren(...nodes);
  if (element.isEqualNode(same)) return false;
  element.replaceChildren(...same.childNodes);
  return true;
}
