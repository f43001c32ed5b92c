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
	// Users is the number of users in the window: the first of the roster, newest first. 0: the connection
	// reads the whole roster.
	Users int
	// Also are users who have a dot on the page. The connection reads them too, wherever they are in the
	// roster, and gets their changes at once.
	Also []presence.UserID
}

// MaxWindow is the largest Window.Users, and MaxAlso the most users in Window.Also.
const (
	MaxWindow = 1_000
	MaxAlso   = 500
)

// name returns the word that names the window in the cursors of its readers. A reader can resume only in the
// same window.
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

// sorted returns the window with Also in order, without duplicates.
func (w Window) sorted() Window {
	w.Also = slices.Compact(slices.Sorted(slices.Values(w.Also)))
	return w
}

// A windowSource is the source of the readers of a topic who have the same Window. They get the differences in
// what they see, and share the encoded events: see window_diff.go. While the window holds the whole roster,
// they get the same events at the same moment as readers of the whole roster. In a larger topic they get an
// event as often as its bytes allow: see window_pace.go.
//
// A window keeps no log of diffs. The topic's history tells what a reader saw at any version (see past). So a
// reader that reconnects, was slow or was on a hidden page gets one diff.
//
// Example, in a window of two: Carol and Bob are in it, and Alice behind them. Dave comes. The diff
// is {"joins":{"dave":…},"out":["bob"]}.
type windowSource struct {
	Window
	name string
	in   *windows
	out  *outlet // its log has only signals
	view atomic.Pointer[windowView]

	// The outlet's mutex guards these.
	now   *stage                           // the stage that following readers have, or read next
	at    windowVersion                    // the version of now
	turn  uint64                           // the number of stages so far
	steps map[presence.Cursor]*sharedEvent // the events that lead to now, by the cursor they start from
	pace  windowPace
}

// windowed is the topic of a window. Its methods are called with the outlet's mutex held.
type windowed interface {
	stander

	// published returns what readers of the whole roster have now.
	published() stage

	// reachLocked returns the position of a version in the history. First it publishes the changes up to that
	// version. It returns false if no diffs lead from the version to the published one.
	reachLocked(id presence.DiffID) (pos int, ok bool)
}

// A windowVersion is what a reader has: the first users as of one version, and those of Window.Also as of
// another, which may be later. The sum identifies the first users and their order. Nodes that restored a lost
// roster, each by itself, may have it in different orders. Then no diff leads from one order to the other, and
// a reader needs a state.
type windowVersion struct {
	names, also presence.DiffID
	sum         string // empty for a page that lists nobody
}

// cursor returns the cursor of a version.
func (w *windowSource) cursor(v windowVersion) presence.Cursor {
	c := presence.NewCursor(w.out.topic, v.names).With(w.name, v.sum)
	if v.also != v.names {
		c = c.With(string(v.also))
	}
	return c
}

// made reports whether the window itself made a cursor, rather than a page.
func (w *windowSource) made(c presence.Cursor) bool {
	_, words, ok := c.Variant(w.out.topic)
	return ok && words[0] == w.name
}

// versionAt returns the version of a stage.
func (w *windowSource) versionAt(s *stage) windowVersion {
	return windowVersion{versionOf(s.names), versionOf(s.also), s.names.first(w.Users).sum}
}

// PageCursor returns the cursor for a page that lists the View's first users, as many as users says. A stream
// of the whole roster can resume from it. So can a stream of a window, if the page lists the users in the
// window: just as many, or the whole roster. The cursor of a page without users fits any window.
func (v *View) PageCursor(users int) presence.Cursor {
	if users <= 0 {
		return v.Cursor.With("p0")
	}
	return v.Cursor.With("p"+strconv.Itoa(users), v.first(users).sum)
}

// versionOf parses a cursor, including one from a page. It returns false for a cursor of another window.
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
	ofPage := len(words) == 2 && isPage(words[0]) // the sum tells whether the page lists the window's users
	return v, v.also.Valid() && presence.DiffID(v.sum).Valid() && (ofPage || words[0] == w.name)
}

// isPage reports whether a word of a cursor is one that PageCursor writes for a page with users.
func isPage(word string) bool {
	digits, ok := strings.CutPrefix(word, "p")
	users, err := strconv.Atoi(digits)
	return ok && err == nil && users > 0 && digits == strconv.Itoa(users)
}

func (w *windowSource) outlet() *outlet { return w.out }

func (w *windowSource) latest() sourceView { return w.view.Load() }

func (w *windowSource) standingLocked() *sharedEvent { return w.in.of.standingLocked() }

// A windowView has the topic's figures for the readers of a window.
type windowView struct {
	*View
	turn uint64 // of the latest stage

	mu         viewMutex
	heartbeats map[presence.Cursor]*sharedEvent
}

// showLocked publishes the figures of a View to the readers.
func (w *windowSource) showLocked(view *View) {
	w.pace.shown = time.Now()
	w.view.Store(&windowView{View: view, turn: w.turn})
}

// figures returns the topic's figures with the total, which the diffs of a large topic lack for a while.
func (v *windowView) figures() figures {
	f := v.View.figures()
	f[2] = v.Total
	return f
}

// maxHeartbeats bounds how many cursors a windowView keeps heartbeats for: its readers may be at many
// versions.
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

// A stage is what the readers of a window have at one time: the first users, and those of Window.Also, each as
// of a published version.
type stage struct {
	names, also *View
	history     *history // the history that these positions belong to
	namesAt     int
	alsoAt      int
}

// versionOf returns the version of a View.
func versionOf(v *View) presence.DiffID {
	id, _ := v.Cursor.Version(v.Topic)
	return id
}

// told returns the users whom readers saw at a stage.
func (s *stage) told() told { return told{past{view: s.names}, past{view: s.also}} }
