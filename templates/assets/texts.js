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
  const digits = new Intl.NumberFormat(lang, { numberingSystem: "latn", useGrouping: "always" });
  const plural = new Intl.PluralRules(lang);

  /** Returns n with its digits grouped. @param {number} n */
  const number = (n) => digits.format(n);

  return {
    number,
    /** Returns the form that goes with n. @param {Plural} forms @param {number} n */
    text: (forms, n) => (forms[plural.select(n)] || forms.other).replaceAll("{n}", number(n)),
  };
}
