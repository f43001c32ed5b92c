package track

import "time"

// windowLooks has the windows of a topic that have planned a look: see windowSource.lookLocked. There is one
// timer for all, and a look costs the others nothing, because a topic may have thousands of windows. Looks
// happen at multiples of windowGrid, so that all readers are written to together.
type windowLooks struct {
	began   time.Time
	planned map[int][]*windowSource // by when they look; one that has planned an earlier look since is still there
	timer   *time.Timer
	due     int // when the timer fires
}

// planLocked plans a window's next look for a moment; zero: none. An earlier look stays planned.
func (ws *windows) planLocked(w *windowSource, at time.Time) {
	if at.IsZero() {
		w.pace.due = 0
		return
	}
	due := max(int(at.Sub(ws.looks.began)/windowGrid)+1, 1)
	if w.pace.due == 0 || due < w.pace.due {
		w.pace.due = due
		ws.looks.planned[due] = append(ws.looks.planned[due], w)
		ws.fireLocked(due)
	}
}

// fireLocked makes the timer fire at a moment, or earlier.
func (ws *windows) fireLocked(due int) {
	l := &ws.looks
	if l.timer != nil && l.due <= due {
		return
	}
	l.stop()
	l.due = due
	l.timer = ws.like.after(time.Until(l.began.Add(time.Duration(due)*windowGrid)), func() {
		if l.timer != nil && l.due == due { // otherwise the timer was stopped too late
			l.timer = nil
			ws.lookLocked()
		}
	})
}

// lookLocked lets the windows look whose time has come.
func (ws *windows) lookLocked() {
	now, at, next := ws.of.published(), int(time.Since(ws.looks.began)/windowGrid), 0
	for due, planned := range ws.looks.planned {
		if due > at {
			if next == 0 || due < next {
				next = due
			}
			continue
		}
		delete(ws.looks.planned, due)
		for _, w := range planned {
			if w.pace.due != due {
				continue
			}
			if w.pace.due = 0; w.out.readLocked() { // without readers it looks when one comes
				w.lookLocked(now)
			}
		}
	}
	if next != 0 {
		ws.fireLocked(next)
	}
}

func (l *windowLooks) stop() {
	if l.timer != nil {
		l.timer.Stop()
		l.timer = nil
	}
}
