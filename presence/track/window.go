package track

import (
	"hash/fnv"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/rollcall-go/rollcall/presence"
)

// A Window is the part of each roster that a connection reads.
type Window struct {
	// Users is how many: the first of the roster, the newest first. 0: the connection reads the
	// whole roster.
	Users int
	// Also are users who have a dot on the page. The connection reads them too, wherever they are in the
	// roster, and is told of them at once.
	Also []presence.UserID
}

// MaxWindow is the largest Window.Users, and MaxAlso the most users in Window.Also.
const (
	MaxWindow = 1_000
	MaxAlso   = 500
)

// name returns the word of the window in its readers' cursors. A reader goes on where it was in the
// same window alone.
func (w Window) name() string {
	name := "w" + strconv.Itoa(w.Users)
	if len(w.Also) == 0 {
		return name
	}
	h := fnv.New64a()
	for _, id := range w.Also {
		h.Write([]byte(id))
		h.Write([]byte{0})
	}
	return name + "-" + strconv.FormatUint(h.Sum64(), 36)
}

// sorted returns the window with Also in order, each user once.
func (w Window) sorted() Window {
	w.Also = slices.Compact(slices.Sorted(slices.Values(w.Also)))
	return w
}

// A windowSource is the source of the readers of a topic who have one Window. They get the differences of
// what they see, and share them as readers of the whole roster share its diffs: see
// window_diff.go. While the whole roster is in the window, that is at the same moment and in the
// same words. Of a larger topic they get an event as often as its bytes allow: see
// window_pace.go.
//
// A window keeps no log of diffs. Whatever version a reader has, the topic's history tells what the
// reader saw then (see past). So who comes back, was slow or could not be seen gets one diff.
//
// Example, in a window of two: Carol and Bob are in it, and Alice behind them. Dave comes. The diff
// is {"joins":{"dave":…},"out":["bob"]}.
type windowSource struct {
	Window
	name string
	of   windowed
	out  *outlet // its log has signals alone
	view atomic.Pointer[windowView]

	// The outlet's mutex guards these.
	restart *historyRestart
	now     *stage                           // what the readers who follow have, or read next
	at      windowVersion                    // of now
	turn    uint64                           // the number of stages so far
	steps   map[presence.Cursor]*sharedEvent // those that lead there, by where from
	pace    windowPace
}

// windowed is the topic of a window. Its methods are called with the outlet's mutex held.
type windowed interface {
	stander

	// published is what readers of the whole roster have now.
	published() stage

	// reachLocked returns the position of a version in the history, after it has published what leads
	// there. It returns false if nothing leads from the version to what is published now.
	reachLocked(id presence.DiffID) (pos int, ok bool)
}

// A windowVersion is what a reader has: the first users as they were at one version, and those of
// Window.Also as they were at another, which may be later. The sum is of who the first users were. Nodes that
// restored a lost roster, each by itself, may have it in different orders: then nothing leads from one to the
// other but a state.
type windowVersion struct {
	names, also presence.DiffID
	sum         string // empty: of a page that lists nobody
}

// cursor returns the cursor of a version.
func (w *windowSource) cursor(v windowVersion) presence.Cursor {
	c := presence.NewCursor(w.out.topic, v.names).With(w.name, v.sum)
	if v.also != v.names {
		c = c.With(string(v.also))
	}
	return c
}

// made reports whether a cursor is the window's own, and not of a page.
func (w *windowSource) made(c presence.Cursor) bool {
	_, words, ok := c.Variant(w.out.topic)
	return ok && words[0] == w.name
}

// versionAt returns the version of a stage.
func (w *windowSource) versionAt(s *stage) windowVersion {
	return windowVersion{versionOf(s.names), versionOf(s.also), sumOf(s.names.newest(w.Users))}
}

// sumOf is short for who the users are, and in which order.
func sumOf(users []*entry) string {
	h := fnv.New32a()
	for _, e := range users {
		h.Write([]byte(e.ID))
		h.Write([]byte{0})
	}
	return strconv.FormatUint(uint64(h.Sum32()), 36)
}

// PageCursor returns the cursor for a page that lists the first users of the View, so many at most. A stream of
// the whole roster goes on from it. So does one of a window if the page lists who is in it: of as many users, or
// where all are listed. A page that lists nobody fits any window.
func (v *View) PageCursor(users int) presence.Cursor {
	if users <= 0 {
		return v.Cursor.With("p0")
	}
	return v.Cursor.With("p"+strconv.Itoa(users), sumOf(v.newest(users)))
}

// versionOf reads a cursor, also one that a page was rendered with. It returns false for one of another
// window.
func (w *windowSource) versionOf(c presence.Cursor) (v windowVersion, ok bool) {
	id, words, ok := c.Variant(w.out.topic)
	v = windowVersion{names: id, also: id}
	switch {
	case !ok:
		return v, false
	case len(words) == 1:
		return v, words[0] == "p0"
	case len(words) == 3 && len(w.Also) > 0:
		v.also = presence.DiffID(words[2])
	case len(words) > 2:
		return v, false
	}
	v.sum = words[1]
	return v, v.also.Valid() && (words[0] == w.name || len(words) == 2 && strings.HasPrefix(words[0], "p")) // the sum tells whether the page has the window
}

func (w *windowSource) outlet() *outlet { return w.out }

func (w *windowSource) latest() sourceView { return w.view.Load() }

func (w *windowSource) standingLocked() *sharedEvent { return w.of.standingLocked() }

// A windowView is what the readers of a window are told of the topic's figures.
type windowView struct {
	*View
	turn uint64 // of the latest stage

	mu         viewMutex
	heartbeats map[presence.Cursor]*sharedEvent
}

// showLocked has readers told the figures of a View.
func (w *windowSource) showLocked(view *View) {
	w.pace.shown = time.Now()
	w.view.Store(&windowView{View: view, turn: w.turn})
}

// figures also hold the total, which the diffs of a large topic lack for a while.
func (v *windowView) figures() figures {
	f := v.View.figures()
	return figures{f[0], f[1], f[3]<<1 | f[2], v.Total}
}

// maxHeartbeats bounds how many cursors a windowView keeps heartbeats for: they come from readers
// who are not all at one version.
const maxHeartbeats = 64

// heartbeatAt returns a heartbeat for readers at a cursor.
func (v *windowView) heartbeatAt(c presence.Cursor) *sharedEvent {
	v.mu.Lock()
	defer v.mu.Unlock()
	if e := v.heartbeats[c]; e != nil {
		return e
	}
	e := v.View.eventAt(presence.EventHeartbeat, c)
	if v.heartbeats == nil {
		v.heartbeats = make(map[presence.Cursor]*sharedEvent)
	}
	if len(v.heartbeats) < maxHeartbeats {
		v.heartbeats[c] = e
	}
	return e
}

// A stage is what the readers of a window have at one time: the first users, and those of Window.Also,
// each as published then.
type stage struct {
	names, also *View
	history     *history // of which these are positions
	namesAt     int
	alsoAt      int
}

// versionOf returns the version of a View.
func versionOf(v *View) presence.DiffID {
	id, _ := v.Cursor.Version(v.Topic)
	return id
}

// told returns who was seen at a stage.
func (s *stage) told() told { return told{past{view: s.names}, past{view: s.also}} }
