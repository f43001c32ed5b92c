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
	of      windowed
	like    *outlet // of the topic
	looks   windowLooks
	resting map[*windowSource]bool              // those whose readers have all changes: the next publication is for them
	most    int                                 // the largest Window.Users
	diffs   map[[2]*firstUsers]windowDiff       // to the published roster
	states  map[*windowSource]*sharedEvent      // of it
	cleaned time.Time                           // when dropUnused last looked
	all     map[string]*windowSource            // by Window.name, and marks behind it if several have that name
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

func newWindows(of windowed, like *outlet) *windows {
	return &windows{
		of: of, like: like, looks: windowLooks{began: time.Now(), planned: make(map[int][]*windowSource)},
		all: make(map[string]*windowSource), along: make(map[presence.UserID][]*windowSource), resting: make(map[*windowSource]bool), diffs: make(map[[2]*firstUsers]windowDiff), states: make(map[*windowSource]*sharedEvent),
	}
}

// get returns a window, and makes it if there is none.
func (ws *windows) get(want Window) *windowSource {
	name := want.name()
	key := name
	for ws.all[key] != nil && !slices.Equal(ws.all[key].Also, want.Also) {
		key += "'" // another list with the same hash, which a client may have looked for
	}
	if w := ws.all[key]; w != nil {
		w.out.touch()
		if !w.out.readLocked() { // without readers it got no publications
			ws.unreadLocked(w)
		}
		return w
	}
	ws.dropUnused()
	now := ws.of.published()
	w := &windowSource{Window: want, name: name, in: ws, now: &now, out: newOutlet(ws.like.topic, ws.like.stats, ws.like.mu)}
	w.at = w.versionAt(&now)
	w.showLocked(now.names)
	ws.all[key], ws.resting[w], ws.most = w, true, max(ws.most, w.Users)
	w.out.stats.windows.Add(1)
	for _, id := range want.Also {
		ws.along[id] = append(ws.along[id], w)
	}
	return w
}

const (
	windowIdle = 15 * time.Second // how long a window without readers stays, because a poll may come back to it
	windowDrop = time.Second      // the least time between two looks for such windows
)

// dropUnused removes the windows without readers.
func (ws *windows) dropUnused() {
	now := time.Now()
	if now.Sub(ws.cleaned) < windowDrop {
		return
	}
	ws.cleaned, ws.most = now, 0
	for key, w := range ws.all {
		if !w.out.unusedLocked(windowIdle) {
			ws.most = max(ws.most, w.Users)
			continue
		}
		w.out.stats.windows.Add(-1)
		delete(ws.all, key)
		delete(ws.resting, w)
		w.pace.due = 0
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
	var concerned []*windowSource
	changed := func(id presence.UserID) {
		for _, w := range ws.along[id] {
			w.pace.along = true
			concerned = append(concerned, w)
		}
	}
	if now.names.Names { // in a count-only topic, changes of users are secret
		for _, e := range n.joins {
			changed(e.ID)
		}
		for _, left := range n.leaves {
			changed(left.ID)
		}
	}
	hear := func(w *windowSource) { w.publishedLocked(now, arrived) }
	ws.readyLocked(now.names, hear)
	for _, w := range concerned {
		if w.pace.along && w.out.readLocked() {
			hear(w)
		}
	}
}

// viewed notes that the topic has a new View.
func (ws *windows) viewed() {
	if ws == nil {
		return
	}
	clear(ws.diffs)
	clear(ws.states)
}

// readyLocked calls hear for the windows with readers that do not wait for a look: those whose readers have
// all changes, and in a small topic all windows.
func (ws *windows) readyLocked(view *View, hear func(*windowSource)) {
	if view.Total > ws.most {
		for w := range ws.resting {
			if w.out.readLocked() {
				hear(w)
			}
		}
		return
	}
	for _, w := range ws.all {
		if w.out.readLocked() {
			hear(w)
		}
	}
}

// figures hands new figures to all windows.
func (ws *windows) figures(view *View) {
	if ws != nil {
		ws.readyLocked(view, func(w *windowSource) { w.figuresLocked(view) })
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
		w.behindLocked(time.Time{})
		w.out.log = frameLog{base: w.out.log.end()}
	}
}

func (ws *windows) stop() {
	if ws == nil {
		return
	}
	ws.looks.stop()
	ws.like.stats.windows.Add(int64(-len(ws.all)))
	clear(ws.all)
	clear(ws.resting)
}

// inUse reports whether a window has readers.
func (ws *windows) inUse() bool {
	if ws == nil {
		return false
	}
	ws.dropUnused()
	return len(ws.all) > 0
}

// openWindow returns a window of the topic.
func (r *replica) openWindow(want Window) *windowSource {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.windows == nil {
		r.windows = newWindows(r, r.out)
	}
	return r.windows.get(want)
}
