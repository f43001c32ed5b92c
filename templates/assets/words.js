// Sentences with names and times in them.

/**
 * Returns the nodes of a text, with nodes in place of the words in braces. A name cannot
 * spell one of these.
 * @param {string} text
 * @param {Record<string, Node | string>} parts
 */
export const sentence = (text, parts) => text.split(/(\{\w+\})/).map((piece) => parts[piece] ?? piece);

/** Returns an element for a name, whose direction is its own. */
export function isolated(name) {
  const bdi = document.createElement("bdi");
  bdi.textContent = name;
  return bdi;
}

/** Gives an element nodes, unless it shows the same. Returns whether it has changed. */
export function show(element, nodes) {
  const same = element.cloneNode();
  same.replaceChildren(...nodes);
  if (element.isEqualNode(same)) return false;
  element.replaceChildren(...same.childNodes);
  return true;
}
