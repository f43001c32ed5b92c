package track

import (
	"slices"
	"sync"

	"github.com/rollcall-go/rollcall/presence"
)

// A reader is the position of its owner, a connection, in one source. Only the goroutine that reads the
// connection may use it, except for the fields that the outlet's mutex guards.
type reader struct {
	owner    subscriber
	from     source
	resume   presence.Cursor // the cursor with which it was opened; empty: start with a state
	started  bool            // the first read is done
	pos      uint64          // its position in the outlet's log
	cursor   presence.Cursor // the cursor of what the connection has read
	told     figures
	enters   bool   // the owner is present in the topic through this reader, and does not only watch it
	waits    bool   // it waits for a state that was not in memory, and has no version yet
	standing bool   // the next read returns the standing signals
	pulls    bool   // the owner reads standing signals by itself: see ConnectOptions.PullStanding
	turn     uint64 // for a window: the stage that it has, or is ahead of

	// The outlet's mutex guards these.
	audience *audience // nil: not attached
	seat     int       // its index among the audience's readers
}

// newReader returns a reader that resumes from a cursor. Until it has read, that cursor is its version of the
// topic.
func newReader(owner subscriber, from source, resume presence.Cursor) *reader {
	s := &reader{owner: owner, from: from, resume: resume}
	if id, ok := resume.Version(s.topic()); ok { // for the cursor of a window see beginLocked
		s.cursor = presence.NewCursor(s.topic(), id)
	}
	return s
}

func (s *reader) topic() presence.Topic { return s.from.outlet().topic }

// rearm makes the next event wake the reader's group again. In a group of its own, each read does this for a
// reader; in a shared group, Group.Woken does.
func (o *outlet) rearm(s *reader) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if s.audience != nil {
		o.armLocked(s.audience)
	}
}

// A chunk is what a reader gets at once: the next events of the log, or one event that is not in it. The zero
// value is empty.
type chunk struct {
	frames []frame // from the log, if there is no Form
	bytes  []byte  // from the log, in a Form
	n      int     // the number of events in bytes
	single *sharedEvent

	onlySignals bool // the chunk has events, and all are signals; false if there is no Form
}

func (d *chunk) empty() bool { return d.single == nil && len(d.frames) == 0 && d.n == 0 }

// all returns the frames of a chunk that has no bytes.
func (d *chunk) all() []frame {
	if d.single != nil {
		return []frame{d.single.frame}
	}
	return d.frames
}

// next returns what the reader gets now, as frames if form is nil, and whether there is more. It waits for
// nothing but the outlet's mutex. The first read returns the event that leads from the reader's cursor to the
// latest version, or a state. Later reads return the events of the log, or a state if the reader fell behind
// it. If there are none and the figures have changed, next returns a heartbeat.
func (s *reader) next(limit int, form *Form) (d chunk, more bool) {
	d, view, more := s.from.outlet().advance(s, limit, form)
	switch now := view.figures(); {
	case s.told == now || s.waits:
	case d.empty():
		d.single, s.told = s.heartbeat(view), now
	case s.told != unknownFigures: // the heartbeat follows these events
		more = true
	}
	return d, more
}

// advance is reader.next without the heartbeat. It also returns the latest version.
func (o *outlet) advance(s *reader, limit int, form *Form) (d chunk, view sourceView, more bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if a := s.audience; a != nil && a.group.solo {
		o.armLocked(a)
		a.takeArrivalLocked()
	}
	if from, ok := s.from.(stager); ok {
		d, more = from.readLocked(s, form)
		return d, s.from.latest(), more
	}
	if p, ok := s.from.(puller); ok && p.overLocked() {
		view = s.from.latest()
		s.told = view.figures()
		return chunk{}, view, false
	}
	if s.standing {
		if d.single = s.tellStandingLocked(); d.single != nil {
			d.onlySignals = true
			return d, s.from.latest(), true
		}
	}
	switch {
	case !s.started:
		d, view, more = s.beginLocked(o, limit)
		return d, view, s.standsLocked() || more
	case s.waits:
		if d, view, more = s.stateLocked(o, limit); s.waits {
			d = chunk{} // the reader has that already
		}
		return d, view, more
	case o.log.holds(s.pos):
		return s.followLocked(o, form)
	default:
		o.stats.resyncs.Add(1)
		d, view, more = s.stateLocked(o, limit)
		return d, view, s.standsLocked() || more
	}
}

// A stander is a source that may have standing signals.
type stander interface {
	// standingLocked returns the event with the standing signals, or nil.
	standingLocked() *sharedEvent
}

// standing returns the event with the standing signals of the outlet's source, or nil.
func (o *outlet) standing(from stander) *sharedEvent {
	o.mu.Lock()
	defer o.mu.Unlock()
	return from.standingLocked()
}

// standsLocked makes the next read return the standing signals. It reports whether there are any.
func (s *reader) standsLocked() bool {
	from, ok := s.from.(stander)
	s.standing = ok && !s.pulls && from.standingLocked() != nil
	return s.standing
}

