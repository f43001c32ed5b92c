package track

import (
	"slices"
	"sync"

	"github.com/rollcall-go/rollcall/presence"
)

// A reader is where its owner, a connection, stands in one source. Only the goroutine that
// reads the connection may use it, but for the fields that the outlet's mutex guards.
type reader struct {
	owner    subscriber
	from     source
	resume   presence.Cursor // the cursor it came with; empty: start with a state
	started  bool            // it has read
	pos      uint64          // in the outlet's log
	cursor   presence.Cursor // what the connection has of the source
	told     figures
	enters   bool   // the owner is in the topic by this reader, and not only watches it
	waits    bool   // for a state that was not in memory: it has no version
	standing bool   // it is to be told which signals stand
	pulls    bool   // it asks for these by itself: see ConnectOptions.PullStanding
	turn     uint64 // of a window: the stage that it has, or that it is ahead of

	// The outlet's mutex guards these.
	audience *audience // nil: not attached
	seat     int       // among the audience's readers
}

// newReader returns a reader that resumes at a cursor. Until it has read, its version
// of the topic is the one that it came with.
func newReader(owner subscriber, from source, resume presence.Cursor) *reader {
	s := &reader{owner: owner, from: from, resume: resume}
	if id, ok := resume.Version(s.topic()); ok { // of a window: see beginLocked
		s.cursor = presence.NewCursor(s.topic(), id)
	}
	return s
}

func (s *reader) topic() presence.Topic { return s.from.outlet().topic }

// rearm makes the next event wake the reader's group again. A reader in a group of its own is also
// rearmed by each read, and a shared group by Group.Woken.
func (o *outlet) rearm(s *reader) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if s.audience != nil {
		o.armLocked(s.audience)
	}
}

// A chunk is what a reader gets at once: the next events of the log, or one event
// that is not in it. The zero value has nothing.
type chunk struct {
	frames []frame // of the log, where no Form was given
	bytes  []byte  // of the log, as a Form writes them
	n      int     // the number of events in bytes
	single *sharedEvent

	onlySignals bool // there are events, and all are signals; false where no Form was given
}

func (d *chunk) empty() bool { return d.single == nil && len(d.frames) == 0 && d.n == 0 }

// all returns the frames of a chunk that has no bytes.
func (d *chunk) all() []frame {
	if d.single != nil {
		return []frame{d.single.frame}
	}
	return d.frames
}

// next returns what the reader gets now, frames if form is nil, and whether there
// is more. It waits for the outlet's mutex only. The first read returns the event
// that leads from the reader's cursor to now, or a state; the next ones return the
// events of the log, or a state for a reader that fell out of it. Where there is
// none of these, and the figures have changed, it returns a heartbeat.
func (s *reader) next(limit int, form *Form) (d chunk, more bool) {
	d, view, more := s.from.outlet().advance(s, limit, form)
	switch now := view.figures(); {
	case s.told == now || s.waits:
	case d.empty():
		d.single, s.told = s.heartbeat(view), now
	case s.told != unknownFigures: // the heartbeat comes behind these events
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
	if w, ok := s.from.(*windowSource); ok {
		d, more = w.readLocked(s, form)
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
			d = chunk{} // it was told so
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

// A stander is a source in which signals may stand.
type stander interface {
	// standingLocked returns the event of what stands, nil if nothing does.
	standingLocked() *sharedEvent
}

// standing returns the event of what stands in the outlet's source, nil if nothing does.
func (o *outlet) standing(from stander) *sharedEvent {
	o.mu.Lock()
	defer o.mu.Unlock()
	return from.standingLocked()
}

// standsLocked has the reader told next which signals stand. It reports whether some do.
func (s *reader) standsLocked() bool {
	from, ok := s.from.(stander)
	s.standing = ok && !s.pulls && from.standingLocked() != nil
	return s.standing
}

// tellStandingLocked returns the event of what stands, once.
func (s *reader) tellStandingLocked() *sharedEvent {
	s.standing = false
	return s.from.(stander).standingLocked()
}

// beginLocked is the first read.
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

// stateLocked takes the reader to the end of the log with a state.
func (s *reader) stateLocked(o *outlet, limit int) (d chunk, view sourceView, more bool) {
	view = s.from.latest()
	state := view.stateEvent(limit) // first: the view of a puller is what its reader has
	s.pos, s.cursor, s.told = o.log.end(), state.Cursor, view.figures()
	s.waits = state.Type != presence.EventState
	return chunk{single: state}, view, false
}

// followLocked takes the reader along the log.
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

// takeLocked takes the next events of the log, of which there is one at least.
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

// heartbeat returns a heartbeat for what the reader has.
func (s *reader) heartbeat(view sourceView) *sharedEvent {
	if v, ok := view.(*windowView); ok {
		return v.heartbeatAt(s.cursor)
	}
	return view.heartbeatEvent()
}

// A waiter is a version that may have no state in memory.
type waiter interface {
	// waitingEvent returns the heartbeat of a reader that waits for a state.
	waitingEvent() *sharedEvent
}

// A puller is a source of one reader, without a log: the reader asks it for the next event.
type puller interface {
	source

	// pullLocked returns the event that leads from what the reader has to now, and false
	// if there is none. It may append the data to scratch, which is empty.
	pullLocked(scratch []byte) (presence.Event, bool)

	// overLocked reports whether the source has ended. Then it has nothing to tell: what it held
	// for its reader is gone.
	overLocked() bool
}

// pullLocked returns the next event of a source without a log.
func (s *reader) pullLocked(from puller, form *Form) (d chunk) {
	if form != nil && form.base != nil {
		form = nil // its data must not change
	}
	var scratch *[]byte
	if form != nil { // the form copies the data
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

// pullScratch has buffers for data that a form copies.
var pullScratch = sync.Pool{New: func() any { return new([]byte) }}

// An ender is a source that ends with its one reader.
type ender interface{ end() }

// endSource ends a source that nobody will read.
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
