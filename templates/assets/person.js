// The rules for how a user without a picture is shown. The server has the same rules, in
// person.go. Tests check both against testdata/people.json.

/**
 * Returns the first letters of the first and the last word of a name, or the first
 * character of a name without words.
 */
export function initials(name) {
  const words = name.match(/[\p{L}\p{M}\p{N}]+/gu) ?? [name];
  const ends = words.length > 1 ? [words[0], words.at(-1)] : words;
  return ends.map((word) => [...word][0]).join("");
}

/** Returns the number of a user's colour, one of eight. */
export function hue(id) {
  let sum = 0;
  for (const c of id) sum = (Math.imul(sum, 31) + c.codePointAt(0)) >>> 0;
  return sum % 8;
}

/**
 * Returns url if it is a safe address for a link or a picture: http, https or relative.
 * @returns {string} empty for any other address
 */
export function link(url, base) {
  try {
    return url && /^https?:$/.test(new URL(url, base).protocol) ? url : "";
  } catch {
    return "";
  }
}
