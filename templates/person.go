package templates

import (
	"bytes"
	"cmp"
	"encoding/json"
	"html/template"
	"net/url"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/rollcall-go/rollcall/presence"
)

// This file has the rules for how a user is shown. The script has the same rules, in
// assets/person.js. Tests check both against testdata/people.json.

// sinceLayout is the layout of times in the stream's events.
const sinceLayout = "2006-01-02T15:04:05.000Z07:00"

// A person is a member as the widget shows it.
type person struct {
	presence.Profile // URL and Avatar are safe or empty; Name is not empty
	ID               string
	Status           string
	StatusText       string
	Since            string // empty: joined just now
	Data             string // JSON as JSON.stringify writes it; empty: none
	HasAbout         bool   // the item has an element for About, which may be empty
	About            template.HTML
	Initials         string
	Hue              int
}

func newPerson(m presence.Member, texts StatusTexts) person {
	status := shownStatus(m)
	p := person{
		Profile: m.Profile(), ID: string(m.ID.Local()),
		Status: status, StatusText: texts.of(status), Data: compactJSON(m.Data),
		Initials: initials(m.DisplayName()), Hue: hue(string(m.ID.Local())),
	}
	p.Name, p.URL, p.Avatar = m.DisplayName(), link(m.URL), link(m.Avatar)
	if !m.Since.IsZero() {
		p.Since = m.Since.UTC().Format(sinceLayout)
	}
	return p
}

// compactJSON returns JSON without blanks, and with <, > and & unescaped. JSON.stringify writes the
// same, so the script sees no change and leaves the element as the server rendered it.
func compactJSON(data json.RawMessage) string {
	var b bytes.Buffer
	if err := json.Compact(&b, data); err != nil {
		return "" // it was validated before, but a store may have lost bytes
	}
	return b.String()
}

// shownStatus returns the status that others see. A member without a status is Online: the site's
// identify function need not set one.
func shownStatus(m presence.Member) string {
	return string(cmp.Or(m.Status, presence.Online).Shown())
}

// initials returns the first letters of the first and the last word of a name,
// or the first character of a name without words.
func initials(name string) string {
	words := strings.FieldsFunc(name, func(r rune) bool {
		return !unicode.In(r, unicode.L, unicode.M, unicode.N)
	})
	if len(words) == 0 {
		return first(name)
	}
	if len(words) == 1 {
		return first(words[0])
	}
	return first(words[0]) + first(words[len(words)-1])
}

func first(word string) string {
	_, size := utf8.DecodeRuneInString(word)
	return word[:size]
}

// hue returns the number of a user's colour, one of eight. There is a class for each
// colour, since a strict Content-Security-Policy forbids style attributes.
func hue(id string) int {
	var sum uint32
	for _, r := range id {
		sum = sum*31 + uint32(r)
	}
	return int(sum % 8)
}

// link returns s if it is a safe address for a link or a picture: http, https or relative.
// Otherwise it returns "".
func link(s string) string {
	u, err := url.Parse(s)
	if err != nil || !slices.Contains([]string{"", "http", "https"}, u.Scheme) {
		return ""
	}
	return s
}
