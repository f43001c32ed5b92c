// What a page shows, over one connection a browser: the tabs of one visitor elect a
// leader, which connects to the server and tells the others what happens.
//
// Each tab has rosters of its own and finds gaps by itself. So a tab goes on from where
// it is, whichever tab leads.

import { Feeds } from "./feeds.js";
import { say } from "./link.js";
import { openTabs } from "./tabs.js";

const IDLE = 300_000; // ms without input until the visitor is away
const RETRY = 10_000; // ms before a request that failed is sent again

/**
 * Opens the stream of a page.
 * @param {string} src where the handlers are mounted
 * @param {string} [me] the user whose page it is; empty: a guest
 */
export function openStream(src, me = "") {
  const feeds = new Feeds();
  let input = Date.now(); // when the visitor last did something, in any tab
  let joined = !me; // the server knows that a connection shows this page view; that of a guest holds nobody online

  const idle = () => Date.now() - input > IDLE;

  /** The visitor did something, here or in another tab. */
  const attend = (at) => {
    const was = idle();
    input = at;
    if (was) tabs.beat();
  };

  /** Tells the server, once a page view, which connection shows it. A connection of the page's own is later than the view. */
  const join = async (connection, own) => {
    if (joined || !connection) return;
    joined = true;
    if (own) return;
    const { ok } = await say(src + "/beat?joined=1", { connection, joined });
    if (ok) return;
    setTimeout(() => {
      joined = false;
      tabs.review();
    }, RETRY);
  };

  const tabs = openTabs(src, me, feeds, idle, attend, join);

  return {
    get live() {
      return feeds.live;
    },

    /**
     * Keeps a watcher informed of a topic. The watchers of a topic share a roster, which
     * starts from the most that one of them knew.
     * @param {string} topic
     * @param {import("./feeds.js").Watcher} watcher
     * @returns {import("./roster.js").Roster}
     */
    watch(topic, watcher, known = {}) {
      const { roster, watchers } = feeds.open(topic);
      if (!roster.cursor || known.users?.size > roster.users.size) {
        roster.reset(known);
        tabs.renew();
      }
      watchers.add(watcher);
      tabs.review();
      return roster;
    },

    unwatch(topic, watcher) {
      feeds.get(topic)?.watchers.delete(watcher);
      tabs.review();
    },

    /** Ends the connection while the page is hidden; or for good, as the page goes. */
    pause: tabs.pause,

    /** Connects again after pause. */
    resume() {
      input = Date.now();
      tabs.resume();
    },

    /** The visitor did something. The other tabs are told once a minute at most. */
    input() {
      const now = Date.now();
      if (now - input > IDLE / 5) tabs.input(now);
      attend(now);
    },
  };
}
