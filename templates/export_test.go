package templates

// Number and Text are what a page in a language says of n.

func Number(lang string, n int) string { return newLocale(lang).number(n) }

func Text(lang string, p Plural, n int) string { return newLocale(lang).text(p, n) }

// PeopleSource is where people come from.
type PeopleSource = peopleSource

// PeopleFrom has people come from another source than the tracker.
func (ws *Widgets) PeopleFrom(s PeopleSource) { ws.source = s }
