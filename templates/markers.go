package templates

import (
	"bytes"
	"crypto/rand"
	"html/template"
	"strconv"
	"strings"

	"github.com/rollcall-go/rollcall/presence"
)

// markers are placeholders for when users were last seen, in a page that is rendered into
// a buffer. When the whole page is rendered, the store is asked once for all of them.
//
// A marker is a secret of the page, a number and a letter. So no text from a user can be
// taken for a marker, and html/template changes a marker in no context.
type markers struct {
	secret string // empty: the page has no marker
	users  []presence.UserID
}

// add returns the markers for a user.
func (m *markers) add(user presence.UserID) sighting {
	if m.secret == "" {
		m.secret = rand.Text()
	}
	mark := m.secret + strconv.Itoa(len(m.users))
	m.users = append(m.users, user)
	return sighting{datetime: mark + "d", title: mark + "t", text: mark + "x"}
}

func (m *markers) reset() {
	clear(m.users)
	m.secret, m.users = "", m.users[:0]
}

// part returns what a marker stands for, by the marker's letter, and what comes after it in
// the element.
func (s sighting) part(letter byte) (text, end string) {
	switch letter {
	case 'd':
		return s.datetime, `"`
	case 't':
		return s.title, `"`
	}
	return s.text, lastSeenEnd
}

// fill writes a page with sightings in place of its markers.
func (m *markers) fill(w *bytes.Buffer, page []byte, of func(presence.UserID) sighting) {
	for {
		before, rest, found := bytes.Cut(page, []byte(m.secret))
		w.Write(before)
		if !found {
			return
		}
		page = rest
		digits := 0
		for digits < len(rest) && '0' <= rest[digits] && rest[digits] <= '9' {
			digits++
		}
		i, err := strconv.Atoi(string(rest[:digits]))
		if err != nil || i >= len(m.users) || digits == len(rest) {
			continue // the template has cut the marker off
		}
		page = rest[digits+1:]
		text, end := of(m.users[i]).part(rest[digits])
		if bytes.HasPrefix(page, []byte(end)) {
			w.WriteString(template.HTMLEscapeString(text))
		} else { // in an attribute, a script or an address
			w.WriteString(escapeAll(text))
		}
	}
}

// escapeAll returns a text as HTML that ends no string and no attribute in any context,
// also no attribute without quotes.
func escapeAll(text string) string {
	var b strings.Builder
	for _, r := range text {
		switch {
		case r >= 0x80, 'a' <= r && r <= 'z', 'A' <= r && r <= 'Z', '0' <= r && r <= '9':
			b.WriteRune(r)
		default:
			b.WriteString("&#" + strconv.Itoa(int(r)) + ";")
		}
	}
	return b.String()
}
