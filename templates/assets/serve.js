// What the leader does for other tabs. Loaded with the first other tab.

const MAX_TOPICS = 16; // of one connection
const LINGER = 2000; // ms for which the topics of a closed tab stay: the next page often wants the same

/**
 * Follows the topics that another tab wants. If there are too many, it sends the tab to another group.
 * @param {ReturnType<typeof import("./lead.js").openLead>} lead
 * @param {import("./feeds.js").Feeds["tabs"]} tabs
 * @param {import("./feeds.js").Feeds} feeds
 * @param {ReturnType<typeof import("./election.js").openElection>} election
 * @param {() => void} review soon opens a link that fits
 * @param {string} tab
 * @param {[topic: string, limit: number, state: object][]} wants
 * @param {boolean} hidden
 */
export function host(lead, tabs, feeds, { post, hold }, review, tab, wants, hidden) {
  const limits = Object.assign(new Map(wants), { hidden, awaited: true });
  if ([...new Set([...feeds.keys(), ...limits.keys()])].filter((topic) => !topic.includes("\n")).length > MAX_TOPICS) return post("away", tab); // keys of users do not count; the server refuses too many of them
  if (!tabs.get(tab)?.awaited) {
    lead.link.arrived();
    hold(tab, (release) => {
      release(); // it got the lock of the tab, so the tab has gone
      const last = tabs.get(tab) ?? {};
      last.awaited = false;
      setTimeout(() => {
        if (tabs.get(tab) !== last) return; // it is back: a browser freezes tabs, and thaws them
        tabs.delete(tab);
        lead.look();
        review();
      }, LINGER);
    });
  }
  tabs.set(tab, limits);
  lead.look();
  for (const [topic, , state] of wants) {
    const roster = feeds.launch(topic);
    if (!roster.cursor && !roster.watchers.size) roster.apply("state", state);
    else if (roster.cursor !== state.cursor || state.window < roster.window) {
      // For a feed of items this tab has only the cursor, and no items. So the server must send a state, to all tabs.
      if (!/^(inbox|feed:)/.test(topic)) lead.pass("state", roster.state(topic));
      else if (roster.cursor) {
        roster.cursor = "";
        lead.renew();
      }
    }
  }
  post("live", feeds.live, lead.token, feeds.refused);
  review();
}
