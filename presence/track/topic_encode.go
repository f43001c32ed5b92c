package track

import (
	"maps"
	"slices"
	"strconv"
	"sync/atomic"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/internal/wire"
)

// An entry is a member of a roster. It makes its JSON when an event first needs it, which happens for few of
// a million users online. An entry never changes.
type entry struct {
	presence.Member
	encoded atomic.Pointer[[]byte]
}

func newEntry(m presence.Member) *entry { return &entry{Member: m} }

// visibility returns what a device lets viewers see of its user.
func (e *entry) visibility() presence.Visibility {
	if e.Visibility == nil {
		return presence.HiddenVisibility
	}
	return *e.Visibility
}

// json returns "alice":{…}. It is encoded once.
func (e *entry) json() []byte {
	if b := e.encoded.Load(); b != nil {
		return *b
	}
	b := appendMember(nil, e.Member)
	e.encoded.Store(&b)
	return b
}

// appendMember appends m as a member of a JSON object of users.
func appendMember(b []byte, m presence.Member) []byte {
	b = wire.AppendString(b, string(m.ID.Local()))
	return m.AppendJSON(append(b, ':'))
}

// appendHead begins an event's object with the fields that every event has.
func appendHead(b []byte, topic presence.Topic, cursor presence.Cursor) []byte {
	b = append(b, `{"topic":"`...) // names of topics and cursors need no escaping
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
func encodeDiff(topic presence.Topic, cursor, prev presence.Cursor, n net) []byte {
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
		b = append(wire.AppendString(b, string(d.ID.Local())), ":{"...)
		if !d.LastSeen.IsZero() {
			b = wire.AppendTime(append(b, `"last_seen":`...), d.LastSeen)
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

// eventAt returns an event with the View's figures, for readers at a cursor.
func (v *View) eventAt(kind presence.EventType, c presence.Cursor) *sharedEvent {
	data := append(appendCounts(appendHead(nil, v.Topic, c), v), '}')
	return newSharedEvent(frame{Event: presence.Event{Type: kind, Topic: v.Topic, Cursor: c, Data: data}})
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
		b = append(wire.AppendTime(b, v.Peak.At), '}')
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
		b = wire.AppendString(b, name)
		b = append(b, ':')
		b = strconv.AppendInt(b, int64(bots[name]), 10)
	}
	return b
}
