package track

import (
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
)

// How often the readers of a window in a larger topic get an event. The contract says 0.6 KB a
// second, with heartbeats. The frames of the transport take the rest.
const (
	windowRate  = 540                    // bytes a second
	windowLate  = 10 * time.Second       // readers are never further behind, whatever it costs
	windowTell  = time.Second            // the least time between two events with new figures
	windowAlong = 300 * time.Millisecond // the least time between two diffs of users of Window.Also
	windowGrid  = 100 * time.Millisecond // looks happen at multiples of this
	windowLook  = 500 * time.Millisecond // the least time between two looks that find no change
	windowFrame = 120                    // about what a transport adds to an event, in bytes
)

// A windowPace decides when a window's readers get the next event. The outlet's mutex guards it.
type windowPace struct {
	paid   time.Time // the sent bytes are paid for up to this time
	unread time.Time // or up to this time, if the next reader gets what came while nobody read: see unreadLocked
	behind time.Time // when the first change came that readers do not have; zero: they have all
	shown  time.Time // when readers last got the figures
	along  bool      // a user of Window.Also has changed since told
	told   time.Time // when readers last got such a change
	again  time.Time // when to look again, after a look that found no change
	ahead  bool      // a reader is ahead of the stage, and sees other users: see aheadLocked
	due    int       // when the window looks next: see windowLooks; 0: it waits for the next publication
}

// spend notes bytes that each reader gets.
func (p *windowPace) spend(bytes int, now time.Time) {
	if p.paid.Before(now) {
		p.paid = now
	}
	p.paid = p.paid.Add(time.Duration(bytes+windowFrame) * time.Second / windowRate)
	if latest := now.Add(windowLate); p.paid.After(latest) {
		p.paid = latest
	}
}

// next returns when the readers may be told of a change.
func (p *windowPace) next() time.Time {
	next := p.paid
	if p.again.After(next) {
		next = p.again
	}
	if late := p.behind.Add(windowLate); late.Before(next) {
		return late
	}
	return next
}

// publishedLocked handles a new publication.
func (w *windowSource) publishedLocked(now stage, arrived time.Time) {
	if now.names == w.now.names && now.also == w.now.also {
		return
	}
	if w.whole(now.names) {
		w.out.arrived = arrived
		w.stepLocked(now, w.changesTo(&now))
		return
	}
	if w.pace.behind.IsZero() {
		w.behindLocked(time.Now())
	}
	w.lookLocked(now)
}

// unreadLocked hands a window what was published while nobody read it. Nobody gets the event of that, and so it
// costs nothing. Only a reader that resumes from before it gets those changes, as a poll does: see begins.
func (ws *windows) unreadLocked(w *windowSource) {
	paid := w.pace.paid
	w.publishedLocked(ws.of.published(), time.Time{})
	if w.pace.paid.After(paid) {
		w.pace.unread, w.pace.paid = w.pace.paid, paid
	}
}

// begins notes that a reader begins. catchesUp says that it gets the changes from its cursor on, and not a state.
func (p *windowPace) begins(catchesUp bool) {
	if catchesUp && p.unread.After(p.paid) {
		p.paid = p.unread
	}
	p.unread = time.Time{}
}

// tellsLocked reports whether a View has figures that readers do not have.
func (w *windowSource) tellsLocked(view *View) bool {
	return w.view.Load().figures() != (&windowView{View: view}).figures()
}

// whole reports whether the window has all users of a View.
func (w *windowSource) whole(v *View) bool { return v.Total <= w.Users && v.Names }

// figuresLocked handles a View with new figures.
func (w *windowSource) figuresLocked(view *View) {
	if w.whole(view) {
		w.showLocked(view)
		w.out.wakeLocked()
		return
	}
	w.lookLocked(w.in.of.published())
}

