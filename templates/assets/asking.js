// Asks the server for JSON. What stands between, such as a router, may answer in its place: then the
// page asks again, later and later, as long as it wants to know.

const LONG = 1950; // bytes of a query: with its path, proxies take it for sure
const MOST = 100; // values in one request
const FIRST_WAIT = 1000; // ms before the second request; each further wait is twice as long
const LONGEST_WAIT = 40_000;
const TIMEOUT = 30_000; // ms

/** Whether an answer is of the server itself. Problem details alone prove nothing: what stands between may send them too. */
export const isOurs = (answer) => !!answer?.headers?.get("Presence-Answer");

/** Returns a signal that ends a request in time; undefined if the browser has none. */
export function deadline() {
  try {
    return AbortSignal.timeout(TIMEOUT);
  } catch {}
}

/** Returns the queries that together name all values, none longer than LONG. @param {Record<string, string>} [rest] what each of them has too */
export function queries(name, values, rest) {
  const all = [];
  let count = MOST;
  for (const value of values) {
    const next = `&${new URLSearchParams({ [name]: value })}`;
    if (count === MOST || all.at(-1).length + next.length > LONG) {
      all.push("" + new URLSearchParams(rest));
      count = 0;
    }
    all[all.length - 1] += next;
    count++;
  }
  return all;
}

/**
 * Returns the JSON at an address, which has a field. Returns "" if the server refuses, or if nobody wants to know any more.
 * @param {typeof import("./link.js").get} get
 * @param {() => boolean} wanted
 */
export async function insist(get, url, field, wanted) {
  for (let wait = FIRST_WAIT; wanted(); wait = Math.min(2 * wait, LONGEST_WAIT)) {
    const late = new Promise((wake) => setTimeout(wake, TIMEOUT));
    const answer = await Promise.race([late, get(url, { signal: deadline() }).then((response) => response.json())]).catch((why) => why);
    if (answer?.[field]) return answer;
    if (isOurs(answer) && !/429|5../.test(answer.status)) break;
    await new Promise((wake) => setTimeout(wake, wait * (0.5 + Math.random())));
  }
  return "";
}
