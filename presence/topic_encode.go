package presence

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"sync/atomic"
	"time"
)

// The JSON of events is encoded once and shared by every reader. It is built by hand
// from members that keep their JSON, so a state of a hundred users is mostly copying.

// timeLayout is RFC 3339 with milliseconds, in UTC.
const timeLayout = "2006-01-02T15:04:05.000Z07:00"

// An entry is a member of a roster, with its JSON once an event needed it. Of a million
// users online few ever need it. An entry never changes.
type entry struct {
	Member
	encoded atomic.Pointer[[]byte]
}

func newEntry(m Member) *entry { return &entry{Member: m} }

// json returns "alice":{…}, which is made once.
func (e *entry) json() []byte {
	if b := e.encoded.Load(); b != nil {
		return *b
	}
	b := appendMember(nil, e.Member)
	e.encoded.Store(&b)
	return b
}

// appendMember appends m as a member of a JSON object of users.
func appendMember(b []byte, m Member) []byte {
	b = appendString(b, string(m.ID.Local()))
	return appendProfile(append(b, ':'), m)
}

// MarshalJSON returns the member as events have it:
// {"name":…,"status":…,"since":…}, then avatar, url and data unless they are empty.
func (m Member) MarshalJSON() ([]byte, error) { return appendProfile(nil, m), nil }

func appendProfile(b []byte, m Member) []byte {
	b = append(b, `{"name":`...)
	b = appendString(b, m.DisplayName())
	b = append(b, `,"status":`...)
	b = appendString(b, string(m.Status.Shown()))
	b = append(b, `,"since":`...)
	b = appendTime(b, m.Since)
	if m.Group != "" {
		b = append(b, `,"group":"`...) // a group needs no escaping
		b = append(append(b, m.Group...), '"')
	}
	if !m.Active.IsZero() {
		b = append(b, `,"active":`...)
		b = appendTime(b, m.Active)
	}
	if m.Avatar != "" {
		b = append(b, `,"avatar":`...)
		b = appendString(b, m.Avatar)
	}
	if m.URL != "" {
		b = append(b, `,"url":`...)
		b = appendString(b, m.URL)
	}
	if len(m.Data) > 0 {
		b = append(b, `,"data":`...)
		b = appendRaw(b, m.Data)
	}
	return append(b, '}')
}

// appendString appends s as a JSON string that is also safe inside HTML.
func appendString(b []byte, s string) []byte {
	if plain(s) {
		return append(append(append(b, '"'), s...), '"')
	}
	quoted, _ := json.Marshal(s) // cannot fail for a string
	return append(b, quoted...)
}

// plain reports whether a string needs no escaping, as most do.
func plain(s string) bool {
	for i := range len(s) {
		switch c := s[i]; {
		case c < ' ', c > '~', c == '"', c == '\\', c == '<', c == '>', c == '&':
			return false
		}
	}
	return true
}

// appendRaw appends the site's own JSON, on one line: a line break would end an
// SSE field.
func appendRaw(b []byte, raw json.RawMessage) []byte {
	compact, err := json.Marshal(raw)
	if err != nil {
		return append(b, "null"...) // validated before; a store may still have lost bytes
	}
	return append(b, compact...)
}

func appendTime(b []byte, t time.Time) []byte {
	b = append(b, '"')
	b = t.UTC().AppendFormat(b, timeLayout)
	return append(b, '"')
}

// appendHead begins an event's object with the fields that all events have.
func appendHead(b []byte, topic Topic, cursor Cursor) []byte {
	b = append(b, `{"topic":"`...) // topics and cursors need no escaping
	b = append(b, topic.Local()...)
	b = append(b, `","cursor":"`...)
	b = append(b, cursor...)
	return append(b, '"')
}

func appendInt(b []byte, key string, n int) []byte {
	b = append(b, `,"`...)
	b = append(b, key...)
	b = append(b, `":`...)
	return strconv.AppendInt(b, int64(n), 10)
}

// appendUsers appends entries as the object of users under key.
func appendUsers(b []byte, key string, entries []*entry) []byte {
	b = append(b, `,"`...)
	b = append(b, key...)
	b = append(b, `":{`...)
	for i, e := range entries {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, e.json()...)
	}
	return append(b, '}')
}

// encodeDiff returns the data of a diff event.
func encodeDiff(topic Topic, cursor, prev Cursor, n net) []byte {
	b := appendHead(make([]byte, 0, 256), topic, cursor)
	b = append(b, `,"prev":"`...)
	b = append(b, prev...)
	b = append(b, '"')
	b = appendInt(b, "total", n.total)
	b = appendUsers(b, "joins", n.joins)
	b = append(b, `,"leaves":{`...)
	for i, d := range n.leaves {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(appendString(b, string(d.ID.Local())), ":{"...)
		if !d.LastSeen.IsZero() {
			b = appendTime(append(b, `"last_seen":`...), d.LastSeen)
		}
		b = append(b, '}')
	}
	return append(b, "}}"...)
}

// encodeState returns the data of a state event with up to limit users.
func encodeState(v *View, limit int) []byte {
	entries := v.newest(limit)
	b := appendHead(make([]byte, 0, 256+160*len(entries)), v.Topic, v.Cursor)
	b = appendCounts(b, v)
	b = appendUsers(b, "users", entries)
	if !v.Names {
		b = append(b, `,"names":false`...)
	}
	b = append(b, `,"truncated":`...)
	b = strconv.AppendBool(b, len(entries) < v.Total)
	return append(b, '}')
}

// encodeHeartbeat returns the data of a heartbeat event.
func encodeHeartbeat(v *View) []byte {
	return append(appendCounts(appendHead(nil, v.Topic, v.Cursor), v), '}')
}

func appendCounts(b []byte, v *View) []byte {
	b = appendInt(b, "total", v.Total)
	b = appendInt(b, "guests", v.Guests)
	b = appendInt(b, "recent", v.Recent)
	if v.Stale {
		b = append(b, `,"stale":true`...)
	}
	if !v.Peak.At.IsZero() {
		b = append(b, `,"peak":{"total":`...)
		b = strconv.AppendInt(b, int64(v.Peak.Total), 10)
		b = append(b, `,"at":`...)
		b = append(appendTime(b, v.Peak.At), '}')
	}
	if len(v.Bots) > 0 {
		b = append(appendBots(append(b, `,"bots":`...), v.Bots), '}')
	}
	return b
}

// appendBots appends the bots of a topic, by name.
func appendBots(b []byte, bots map[string]int) []byte {
	for i, name := range slices.Sorted(maps.Keys(bots)) {
		b = append(b, "{,"[min(i, 1)])
		b = appendString(b, name)
		b = append(b, ':')
		b = strconv.AppendInt(b, int64(bots[name]), 10)
	}
	return b
}
