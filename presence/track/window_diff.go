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

// changesTo returns the windowDiff from what readers have to a stage.
func (w *windowSource) changesTo(to *stage) windowDiff {
	was, now := w.now.told(), to.told()
	if !w.pace.along && w.now.history == to.history { // nobody in Window.Also has changed
		was.also = now.also
	}
	return w.diff(was, now)
}

// diff returns the windowDiff from one told to another.
func (w *windowSource) diff(from, to told) (d windowDiff) {
	shared := w.in.diff(w.Users, from.names, to.names)
	if len(w.Also) == 0 {
		return shared
	}
	for _, e := range shared.joins {
		if !w.inAlso(e.ID) {
			d.joins = append(d.joins, e)
		}
	}
	for _, id := range shared.leaves {
		if !w.inAlso(id) {
			d.leaves = append(d.leaves, id)
		} else if e := to.also.get(id); e != nil {
			d.out = append(d.out, e)
		}
	}
	for _, e := range shared.out {
		if !w.inAlso(e.ID) || to.also.get(e.ID) != nil {
			d.out = append(d.out, e)
		}
	}
	if from.also.same(to.also) {
		return d
	}
	for _, id := range w.Also {
		switch was, e := from.also.get(id), to.also.get(id); {
		case e == nil && was != nil:
			d.leaves = append(d.leaves, id)
		case e != nil && changed(was, e):
			d.joins = append(d.joins, e)
		}
	}
	return d
}

// changed reports whether readers are told of a user who was different.
func changed(was, is *entry) bool {
	return was != is && (was == nil || !was.LooksLike(is.Member) || !was.Since.Equal(is.Since))
}

// diff returns the windowDiff for a window without Window.Also. The windows of a size share it.
func (ws *windows) diff(users int, from, to past) (d windowDiff) {
	first, before := to.first(users), from.first(users)
	if d, ok := ws.diffs[[2]*firstUsers{before, first}]; ok {
		return d
	}
	for _, e := range first.users {
		if changed(before.byID[e.ID], e) {
			d.joins = append(d.joins, e)
		}
	}
	for _, e := range before.users {
		switch {
		case first.byID[e.ID] != nil:
		case to.get(e.ID) != nil:
			d.out = append(d.out, e)
		default:
			d.leaves = append(d.leaves, e.ID)
		}
	}
	if len(ws.diffs) < maxSteps {
		ws.diffs[[2]*firstUsers{before, first}] = d
	}
	return d
}

// encodeState returns the data of a state, whose cursor is at.
func (w *windowSource) encodeState(view *View, at presence.Cursor) []byte {
	first := view.first(w.Users).users
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
