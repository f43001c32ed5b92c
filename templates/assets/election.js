// The tabs of a browser elect a leader, which connects to the server for all of them.
//
// Each tab holds a lock as long as it takes part, so a tab that is closed or crashes
// needs no goodbye: its lock becomes free. The leader holds one more lock, and the next
// tab in the queue gets it after the leader. Messages go over a channel.

/**
 * Takes part in an election until end is called.
 * @param {string} name of the channel and of the leader's lock; tabs with the same name share a leader
 * @param {string} tab the id of this tab
 * @param {Record<string, (...args: any[]) => void>} messages takes the arguments of a message, by its kind
 * @param {() => void} joined is called once the other tabs can be reached
 * @param {(resign: () => void) => void} elected is called when this tab leads
 */
export function openElection(name, tab, messages, joined, elected) {
  const session = new AbortController();
  const { signal } = session;
  let channel;

  /** Waits for a lock, and holds it until it is released or the election ends. */
  const hold = (lock, got) => {
    const held = (release) => {
      signal.addEventListener("abort", release);
      got(release);
    };
    navigator.locks.request(lock, { signal }, () => signal.aborted || new Promise(held)).catch(() => {}); // it ended before
  };

  const join = () => {
    channel = new BroadcastChannel(name);
    channel.onmessage = ({ data: [kind, ...args] }) => messages[kind]?.(...args);
    joined();
    hold(name, elected);
  };

  // The tab's own lock comes first: a leader that could get it would take the tab for gone.
  if (navigator.locks) hold(name + tab, join);
  else queueMicrotask(() => signal.aborted || elected(() => {})); // each tab leads itself

  return {
    /** Sends a message to all other tabs. */
    post: (...message) => channel?.postMessage(message),
    /** Waits for the lock of another tab: until that has ended. */
    hold: (other, got) => hold(name + other, got),
    end() {
      session.abort();
      channel?.close();
    },
  };
}
