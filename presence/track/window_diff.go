package track

import (
	"slices"
	"strconv"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
	"github.com/rollcall-go/rollcall/presence/internal/wire"
)

// told is what a reader of a window was told: the first users as of one version, and those of Window.Also as
// of another, which may be later.
type told struct{ names, also past }

// A windowDiff leads from what a reader was told to the present roster.
type windowDiff struct {
	joins  []*entry // users who came into sight, or look different
	leaves []presence.UserID
	out    []*entry // users who are online, but no longer among the first
}

func (d *windowDiff) empty() bool { return len(d.joins)+len(d.leaves)+len(d.out) == 0 }

// inAlso reports whether a user is in Window.Also.
func (w *windowSource) inAlso(id presence.UserID) bool {
	_, found := slices.BinarySearch(w.Also, id)
	return found
}

// diff returns the windowDiff from one told to another.
func (w *windowSource) diff(from, to told) (d windowDiff) {
	first, before := to.names.newest(w.Users), from.names.newest(w.Users)
	was := make(map[presence.UserID]*entry, len(before))
	for _, e := range before {
		was[e.ID] = e
	}
	is := make(map[presence.UserID]bool, len(first))
	join := func(was, e *entry) {
		if was != e && (was == nil || !was.LooksLike(e.Member) || !was.Since.Equal(e.Since)) {
			d.joins = append(d.joins, e)
		}
	}
	for _, e := range first {
		is[e.ID] = true
		if !w.inAlso(e.ID) {
			join(was[e.ID], e)
		}
	}
	for _, e := range before {
		online := to.names.get(e.ID) != nil
		if w.inAlso(e.ID) {
			online = to.also.get(e.ID) != nil
		}
		switch {
		case online && !is[e.ID]:
			d.out = append(d.out, e)
		case !online && !w.inAlso(e.ID):
			d.leaves = append(d.leaves, e.ID)
		}
	}
	for _, id := range w.Also {
		was, e := from.also.get(id), to.also.get(id)
		switch {
		case e != nil:
			join(was, e)
		case was != nil:
			d.leaves = append(d.leaves, id)
		}
	}
	return d
}

// encodeState returns the data of a state, whose cursor is at.
func (w *windowSource) encodeState(view *View, at presence.Cursor) []byte {
	first := view.newest(w.Users)
	users := slices.Clip(first)
	for _, id := range w.Also {
		if e := view.roster.get(id); e != nil && view.Names && !slices.Contains(first, e) {
			users = append(users, e)
		}
	}
	b := appendHead(make([]byte, 0, 256+160*len(users)), view.Topic, at)
	b = appendCounts(b, view)
	b = appendInt(b, "window", w.Users)
	b = appendIDs(b, "order", first)
	b = appendUsers(b, "users", users)
	if !view.Names {
		b = append(b, `,"names":false`...)
	}
	b = append(b, `,"truncated":`...)
	b = strconv.AppendBool(b, len(users) < view.Total)
	return append(b, '}')
}

// appendIDs appends the ids of entries as the array under key.
func appendIDs(b []byte, key string, entries []*entry) []byte {
	b = append(b, `,"`...)
	b = append(b, key...)
	b = append(b, `":[`...)
	for i, e := range entries {
		if i > 0 {
			b = append(b, ',')
		}
		b = wire.AppendString(b, string(e.ID.Local()))
	}
	return append(b, ']')
}

// encodeDiff returns the data of a diff that leads from a cursor to a version. left tells how a user left.
func (w *windowSource) encodeDiff(prev presence.Cursor, to windowVersion, d windowDiff, total int, left func(presence.UserID) backend.Departure) []byte {
	n := net{total: total, joins: d.joins}
	for _, id := range d.leaves {
		n.leaves = append(n.leaves, left(id))
	}
	b := encodeDiff(w.out.topic, w.cursor(to), prev, n)
	if len(d.out) > 0 {
		b = append(appendIDs(b[:len(b)-1], "out", d.out), '}')
	}
	return b
}
