// Keeps the page current: it loads itself again when the chosen topic changes, and every
// ten seconds for what no event tells, such as invisible users. It does nothing while the
// page is hidden, and keeps the focus where it was.
const least = 2000; // ms between two loads
const most = 10000;
const main = () => document.querySelector("main");
const live = document.getElementById("live");

// Loads a page. The browser parses the answer, so that no string becomes HTML, which Trusted Types would refuse.
const page = (address) =>
  new Promise((done, failed) => {
    const request = new XMLHttpRequest();
    request.onloadend = () => (request.status === 200 && request.response ? done(request.response) : failed(request.status));
    request.open("GET", address);
    request.setRequestHeader("Accept", "text/html");
    request.responseType = "document";
    request.send();
  });

let last = Date.now(), timer = 0, loading = false;

async function load() {
  timer = 0;
  if (document.hidden || loading) return;
  loading = true;
  try {
    const address = new URL(location.href);
    address.searchParams.delete("done");
    const fresh = (await page(address)).querySelector("main");
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
