// Lists of users that are too long for an address. Loaded by pages with such a list.

const IN_ADDRESS = 60; // users

/**
 * Splits an address: returns it without the parameters of some names, and these parameters.
 * @param {string} address
 * @param {string[]} names also: users of whom the page shows a dot; person: people
 * @returns {[string, [name: string, id: string][]]}
 */
export function split(address, names = ["also", "person"]) {
  const [path, query] = address.split("?");
  const all = [...new URLSearchParams(query)];
  const rest = all.filter(([name]) => !names.includes(name));
  return [`${path}?${new URLSearchParams(rest)}`, all.filter(([name]) => names.includes(name))];
}

/**
 * Returns an address with at most IN_ADDRESS users. If there are more, it also returns the ids of users of dots that were left out.
 * @param {string} address
 * @returns {[string, string[] | undefined]}
 */
export function cut(address) {
  const [rest, users] = split(address);
  if (users.length <= IN_ADDRESS) return [address, undefined];
  console.warn(`presence: this connection watches ${IN_ADDRESS} of ${users.length} users, because a longer list does not get through.`);
  return [`${rest}&${new URLSearchParams(users.splice(0, IN_ADDRESS))}`, users.filter(([name]) => name === "also").map(([, id]) => id)];
}

/** Posts the users of an address. If the site refuses the POST, such as by a CSRF check, it gets an address with fewer users. */
export async function postList(url, signal, headers) {
  const [rest, users] = split(url);
  const options = { signal, headers, cache: "no-store", redirect: "manual" };
  let response = await fetch(rest, { ...options, method: "POST", body: new URLSearchParams(users) });
  const ours = response.ok || /problem\+json/.test(response.headers.get("Content-Type"));
  let dropped;
  if (!ours && !/429|5../.test(response.status)) {
    [url, dropped] = cut(url);
    response = await fetch(url, options);
  }
  if (!response.ok) throw response;
  return { body: response.body, cut: dropped };
}
