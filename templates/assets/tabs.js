// The part that a tab plays among the tabs of a visitor: it leads, or it follows the
// leader.

import { openElection } from "./election.js";
import { openLead } from "./lead.js";

/**
 * The version of the messages below. It is part of the name of the channel and of the
 * locks, so tabs of two versions of the script never hear each other: during a deploy a
 * browser has a connection for each version. Raise it with any change of a message.
 */
const PROTOCOL = 3;

const SOON = 20; // ms: elements and tabs come in groups, and cost one connection

/**
 * @param {string} src where the handlers are mounted
 * @param {string} me the user whose page it is; empty: a guest
 * @param {import("./feeds.js").Feeds} feeds
 * @param {() => boolean} idle whether the visitor is away
 * @param {(at: number) => void} attend the visitor did something in another tab
 * @param {(connection?: string, own?: boolean) => void} join a connection shows the page: this tab's own, or another tab's
 */
export function openTabs(src, me, feeds, idle, attend, join) {
  const id = "" + Math.random();
  let election; // from when the page is shown until it is hidden or wants nothing
  let lead; // only in the tab that leads
  let group = 0; // of tabs that share a connection; a tab whose topics do not fit joins the next; -1: signed out
  let paused = false;
  let timer;

  const want = () => election?.post("want", id, [...feeds].map(([topic, { roster }]) => [topic, feeds.limit(topic), roster.state(topic)]));

  /** Soon does what is to be done, once for all that happens until then. */
  const review = () => {
    if (!election && !paused) begin();
    timer ??= setTimeout(() => {
      timer = undefined;
      for (const topic of feeds.keys()) if (feeds.limit(topic) < 0) feeds.delete(topic);
      if (paused || !feeds.size) end();
      else if (lead) lead.open();
      else want();
    }, SOON);
  };

  const begin = () => {
    feeds.tell("connecting");
    const name = ["presence", PROTOCOL, src, me, group, ""].join();
    election = openElection(name, id, messages, want, (resign) => {
      const refused = (status) => {
        feeds.tell("off", status === 401);
        lead = undefined;
        resign();
      };
      lead = openLead(src, me, feeds, election, review, { idle, live, refused });
      election.post("lead");
      lead.open();
    });
  };

  const end = () => {
    election?.end();
    lead?.link.close();
    election = lead = undefined;
    feeds.tabs.clear();
    feeds.tell("off");
  };

  /** Joins another group of tabs. */
  const move = (to) => {
    group = to;
    end();
    review();
  };

  /** The leader's link came or went. */
  const live = (now, user) => {
    // The visitor has signed out. A page that is loaded after the next sign-in must not be led by a guest's stream.
    if (me && user === "" && group >= 0) return move(-1);
    const { token } = lead.link;
    join(token, true);
    election.post("live", now, token);
    feeds.tell(now);
  };

  /** What tabs say to each other. */
  const messages = {
    /** A tab wants topics, and says what it knows of them. */
    want: (tab, wants) => lead?.serve(tab, wants),
    /** The leader has an event. */
    event: (type, data) => feeds.take(src, type, data) === "events" && want(),
    /** The leader's link came or went. */
    live(now, token) {
      join(token);
      feeds.tell(now);
    },
    /** There is no room for a tab in this group. */
    away: (tab) => tab === id && move(group + 1),
    /** There is a new leader. */
    lead: want,
    /** The visitor did something. */
    input: attend,
  };

  return {
    review,
    /** Tells the other tabs that the visitor did something. */
    input: (at) => election?.post("input", at),
    beat: () => lead?.link.beat(),
    renew: () => lead?.renew(),

    /** Ends the connection while the page is hidden; or for good, as the page goes. */
    pause(going) {
      if (going && !feeds.tabs.size) lead?.link.leave();
      paused = true;
      end();
    },

    /** Connects again after pause. */
    resume() {
      paused = false;
      review();
    },
  };
}
