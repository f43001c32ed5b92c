// What is too long for an address, such as a list of users. Loaded by pages that have it.

import { isOurs } from "./asking.js";

const LONG = 2000; // bytes: proxies take no longer address for sure
const USERS = 60; // the most that the server takes in an address

/**
 * Splits an address: returns it without the parameters of some names, and these parameters.
 * @param {string} address
 * @param {(name: string) => boolean} takes whether a parameter is taken out
 * @returns {[string, [name: string, value: string][]]}
 */
export function split(address, takes) {
  const [path, query] = address.split("?");
  const all = [...new URLSearchParams(query)];
  return [`${path}?${new URLSearchParams(all.filter(([name]) => !takes(name)))}`, all.filter(([name]) => takes(name))];
}

/** Whether a parameter names a user: one of whom the page shows a dot, or a person. */
const isUser = (name) => /^(also|person)$/.test(name);

/**
 * Returns an address of at most LONG bytes and USERS users: first it leaves out users, and then cursors, for which the server sends a state.
 * It also returns the ids of users of dots that were left out; undefined: nobody was.
 * @param {string} address
 * @returns {[string, string[] | undefined]}
 */
export function cut(address) {
  let [rest, users] = split(address, isUser);
  if (address.length <= LONG && users.length <= USERS) return [address, undefined];
  if (rest.length > LONG) [rest] = split(rest, (name) => name === "cursor");
  let kept = 0;
  for (; users[kept] && kept < USERS; kept++) {
    const longer = `${rest}&${new URLSearchParams([users[kept]])}`;
    if (longer.length > LONG) break;
    rest = longer;
  }
  if (users[kept]) console.warn(`presence: this connection watches ${kept} of ${users.length} users, because a longer list does not get through.`);
  return [rest, users.slice(kept).filter(([name]) => name === "also").map(([, id]) => id)];
}

/** Returns the data of an event, with the users who were left out of the address: see cut. */
export const marked = (data, cut) => (data && cut ? { ...data, cut } : data);

/**
 * Posts what is too long for an address. If something between refuses the POST, such as a CSRF check, the server gets an address with less.
 * @param {typeof import("./link.js").get} get
 */
export async function postList(get, parse, url, turn, type) {
  let [rest, list] = split(url, isUser);
  if (rest.length > LONG) [rest, list] = split(url, (name) => isUser(name) || /^(topic|cursor)$/.test(name));
  try {
    return await get(rest, turn, type, new URLSearchParams(list));
  } catch (why) {
    if (!(why.status < 429) || isOurs(why)) throw why; // an outage
    const [shorter, dropped] = cut(url);
    return Object.assign(await get(shorter, turn, type, null), { cut: dropped, read: (json) => marked(parse(json), dropped) });
  }
}
