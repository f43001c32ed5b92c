package track

import (
	"slices"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
)

// A windows is the set of a topic's windows that have readers. The outlet's mutex guards it. nil: the topic
// had no window so far.
type windows struct {
	all     map[string]*windowSource            // by Window.name
	along   map[presence.UserID][]*windowSource // by user of Window.Also
	restart historyRestart
}

// A historyRestart is the latest replacement of a topic's history. The new history does not know how users
// left in that replacement.
type historyRestart struct {
	history *history // the new one
	at      int      // the position of the publication that replaced it
	left    map[presence.UserID]backend.Departure
}

// published notes a publication.
func (h *historyRestart) published(now stage, n net) {
	if h.history == now.history {
		return
	}
	h.history, h.at, h.left = now.history, now.namesAt, make(map[presence.UserID]backend.Departure, len(n.leaves))
	for _, left := range n.leaves {
		h.left[left.ID] = left
	}
}

// each returns the windows by name.
func (ws *windows) each() map[string]*windowSource {
	if ws == nil {
		return nil
	}
	return ws.all
}

func newWindows() *windows {
	return &windows{all: make(map[string]*windowSource), along: make(map[presence.UserID][]*windowSource)}
}

// get returns a window, and makes it if there is none.
func (ws *windows) get(want Window, of windowed, like *outlet) *windowSource {
	name := want.name()
	if w := ws.all[name]; w != nil {
		w.out.touch()
		if !w.out.readLocked() { // without readers it got no publications
			w.publishedLocked(of.published(), time.Time{})
		}
		return w
	}
	ws.dropUnused()
	now := of.published()
	w := &windowSource{Window: want, name: name, of: of, restart: &ws.restart, now: &now, out: newOutlet(like.topic, like.stats, like.mu)}
	w.at = w.versionAt(&now)
	w.showLocked(now.names)
	ws.all[name] = w
	w.out.stats.windows.Add(1)
	for _, id := range want.Also {
		ws.along[id] = append(ws.along[id], w)
	}
	return w
}

// windowIdle is how long a window without readers stays, because a poll may come back to it.
const windowIdle = 15 * time.Second

// dropUnused removes the windows without readers.
func (ws *windows) dropUnused() {
	for key, w := range ws.all {
		if !w.out.unusedLocked(windowIdle) {
			continue
		}
		w.forgotten()
		delete(ws.all, key)
		for _, id := range w.Also {
			ws.along[id] = slices.DeleteFunc(ws.along[id], func(other *windowSource) bool { return other == w })
			if len(ws.along[id]) == 0 {
				delete(ws.along, id)
			}
		}
	}
}

// published hands all windows a new publication: the stage, the users who changed, and when the oldest change
// arrived.
func (ws *windows) published(now stage, n net, arrived time.Time) {
	if ws == nil {
		return
	}
	ws.dropUnused()
	ws.restart.published(now, n)
	changed := func(id presence.UserID) {
		for _, w := range ws.along[id] {
			w.pace.along = now.names.Names // in a count-only topic, changes of users are secret
		}
	}
	for _, e := range n.joins {
		changed(e.ID)
	}
	for _, left := range n.leaves {
		changed(left.ID)
	}
	for _, w := range ws.all {
		if w.out.readLocked() {
			w.publishedLocked(now, arrived)
		}
	}
}

// figures hands new figures to all windows.
func (ws *windows) figures(view *View) {
	for _, w := range ws.each() {
		if w.out.readLocked() {
			w.figuresLocked(view)
		}
	}
}

// signal gives an event to the readers of all windows.
func (ws *windows) signal(f frame) {
	for _, w := range ws.each() {
		w.out.publishLocked(f)
	}
}

// forget makes each reader get a state next, so that nothing is kept of what they had.
func (ws *windows) forget(now stage) {
	for _, w := range ws.each() {
		w.now, w.at, w.steps = &now, w.versionAt(&now), nil
		w.turn++
		w.showLocked(now.names)
		w.out.log = frameLog{base: w.out.log.end()}
	}
}

func (ws *windows) stop() {
	for name, w := range ws.each() {
		w.forgotten()
		delete(ws.all, name)
	}
}

// forgotten is called when the set drops the window.
func (w *windowSource) forgotten() {
	w.pace.stop()
	w.out.stats.windows.Add(-1)
}

// inUse reports whether a window has readers.
func (ws *windows) inUse() bool {
	if ws == nil {
		return false
	}
	ws.dropUnused()
	return len(ws.all) > 0
}
