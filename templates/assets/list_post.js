// Lists of people that are too long for an address. Loaded by pages that have one.

const IN_ADDRESS = 60; // people

/**
 * Returns an address without its people, and their ids.
 * @param {string} address
 * @returns {[string, string[]]}
 */
export function split(address) {
  const people = [];
  const rest = address.replace(/&person=([^&]*)/g, (_, id) => (people.push(decodeURIComponent(id.replaceAll("+", " "))), ""));
  return [rest, people];
}

/** Returns an address with as many people as it can hold. */
export function cut(address) {
  const [rest, people] = split(address);
  if (people.length > IN_ADDRESS) console.warn(`presence: this connection watches ${IN_ADDRESS} of ${people.length} people, because a longer list does not get through.`);
  return rest + people.slice(0, IN_ADDRESS).map((id) => "&person=" + encodeURIComponent(id)).join("");
}

/** Posts the people of an address. A site that refuses the POST, such as by a CSRF check, gets an address that holds fewer. */
export async function postList(url, signal, headers) {
  const [rest, people] = split(url);
  const options = { signal, headers, cache: "no-store", redirect: "manual" };
  let response = await fetch(rest, { ...options, method: "POST", body: new URLSearchParams(people.map((id) => ["person", id])) });
  const ours = response.ok || /problem\+json/.test(response.headers.get("Content-Type"));
  if (!ours && !/429|5../.test(response.status)) response = await fetch(cut(url), options);
  if (!response.ok) throw response;
  return response;
}