// lookLocked sends readers what they may get by now, and plans the next look for the rest.
func (w *windowSource) lookLocked(now stage) {
	at := time.Now()
	if w.pace.along && !w.pace.told.Add(windowAlong).After(at) {
		w.pace.told = at
		w.stepAlongLocked(now)
	}
	if !w.pace.behind.IsZero() && !w.pace.next().After(at) {
		w.catchUpLocked(now, at)
	}
	var next time.Time // zero: never
	plan := func(t time.Time) {
		if next.IsZero() || t.Before(next) {
			next = t
		}
	}
	if w.tellsLocked(now.names) {
		if next := w.pace.shown.Add(windowTell); next.After(at) {
			plan(next)
		} else {
			w.showLocked(now.names)
			w.pace.spend(len(w.view.Load().heartbeatAt(w.cursor(w.at)).Data), at)
			w.out.wakeLocked()
		}
	}
	if !w.pace.behind.IsZero() {
		plan(w.pace.next())
		plan(at.Add(windowTell)) // by then there may be new figures
	}
	if w.pace.along {
		plan(w.pace.told.Add(windowAlong))
	}
	w.in.planLocked(w, next)
}

// behindLocked notes when the first change came that readers do not have; zero: they have all.
func (w *windowSource) behindLocked(at time.Time) {
	if w.pace.behind = at; at.IsZero() {
		w.in.resting[w], w.pace.ahead = true, false
	} else {
		delete(w.in.resting, w)
	}
}

// aheadLocked notes what a reader has that is ahead of the stage. If that differs from the stage, the window moves
// on also if the published stage looks like its own.
//
// Example: Bob comes while the window waits for its turn, and a page opens that gets a state with Bob. Then Bob
// leaves. For the readers at the stage nothing has changed, and the page must be told.
func (w *windowSource) aheadLocked(has told) {
	d := w.diff(w.now.told(), has)
	w.pace.ahead = w.pace.ahead || !d.empty()
}

// stepAlongLocked sends readers the changes of users of Window.Also. If one of these users comes into the
// window or was in it, readers go to the published stage. Otherwise the first users wait for their turn.
func (w *windowSource) stepAlongLocked(now stage) {
	step := now
	if w.now.history == now.history && !w.alongTouches(now) {
		step.names, step.namesAt = w.now.names, w.now.namesAt
	}
	w.stepLocked(step, w.changesTo(&step))
	w.pace.along = false
}

// alongTouches reports whether a changed user of Window.Also is or was among the first users.
func (w *windowSource) alongTouches(now stage) bool {
	before, after := w.lastOf(w.now.names), w.lastOf(now.names)
	among := func(last, e *entry) bool { return e != nil && (last == nil || newestFirst(e, last) <= 0) }
	for _, id := range w.Also {
		was, is := w.now.also.roster.get(id), now.also.roster.get(id)
		if was != is && (among(before, was) || among(before, is) || among(after, is)) {
			return true
		}
	}
	return false
}

// lastOf returns the last of the first users; nil: all users are among them.
func (w *windowSource) lastOf(v *View) *entry {
	first := v.first(w.Users).users
	if len(first) < w.Users {
		return nil
	}
	return first[len(first)-1]
}

// catchUpLocked takes readers to the published stage. If nothing that any of them sees has changed, they move on
// only as often as needed to stay within reach of the history.
func (w *windowSource) catchUpLocked(now stage, at time.Time) {
	d := w.changesTo(&now)
	if d.empty() && !w.pace.ahead && at.Sub(w.pace.behind) < windowLate {
		w.pace.again = at.Add(windowLook)
		return
	}
	w.stepLocked(now, d)
}

// stepLocked takes readers to a stage by its windowDiff. Readers at the stage before share the event.
func (w *windowSource) stepLocked(to stage, d windowDiff) {
	was, from, at := w.now, w.cursor(w.at), time.Now()
	w.now, w.at, w.steps = &to, w.versionAt(&to), nil
	w.turn++
	if to.names == to.also {
		w.behindLocked(time.Time{})
		w.pace.along = false
	}
	e := w.stepEvent(from, w.at, d, &to, func(id presence.UserID) backend.Departure {
		return w.departure(id, was, &to)
	})
	w.keepStep(from, e)
	w.pace.spend(len(e.Data), at)
	w.showLocked(to.also)
	w.out.wakeLocked()
}
