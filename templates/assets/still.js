// Whether the visitor is busy in a part of the page, which must not change under the pointer
// or the focus. The list of users waits in the same way, see list.js.

const HOLD = 30_000; // ms for which a pointer or a focus at rest keeps a part as it is

/**
 * Watches a part of the page.
 * @param {HTMLElement} part
 * @param {() => void} changed is called when the visitor may not be busy any more
 * @returns {() => boolean} whether the visitor is busy
 */
export function still(part, changed) {
  let pointer = false; // it is over the part
  let until = 0; // when pointer and focus have rested for too long
  let timer;

  const busy = () => Date.now() < until && (pointer || part.matches(":focus-within"));

  /** Looks again when the rest is over. */
  const later = () => {
    timer ??= setTimeout(() => {
      timer = undefined;
      if (busy()) later();
      else changed();
    }, Math.max(0, until - Date.now()));
  };

  for (const type of ["pointermove", "focusin", "keydown"]) {
    part.addEventListener(type, () => {
      pointer ||= type === "pointermove";
      until = Date.now() + HOLD;
    });
  }
  for (const type of ["pointerleave", "focusout"]) {
    part.addEventListener(type, ({ relatedTarget }) => {
      if (part.contains(relatedTarget)) return;
      pointer &&= type === "focusout";
      if (!busy()) changed();
    });
  }
  return () => busy() && (later(), true);
}
