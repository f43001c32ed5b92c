// The list of a topic over the roster limit. Its events have counts only, so the page asks
// for a sample of the users now and then. Loaded on demand.

const AGAIN = 10_000; // ms, at least, between two samples

/**
 * Asks for a sample of a topic, if one is due and the page is in view and shows users.
 * @param {import("./feeds.js").Feeds} feeds take the sample as a state
 * @param {string} src where the handlers are mounted
 * @param {typeof import("./link.js").get} get
 * @param {string} topic
 * @param {number} limit how many users are wanted
 */
export async function crowd(feeds, src, get, topic, limit) {
  const now = Date.now();
  const roster = feeds.get(topic);
  const { due } = roster;
  if (document.hidden || limit < 1 || now < due) return;
  roster.due = now + AGAIN * (1 + Math.random() / 2); // not at once with every other browser
  if (!due) return; // the topic went over the limit just now: the list is still right
  const query = new URLSearchParams({ topic, limit });
  const data = await get(`${src}/roster?${query}`).then((response) => response.json()).catch(() => "");
  if (data && roster.sampled) feeds.take(src, "state", { ...data, cursor: roster.cursor, sampled: true });
}
