// Whether the visitor is busy in a part of the page. The part must not change under the pointer
// or the focus.

const HOLD = 30_000; // ms after which a resting pointer or focus does not count any more

/**
 * Watches a part of the page.
 * @param {HTMLElement} part
 * @param {() => void} changed is called when the visitor may not be busy any more
 * @returns {() => boolean} whether the visitor is busy
 */
export function still(part, changed) {
  let pointer = part.matches(":hover"); // the pointer is over the part
  let until = Date.now() + HOLD; // until then, the pointer or the focus counts
  let timer;

  const busy = () => Date.now() < until && (pointer || part.matches(":focus-within"));

  /** Calls changed once the visitor is not busy any more. */
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
