// Words and numbers in the language of the texts, as presenceHead tells it. The
// server has the same rules, in texts.go: testdata/texts.json holds both to them.

/**
 * @typedef {{zero?: string, one?: string, two?: string, few?: string, many?: string, other: string}} Plural
 *   A text that goes with a number, in the forms that the language tells apart.
 */

export class Locale {
  #number;
  #plural;

  /** @param {string} lang as in the attribute lang */
  constructor(lang) {
    this.#number = new Intl.NumberFormat(lang, { numberingSystem: "latn", useGrouping: "always" });
    this.#plural = new Intl.PluralRules(lang);
  }

  /** n with its digits grouped. */
  number(n) {
    return this.#number.format(n);
  }

  /** The form that goes with n. @param {Plural} forms */
  text(forms, n) {
    return (forms[this.#plural.select(n)] || forms.other).replaceAll("{n}", this.number(n));
  }
}
