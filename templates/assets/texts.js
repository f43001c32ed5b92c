// Plurals and digits in the language of the texts. The server has the same rules, in
// texts.go. Tests check both against testdata/texts.json.

/**
 * @typedef {{zero?: string, one?: string, two?: string, few?: string, many?: string, other: string}} Plural
 *   A text that goes with a number, in each form that the language has.
 */

/**
 * @param {string} lang as in the attribute lang
 * @typedef {ReturnType<typeof openLocale>} Locale
 */
export function openLocale(lang) {
  /** Returns n with its digits grouped. @type {(n: number) => string} */
  let number = String;
  let plural;
  try {
    number = new Intl.NumberFormat(lang, { numberingSystem: "latn", useGrouping: "always" }).format;
    plural = new Intl.PluralRules(lang);
  } catch {} // the browser refuses: digits stay as they are, and each number has the general form

  return {
    number,
    /** Returns the form that goes with n. @param {Plural} forms @param {number} n */
    text: (forms, n) => (forms[plural?.select(n)] || forms.other).replaceAll("{n}", number(n)),
  };
}
