// How a user looks where there is no picture. The server has the same rules,
// in person.go: testdata/people.json holds both to them.

/**
 * The first letters of the first and the last word of a name, or its first
 * character where it has no words.
 */
export function initials(name) {
  const words = name.match(/[\p{L}\p{M}\p{N}]+/gu) ?? [name];
  const ends = words.length > 1 ? [words[0], words.at(-1)] : words;
  return ends.map((word) => [...word][0]).join("");
}

/** One of eight colours, the same wherever a user is shown. */
export function hue(id) {
  let sum = 0;
  for (const c of id) sum = (Math.imul(sum, 31) + c.codePointAt(0)) >>> 0;
  return sum % 8;
}

/** The status to show: one that a newer server has is online. */
export function shown(status) {
  return /^(away|busy)$/.test(status) ? status : "online";
}

/**
 * Returns url if it may stand in a link or a picture: http, https, or relative.
 * @returns {string} empty for any other
 */
export function link(url, base) {
  try {
    return url && /^https?:$/.test(new URL(url, base).protocol) ? url : "";
  } catch {
    return "";
  }
}
