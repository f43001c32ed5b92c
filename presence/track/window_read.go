package track

import (
	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
)

// readLocked returns the next event of a reader, nil if there is none, and whether more follow.
func (w *windowSource) readLocked(s *reader, form *Form) (d chunk, more bool) {
	if s.standing {
		if d.single = s.tellStandingLocked(); d.single != nil {
			d.onlySignals = true
			return d, true
		}
	}
	switch {
	case !s.started:
		s.started = true
		d.single = w.beginLocked(s)
		return d, s.standsLocked()
	case s.turn != w.turn:
		if d.single = w.followLocked(s); d.single == nil {
			return w.readLocked(s, form) // nothing in sight has changed
		}
		return d, s.pos != w.out.log.end()
	case !w.out.log.holds(s.pos):
		s.pos = w.out.log.end() // a slow reader misses signals
	case s.pos != w.out.log.end():
		s.takeLocked(w.out, form, &d)
	}
	return d, s.pos != w.out.log.end()
}

// beginLocked returns the first event of a reader: the diff from the reader's cursor to the current stage, nil
// if nothing has changed, or a state of what is published now. So polls are paced like streams.
func (w *windowSource) beginLocked(s *reader) *sharedEvent {
	if w.whole(w.in.of.published().names) || w.pace.due == 0 {
		w.in.unreadLocked(w) // nobody read the window when that was published, or when it was to look
	}
	s.pos, s.turn = w.out.log.end(), w.turn
	from, ok := w.versionOf(s.resume)
	if ok {
		_, words, _ := s.resume.Variant(w.out.topic) // words of a window or a page, and no others: see versionOf
		s.cursor = presence.NewCursor(w.out.topic, from.names).With(words...)
		if e, ok := w.leadLocked(s, from); ok {
			w.pace.begins(e != nil)
			s.told = unknownFigures
			w.out.stats.resumed(true)
			if s.cursor != w.cursor(w.at) { // the figures of the stage may be older than the reader's
				s.told = w.view.Load().figures()
				if e == nil {
					e = w.in.of.published().names.eventAt(presence.EventHeartbeat, s.cursor)
				}
			}
			return e
		}
	}
	if s.resume != "" {
		w.out.stats.resumed(false)
	}
	w.pace.begins(false)
	return w.stateLocked(s)
}

// stateLocked takes a reader to the published roster by a state.
func (w *windowSource) stateLocked(s *reader) *sharedEvent {
	now := w.in.of.published()
	if now.names != w.now.names {
		w.aheadLocked(now.told())
	}
	state := w.stateOf(now.names)
	s.turn, s.cursor = w.turn, state.Cursor
	s.told = w.view.Load().figures() // the state has figures that are no older
	return state
}

// followLocked returns the diff that brings a reader from its stage to the current one.
func (w *windowSource) followLocked(s *reader) *sharedEvent {
	e := w.steps[s.cursor]
	if e != nil {
		s.turn, s.cursor = w.turn, e.Cursor
	} else {
		from, _ := w.versionOf(s.cursor)
		var ok bool
		if e, ok = w.leadLocked(s, from); !ok {
			w.out.stats.resyncs.Add(1)
			return w.stateLocked(s)
		}
	}
	if e != nil && s.told != unknownFigures {
		s.told[2] = w.now.also.Total
	}
	return e
}

// leadLocked takes a reader from a version to the current stage. A reader that came later may be ahead of the
// stage, and stays there. leadLocked returns false if no diff leads on.
func (w *windowSource) leadLocked(s *reader, from windowVersion) (*sharedEvent, bool) {
	namesAt, ok := w.in.of.reachLocked(from.names)
	if !ok {
		return nil, false
	}
	alsoAt, ok := w.in.of.reachLocked(from.also)
	if !ok {
		return nil, false
	}
	now, to, version := w.in.of.published(), w.now, w.at // reachLocked may have published another stage
	if to.history != now.history {
		to, version = &now, w.versionAt(&now)
	}
	was, ok := w.pastLocked(&now, namesAt, alsoAt)
	if !ok {
		return nil, false
	}
	sum := was.names.first(w.Users).sum
	if from.sum != "" && from.sum != sum {
		return nil, false
	}
	target := to.told()
	if namesAt >= to.namesAt { // at the same position the stage may have an older name: what followed that canceled out
		target.names, version.names, version.sum = was.names, from.names, sum
	}
	if alsoAt >= to.alsoAt {
		target.also, version.also = was.also, from.also
	}
	figures := to
	if version != w.at {
		w.aheadLocked(target)
		figures = &now
	}
	prev := s.cursor
	s.turn, s.cursor = w.turn, w.cursor(version)
	if s.cursor == prev {
		return nil, true
	}
	e := w.stepEvent(prev, version, w.diff(was, target), figures, func(id presence.UserID) backend.Departure {
		left, _ := now.history.departure(id, min(namesAt, alsoAt), max(to.namesAt, to.alsoAt))
		return left
	})
	if to == w.now && namesAt <= to.namesAt && alsoAt <= to.alsoAt {
		w.keepStep(prev, e)
	}
	return e, true
}

// pastLocked returns what a reader was told at two positions of the history.
func (w *windowSource) pastLocked(now *stage, namesAt, alsoAt int) (t told, ok bool) {
	if t.names, ok = pastOf(now.names, now.history, namesAt, now.namesAt); !ok {
		return t, false
	}
	if t.also = t.names; alsoAt != namesAt && len(w.Also) > 0 {
		t.also, ok = pastOf(now.names, now.history, alsoAt, now.namesAt)
	}
	return t, ok
}

// maxSteps bounds the events of a stage that are kept: readers may be at many versions.
const maxSteps = 64

func (w *windowSource) keepStep(from presence.Cursor, e *sharedEvent) {
	if w.steps == nil {
		w.steps = make(map[presence.Cursor]*sharedEvent)
	}
	if len(w.steps) < maxSteps {
		w.steps[from] = e
	}
}

// stepEvent returns the event of a diff. The event of a diff without users is a count, since only the total
// changes. The event has the total of now.
func (w *windowSource) stepEvent(from presence.Cursor, to windowVersion, d windowDiff, now *stage, left func(presence.UserID) backend.Departure) *sharedEvent {
	e := presence.Event{Type: presence.EventDiff, Topic: w.out.topic, Cursor: w.cursor(to)}
	if d.empty() && !w.whole(now.names) && w.made(from) {
		return now.also.eventAt(presence.EventCount, e.Cursor)
	}
	e.Data = w.encodeDiff(from, to, d, now.also.Total, left)
	return newSharedEvent(frame{Event: e})
}

// stateOf returns the state of the published View. It is encoded once, and shared.
func (w *windowSource) stateOf(v *View) *sharedEvent {
	if state := w.in.states[w]; state != nil {
		return state
	}
	c := w.cursor(w.versionAt(&stage{names: v, also: v}))
	state := newSharedEvent(frame{Event: presence.Event{Type: presence.EventState, Topic: v.Topic, Cursor: c, Data: w.encodeState(v, c)}})
	if len(w.in.states) < maxSteps {
		w.in.states[w] = state
	}
	return state
}
