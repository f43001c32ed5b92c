// The list of a topic over the roster limit. Its events have counts only, so the page asks
// for a sample of the users now and then. Loaded on demand.

const AGAIN = 10_000; // ms, at least, between two samples

/** Is sample for a topic of a page's feeds. The script of the version before has its rosters in objects. */
export function crowd(feeds, src, get, topic, limit) {
  const known = feeds.get(topic);
  return sample(known.roster ?? known, topic, limit, { src, get, take: (type, data) => feeds.take(src, type, data) });
}

/**
 * Asks for a sample of a topic, if one is due and the page is in view and shows users.
 * @param {import("./roster.js").Roster} roster
 * @param {string} topic
 * @param {number} limit how many users are wanted
 * @param {object} to
 * @param {string} to.src where the handlers are mounted
 * @param {typeof import("./link.js").get} to.get
 * @param {(type: string, data: any) => void} to.take takes the sample as a state
 */
export async function sample(roster, topic, limit, { src, get, take }) {
  const now = Date.now();
  const { due } = roster;
  if (document.hidden || limit < 1 || now < due) return;
  roster.due = now + AGAIN * (1 + Math.random() / 2); // not at once with every other browser
  if (!due) return; // the topic went over the limit just now: the list is still right
  const query = new URLSearchParams({ topic, limit });
  const data = await get(`${src}/roster?${query}`).then((response) => response.json()).catch(() => "");
  if (data && roster.sampled) take("state", { ...data, cursor: roster.cursor, sampled: true });
}
