package templates

import (
	"bytes"
	"cmp"
	"encoding/json"
	"net/url"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/rollcall-go/rollcall/presence"
)

// How a user looks. The script has the same rules, in assets/person.js:
// testdata/people.json holds both to them.

// sinceLayout is that of the stream's events.
const sinceLayout = "2006-01-02T15:04:05.000Z07:00"

// A person is a member as the widget shows it.
type person struct {
	ID         string
	Name       string
	Status     string
	StatusText string
	Since      string // empty: came this moment
	URL        string // empty: no link
	Avatar     string // empty: none
	Data       string // JSON as a browser writes it; empty: none
	Initials   string
	Hue        int
}

func newPerson(m presence.Member, texts StatusTexts) person {
	status := shownStatus(m)
	p := person{
		ID: string(m.ID), Name: m.DisplayName(),
		Status: status, StatusText: texts.of(status),
		URL: link(m.URL), Avatar: link(m.Avatar), Data: compactJSON(m.Data),
		Initials: initials(m.DisplayName()), Hue: hue(string(m.ID)),
	}
	if !m.Since.IsZero() {
		p.Since = m.Since.UTC().Format(sinceLayout)
	}
	return p
}

// compactJSON returns JSON without blanks, and with <, > and & as they are: so the
// script writes it, too, and finds nothing to change.
func compactJSON(data json.RawMessage) string {
	var b bytes.Buffer
	if err := json.Compact(&b, data); err != nil {
		return "" // validated before; a store may still have lost bytes
	}
	return b.String()
}

// shownStatus returns the status of a member, who may come straight from the
// site's identify function.
func shownStatus(m presence.Member) string {
	return string(cmp.Or(m.Status, presence.Online).Shown())
}

// initials returns the first letters of the first and the last word of a name,
// or its first character where it has no words.
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

// hue returns one of eight colours, the same wherever a user is shown. A class
// and not a style, which a strict Content-Security-Policy would refuse.
func hue(id string) int {
	var sum uint32
	for _, r := range id {
		sum = sum*31 + uint32(r)
	}
	return int(sum % 8)
}

// link returns s if it may stand in a link or a picture: http, https, or
// relative. Otherwise it is empty, and html/template would refuse most of them.
func link(s string) string {
	u, err := url.Parse(s)
	if err != nil || !slices.Contains([]string{"", "http", "https"}, u.Scheme) {
		return ""
	}
	return s
}
