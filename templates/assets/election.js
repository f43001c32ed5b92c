// The tabs of a browser elect a leader, which connects to the server for all of them.
//
// Each tab holds a lock as long as it takes part. When a tab is closed or crashes, its lock
// becomes free, so it need not say goodbye. The leader holds one more lock. After the leader,
// the next tab in the queue gets that lock. Messages go over a channel.

import { openTurn } from "./link.js";

const PATIENCE = 2000; // ms to wait for the browser and for a leader

/**
 * Takes part in an election until end is called.
 * @param {string} name of the channel and of the leader's lock; tabs with the same name share a leader
 * @param {string} tab the id of this tab
 * @param {Record<string, (...args: any[]) => void>} messages a function for each kind of message, which is called with its arguments
 * @param {() => void} joined is called once the other tabs can be reached
 * @param {(resign: () => void) => void} elected is called when this tab leads
 */
export function openElection(name, tab, messages, joined, elected) {
  const turn = openTurn();
  let channel;

  /** Waits for a lock, and holds it until it is released or the election ends. */
  const hold = async (lock, got) =>
    navigator.locks.request(lock, turn, () => turn.aborted || new Promise((release) => {
      turn.over.then(release);
      got(release);
    }));

  const lead = (resign) => {
    clearTimeout(timer);
    elected(resign);
  };

  const end = () => {
    turn.abort();
    channel?.close();
    channel = undefined;
  };

  /** Leads without others. The browser has no locks or no channel, refuses them or never answers, or no leader does. */
  const alone = () => {
    if (turn.aborted) return;
    end();
    lead(() => {});
  };

  const timer = setTimeout(alone, PATIENCE);

  const join = () => {
    channel = new BroadcastChannel(name);
    channel.onmessage = ({ data: [kind, ...args] }) => {
      if (kind === "live") clearTimeout(timer);
      messages[kind]?.(...args);
    };
    joined();
    hold(name, lead).catch(alone);
  };

  // The tab gets its own lock before it joins. A leader that got this lock would believe that the tab is gone.
  hold(name + tab, join).catch(alone);

  return {
    /** Sends a message to all other tabs. */
    post(...message) {
      try {
        channel?.postMessage(message);
      } catch {} // no other tab hears of this one
    },
    /** Waits for the lock of another tab, which it gets once that tab has gone. */
    hold: (other, got) => hold(name + other, got).catch(() => {}),
    end,
  };
}
