package track

import (
	"sync/atomic"

	"github.com/rollcall-go/rollcall/presence"
)

// A Form is how a transport writes events. Readers with the same Form share the encoded bytes: make one Form
// for each transport, with [NewForm], and not one for each stream. A Form may be used concurrently.
type Form struct {
	put  func(b []byte, e presence.Event) []byte
	base *Form                     // of a variant; nil: it is no variant
	same func(presence.Event) bool // of a variant: base writes the event as put would
}

// NewForm returns a Form whose events are written by put. put appends an event to b and returns the extended
// slice, as append does. It may be called concurrently, and with locks held, so it must not call this
// package.
func NewForm(put func(b []byte, e presence.Event) []byte) *Form { return &Form{put: put} }

// NewVariant returns a Form that differs from base in few events. Its readers share base's bytes if same
// reports true for each event of a read. Otherwise put writes the events of the read, for each reader
// separately. put is called without locks, so it may block for a moment. For same the conditions of NewForm's
// put apply; it is called for events whose Data never change.
func NewVariant(base *Form, same func(presence.Event) bool, put func(b []byte, e presence.Event) []byte) *Form {
	return &Form{put: put, base: base, same: same}
}

// sharing returns the Form whose bytes a reader may share for an event: f or its base.
func (f *Form) sharing(e presence.Event) *Form {
	if f.base != nil && f.same(e) {
		return f.base
	}
	return f
}

// Append appends an event to b as the Form writes it.
func (f *Form) Append(b []byte, e presence.Event) []byte { return f.put(b, e) }

// maxForms bounds how many Forms share the encoded bytes of one log or event. Further Forms work too, but
// encode again for each reader.
const maxForms = 4

// framing is more bytes than a transport adds to the data of an event.
const framing = 96

// A frame is one event of a log: its Data for pages, and the same content for Go programs.
type frame struct {
	presence.Event
	content any // the content of Data for Go programs: see changeOf; nil: it has none
	cost    int // memory that content takes, about, in bytes
}

// size is about how much memory the frame holds, in bytes.
func (f *frame) size() int { return len(f.Data) + f.cost }

// A sharedEvent is an event that many readers get and that is not in the log: a state, a heartbeat, or the
// diff for readers that resume. Each Form encodes it once. It may be used concurrently.
type sharedEvent struct {
	frame
	encodings atomic.Pointer[encoding] // a list, the latest first
}

// An encoding is a sharedEvent in one Form.
type encoding struct {
	form  *Form
	bytes []byte
	next  *encoding
}

// newSharedEvent returns the event of a frame. Its ID is the one for a connection with a single topic.
func newSharedEvent(f frame) *sharedEvent {
	f.Event = alone(f.Event)
	return &sharedEvent{frame: f}
}

// encodedAs returns the event in a Form.
func (s *sharedEvent) encodedAs(form *Form) []byte {
	if form = form.sharing(s.Event); form.base != nil {
		return form.put(nil, s.Event)
	}
	first := s.encodings.Load()
	n := 0
	for e := first; e != nil; e = e.next {
		if e.form == form {
			return e.bytes
		}
		n++
	}
	b := form.put(make([]byte, 0, len(s.Data)+framing), s.Event)
	if n < maxForms {
		s.encodings.CompareAndSwap(first, &encoding{form, b, first}) // if this fails, the event is encoded again later
	}
	return b
}

// alone returns the event for a connection with a single topic. A signal has no ID, because no reader resumes
// from it.
func alone(e presence.Event) presence.Event {
	if e.Type != presence.EventSignal {
		e.ID = e.Cursor
	}
	return e
}
