// What a page does about a topic that is over the roster limit, of which events tell
// figures only: it asks now and then who is there. Loaded by pages of such a topic.

const AGAIN = 10_000; // ms, at the least, from one sample to the next

/**
 * Takes a sample of a topic, where one is due, the page is looked at and shows users.
 * @param {import("./roster.js").Roster} roster
 * @param {string} topic
 * @param {number} limit how many users are wanted
 * @param {object} to
 * @param {string} to.src where the handlers are mounted
 * @param {typeof import("./link.js").get} to.get
 * @param {(type: string, data: any) => void} to.take is given the sample as a state
 */
export async function sample(roster, topic, limit, { src, get, take }) {
  const now = Date.now();
  const { due } = roster;
  if (document.hidden || limit < 1 || now < due) return;
  roster.due = now + AGAIN * (1 + Math.random() / 2); // not at once with everybody else
  if (!due) return; // it was just now that events told of users
  const query = new URLSearchParams({ topic, limit });
  const data = await get(`${src}/roster?${query}`).then((response) => response.json()).catch(() => "");
  if (data && roster.sampled) take("state", { ...data, cursor: roster.cursor, sampled: true });
}
