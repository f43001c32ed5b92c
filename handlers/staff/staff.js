// Keeps the page current: it loads itself again when the chosen topic changes, and every
// ten seconds for what no event tells, such as invisible users. It does nothing while the
// page is hidden, and keeps the focus where it was.
const least = 2000; // ms between two loads
const most = 10000;
const main = () => document.querySelector("main");
const live = document.getElementById("live");

let last = Date.now(), timer = 0, loading = false;

async function load() {
  timer = 0;
  if (document.hidden || loading) return;
  loading = true;
  try {
    const address = new URL(location.href);
    address.searchParams.delete("done");
    const answer = await fetch(address, { headers: { Accept: "text/html" } });
    if (!answer.ok) throw new Error(answer.status);
    const fresh = new DOMParser().parseFromString(await answer.text(), "text/html").querySelector("main");
    const focus = document.activeElement?.id;
    main().replaceChildren(...fresh.childNodes);
    if (focus) document.getElementById(focus)?.focus();
    live.textContent = "This page is live.";
  } catch {
    live.textContent = "This page cannot be loaded again right now. It will go on trying.";
  } finally {
    loading = false;
    last = Date.now();
  }
}

function soon() {
  timer ||= setTimeout(load, Math.max(0, last + least - Date.now()));
}

const events = new EventSource(main().dataset.events);
for (const type of ["diff", "state", "count", "heartbeat"]) events.addEventListener(type, soon);
setInterval(soon, most);
document.addEventListener("visibilitychange", () => document.hidden || soon());
