// Words and numbers in the language of the texts, as presenceHead tells it. The
// server has the same rules, in texts.go: testdata/texts.json holds both to them.

/**
 * @typedef {{zero?: string, one?: string, two?: string, few?: string, many?: string, other: string}} Plural
 *   A text that goes with a number, in the forms that the language tells apart.
 */

/**
 * @param {string} lang as in the attribute lang
 * @typedef {ReturnType<typeof openLocale>} Locale
 */
export function openLocale(lang) {
  const digits = new Intl.NumberFormat(lang, { numberingSystem: "latn", useGrouping: "always" });
  const plural = new Intl.PluralRules(lang);

  /** n with its digits grouped. @param {number} n */
  const number = (n) => digits.format(n);

  return {
    number,
    /** The form that goes with n. @param {Plural} forms @param {number} n */
    text: (forms, n) => (forms[plural.select(n)] || forms.other).replaceAll("{n}", number(n)),
  };
}