// tellStandingLocked returns the event with the standing signals, once.
func (s *reader) tellStandingLocked() *sharedEvent {
	s.standing = false
	return s.from.(stander).standingLocked()
}

// beginLocked does the first read.
func (s *reader) beginLocked(o *outlet, limit int) (d chunk, view sourceView, more bool) {
	s.started = true
	missed, ok := s.from.(resumer).resumeLocked(s.resume, limit)
	if s.resume != "" {
		o.stats.resumed(ok)
	}
	if !ok {
		return s.stateLocked(o, limit)
	}
	view = s.from.latest()
	s.pos, s.cursor, s.told = o.log.end(), view.cursor(), unknownFigures
	if missed != nil && missed.Type != presence.EventDiff {
		s.told = view.figures()
	}
	return chunk{single: missed}, view, false
}

// stateLocked moves the reader to the end of the log, with a state.
func (s *reader) stateLocked(o *outlet, limit int) (d chunk, view sourceView, more bool) {
	view = s.from.latest()
	state := view.stateEvent(limit) // before the rest, because the view of a puller is what its reader has
	s.pos, s.cursor, s.told = o.log.end(), state.Cursor, view.figures()
	s.waits = state.Type != presence.EventState
	return chunk{single: state}, view, false
}

// followLocked reads the log from the reader's position.
func (s *reader) followLocked(o *outlet, form *Form) (d chunk, view sourceView, more bool) {
	view = s.from.latest()
	if p, ok := s.from.(puller); ok {
		return s.pullLocked(p, form), view, false
	}
	if s.pos == o.log.end() {
		return d, view, false
	}
	s.takeLocked(o, form, &d)
	latest := o.log.before(s.pos)
	s.cursor = latest.Cursor
	if latest.Type == presence.EventCount {
		s.told = view.figures()
	}
	return d, view, s.pos != o.log.end()
}

// takeLocked takes the next events of the log. There must be at least one.
func (s *reader) takeLocked(o *outlet, form *Form, d *chunk) {
	if shared := o.log.shares(s.pos, form); shared == nil {
		d.frames = slices.Clone(o.log.after(s.pos))
	} else {
		d.n, d.bytes = o.log.encodedAfter(s.pos, shared)
	}
	n := d.n + len(d.frames)
	d.onlySignals = form != nil && o.log.onlySignals(s.pos, n)
	s.pos += uint64(n)
}

// heartbeat returns a heartbeat at the reader's version.
func (s *reader) heartbeat(view sourceView) *sharedEvent {
	if v, ok := view.(*windowView); ok {
		return v.heartbeatAt(s.cursor)
	}
	return view.heartbeatEvent()
}

// A waiter is a version whose state may not be in memory.
type waiter interface {
	// waitingEvent returns the heartbeat for a reader that waits for a state.
	waitingEvent() *sharedEvent
}

// A stager is a source whose readers go from stage to stage, and not from one event of a log to the next.
type stager interface {
	source

	// readLocked returns the next event of a reader, nil if there is none, and whether more follow.
	readLocked(s *reader, form *Form) (d chunk, more bool)
}

// A puller is a source with one reader and without a log: the reader asks it for the next event.
type puller interface {
	source

	// pullLocked returns the event that leads from what the reader has to the latest version, and false if
	// there is none. It may append the data to scratch, which is empty.
	pullLocked(scratch []byte) (presence.Event, bool)

	// overLocked reports whether the source has ended. It then has no more events.
	overLocked() bool
}

// pullLocked returns the next event of a source without a log.
func (s *reader) pullLocked(from puller, form *Form) (d chunk) {
	if form != nil && form.base != nil {
		form = nil // without a form, the data must not change later
	}
	var scratch *[]byte
	if form != nil { // a form copies the data, so the buffer can be reused
		scratch = pullScratch.Get().(*[]byte)
		defer pullScratch.Put(scratch)
	} else {
		scratch = new([]byte)
	}
	e, ok := from.pullLocked((*scratch)[:0])
	if !ok {
		return d
	}
	s.cursor = e.Cursor
	if form == nil {
		d.frames = []frame{{Event: e}}
		return d
	}
	d.n, d.bytes = 1, form.put(make([]byte, 0, len(e.Data)+framing), e)
	if cap(e.Data) <= maxReadBytes {
		*scratch = e.Data[:0]
	}
	return d
}

// pullScratch has buffers for data that a form will copy.
var pullScratch = sync.Pool{New: func() any { return new([]byte) }}

// An ender is a source that must be ended when its only reader is.
type ender interface{ end() }

// endSource ends a source that no reader will read.
func endSource(from source) {
	if e, ok := from.(ender); ok {
		e.end()
	}
}

// close ends the reader. It may be called twice.
func (s *reader) close() {
	s.from.outlet().detach(s)
	endSource(s.from)
}
