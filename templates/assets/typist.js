// The page's visitor as somebody who types: what the others are told, and when.

const AGAIN = 3000; // ms, at least, between two signals
const REST = 6000; // ms without input until the visitor does not type any more
const FOR = 6; // s that a signal stands

/**
 * @param {(seconds: number) => Promise<{status?: number, wait?: number}>} send tells the others that the visitor
 *   types, or by a negative number that that is over. Its answer has the status, and how many ms to wait.
 * @param {() => boolean} there whether the others see the visitor in the topic: nobody else is heard
 */
export function openTypist(send, there) {
  let sent = -Infinity; // when the last signal was sent
  let input = -Infinity; // when the visitor last typed
  let quiet = -Infinity; // until when the server wants to hear nothing
  let typing = false; // as the others were told
  let refused = false;
  let timer;

  const say = async (seconds) => {
    sent = Date.now();
    typing = seconds > 0;
    const { status, wait } = await send(seconds);
    if (status === 401 || status === 403) refused = true;
    if (status === 429) quiet = Date.now() + Math.max(wait || 0, AGAIN);
  };

  const review = () => {
    clearTimeout(timer);
    const now = Date.now();
    if (refused || now - input >= REST) return end();
    const due = Math.max(sent + AGAIN, quiet);
    if (input > sent && now >= due && there()) say(FOR);
    // Either the visitor goes on, or has come to rest.
    timer = setTimeout(review, Math.max(20, Math.min(input > sent && due > now ? due : Infinity, input + REST) - now));
  };

  const end = () => {
    clearTimeout(timer);
    input = -Infinity;
    if (typing && !refused) say(-1);
    typing = false;
  };

  return {
    /** The visitor has typed. */
    type() {
      input = Date.now();
      review();
    },
    /** The visitor does not type any more. */
    end,
    /** The visitor has come into the topic, or another user's page has begun: what was refused may be granted. */
    again() {
      refused = false;
    },
  };
}
