// Whether the visitor is at the page. Only then the page marks what it shows as seen or read.

const RECENT = 120_000; // ms after the last input for which a visitor counts as being there

let input = Date.now(); // when the visitor last did something; opening the page counts
/** Callbacks for when the visitor comes back. @type {Set<() => void>} */
const comers = new Set();

/** Whether the page is in view and has the focus, and its visitor did something lately. */
export const attended = () => !document.hidden && document.hasFocus() && Date.now() - input < RECENT;

/** Calls back each time that the visitor comes back to the page, until offAttend. */
export const onAttend = (callback) => comers.add(callback);
export const offAttend = (callback) => comers.delete(callback);

const told = () => {
  for (const callback of comers) callback();
};

for (const type of ["pointerdown", "pointermove", "keydown", "wheel", "touchmove"]) {
  addEventListener(type, () => {
    const was = Date.now() - input < RECENT;
    input = Date.now();
    if (!was) told();
  }, { capture: true, passive: true });
}
addEventListener("focus", told);
document.addEventListener("visibilitychange", told);
