// The tabs of a browser elect a leader, which connects to the server for all of them.
//
// Each tab holds a lock as long as it takes part. When a tab is closed or crashes, its lock
// becomes free, so it need not say goodbye. The leader holds one more lock. After the leader,
// the next tab in the queue gets that lock. Messages go over a channel.

/**
 * Takes part in an election until end is called.
 * @param {string} name of the channel and of the leader's lock; tabs with the same name share a leader
 * @param {string} tab the id of this tab
 * @param {Record<string, (...args: any[]) => void>} messages a function for each kind of message, which is called with its arguments
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
    navigator.locks.request(lock, { signal }, () => signal.aborted || new Promise(held)).catch(() => {}); // the election ended before the lock came
  };

  const join = () => {
    channel = new BroadcastChannel(name);
    channel.onmessage = ({ data: [kind, ...args] }) => messages[kind]?.(...args);
    joined();
    hold(name, elected);
  };

  // The tab gets its own lock before it joins. A leader that got this lock would believe that the tab is gone.
  if (navigator.locks) hold(name + tab, join);
  else queueMicrotask(() => signal.aborted || elected(() => {})); // without locks each tab leads itself

  return {
    /** Sends a message to all other tabs. */
    post: (...message) => channel?.postMessage(message),
    /** Waits for the lock of another tab, which it gets once that tab has gone. */
    hold: (other, got) => hold(name + other, got),
    end() {
      session.abort();
      channel?.close();
    },
  };
}
