// Sends signals while the page's visitor types.

const AGAIN = 3000; // ms, at least, between two signals
const LONGEST = 60_000; // ms, at most, for which an answer may ask for quiet
const REST = 6000; // ms without input until the visitor does not type any more
const FOR = 6; // s for which a signal holds

/**
 * @param {(seconds: number) => Promise<{status?: number, ours?: boolean, wait?: number}>} send sends a signal: the visitor types for so
 *   many seconds, or no longer types if the number is negative. Its answer has the status, and how many ms to wait.
 * @param {() => boolean} there whether the topic's roster shows the visitor: the server takes no signals from others
 */
export function openTypist(send, there) {
  let sent = -Infinity; // when the last signal was sent
  let input = -Infinity; // when the visitor last typed
  let quiet = -Infinity; // until then, the server wants no signal
  let typing = false; // the last signal said that the visitor types
  let refused = false;
  let timer;

  const say = async (seconds) => {
    sent = Date.now();
    typing = seconds > 0;
    const { status, ours, wait } = await send(seconds);
    if (ours && (status === 401 || status === 403)) refused = true;
    if (status === 429) quiet = Date.now() + Math.min(Math.max(wait || 0, AGAIN), LONGEST);
  };

  const review = () => {
    clearTimeout(timer);
    const now = Date.now();
    if (refused || now - input >= REST) return end();
    const due = Math.max(sent + AGAIN, quiet);
    if (input > sent && now >= due && there()) say(FOR);
    // Looks again when the next signal may be sent, or when the visitor has rested long enough.
    timer = setTimeout(review, Math.max(20, Math.min(input > sent && due > now ? due : Infinity, input + REST) - now));
  };

  const end = () => {
    clearTimeout(timer);
    input = -Infinity;
    if (typing && !refused) say(-1);
    typing = false;
  };

  return {
    /** To call when the visitor has typed. */
    type() {
      input = Date.now();
      review();
    },
    /** To call when the visitor does not type any more. */
    end,
    /** To call when the page's user has come into the topic. The server may then take signals that it refused before. */
    again() {
      refused = false;
    },
  };
}
