package templates

import (
	"bytes"
	"crypto/rand"
	"html/template"
	"strconv"
	"strings"

	"github.com/rollcall-go/rollcall/presence"
)

// markers are placeholders in a page that is rendered into a buffer. They stand for when a user was
// last seen, and for how many users are online in a topic. At the end of the page, the store is
// asked once for all users, and once for all topics.
//
// A marker consists of the page's secret, a number and a letter. No user knows the secret, so no
// user can write a marker. html/template leaves letters and digits unchanged in every context.
type markers struct {
	secret string // empty: the page has no marker
	users  []presence.UserID
	topics []presence.Topic
}

// add returns the markers for a user.
func (m *markers) add(user presence.UserID) sighting {
	mark := m.mark(len(m.users))
	m.users = append(m.users, user)
	return sighting{datetime: mark + "d", title: mark + "t", text: mark + "x"}
}

// addCount returns the markers for the number of users in a topic.
func (m *markers) addCount(topic presence.Topic) counting {
	mark := m.mark(len(m.topics))
	m.topics = append(m.topics, topic)
	return counting{value: mark + "v", text: mark + "n"}
}

// mark returns the common beginning of all markers with one number.
func (m *markers) mark(number int) string {
	if m.secret == "" {
		m.secret = rand.Text()
	}
	return m.secret + strconv.Itoa(number)
}

func (m *markers) reset() {
	clear(m.users)
	clear(m.topics)
	m.secret, m.users, m.topics = "", m.users[:0], m.topics[:0]
}

// markedElements render the elements for which a page in a buffer has markers.
type markedElements struct {
	*visit
	markers *markers // nil: the page is not in a buffer
	counts  map[presence.Topic]Count
}

// fillMarkers asks the store for the values of all markers, and puts them into the page.
func (e *markedElements) fillMarkers(out *bytes.Buffer) {
	m := e.markers
	if m.secret == "" {
		return
	}
	if len(m.topics) > 0 {
		e.loadCounts(m.topics)
	}
	if len(m.users) > 0 {
		e.see(e.site(), m.users...)
	}
	page := e.workshop.buffers.get()
	page.Write(out.Bytes())
	out.Reset()
	m.fill(out, page.Bytes(), e.marked)
	e.workshop.buffers.put(page)
}

// marked returns the value of the marker with a number and a letter. end is the HTML that follows
// the marker in its element. ok is false if the page has no such marker.
func (e *markedElements) marked(number int, letter byte) (text, end string, ok bool) {
	m := e.markers
	if letter == 'v' || letter == 'n' {
		if number >= len(m.topics) {
			return "", "", false
		}
		if n := e.workshop.counting(e.totalOf(m.topics[number])); letter == 'n' {
			return n.text, countEnd, true
		} else {
			return n.value, `"`, true
		}
	}
	if number >= len(m.users) {
		return "", "", false
	}
	switch s := e.workshop.sighting(m.users[number]); letter {
	case 'd':
		return s.datetime, `"`, true
	case 't':
		return s.title, `"`, true
	default:
		return s.text, lastSeenEnd, true
	}
}

// fill writes a page with values in place of its markers. of returns the value of a marker, as marked
// does.
func (m *markers) fill(w *bytes.Buffer, page []byte, of func(number int, letter byte) (text, end string, ok bool)) {
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
		number, err := strconv.Atoi(string(rest[:digits]))
		if err != nil || digits == len(rest) {
			continue // the template has cut the marker off
		}
		text, end, ok := of(number, rest[digits])
		if !ok {
			continue
		}
		page = rest[digits+1:]
		if bytes.HasPrefix(page, []byte(end)) {
			w.WriteString(template.HTMLEscapeString(text))
		} else { // in an attribute, a script or an address
			w.WriteString(escapeAll(text))
		}
	}
}

// escapeAll returns a text as HTML that is safe in any context: it can end no string and no
// attribute, not even an attribute without quotes.
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
