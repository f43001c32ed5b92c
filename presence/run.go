package presence

import (
	"iter"
	"sync/atomic"
)

// A Run is events of one topic, one after the other. All readers who stand at the
// same place get the same Run, so what is made of it is made once. It never
// changes, and may be read concurrently.
type Run struct {
	frames []frame
	forms  [runForms]atomic.Pointer[[]byte]
}

// A frame is one event of a topic's log, as bytes for pages and as entries for
// Go programs.
type frame struct {
	Event
	net  net   // of a diff
	view *View // of a state
}

// runForms is how many forms a Run can have.
const runForms = 4

func newRun(frames ...frame) *Run {
	for i := range frames {
		frames[i].ID = frames[i].Cursor
	}
	return &Run{frames: frames}
}

// Len returns the number of events.
func (r *Run) Len() int { return len(r.frames) }

// Events yields the events. Their ID is that of a connection of their topic alone.
func (r *Run) Events() iter.Seq[Event] {
	return func(yield func(Event) bool) {
		for i := range r.frames {
			if !yield(r.frames[i].Event) {
				return
			}
		}
	}
}

// Form returns the run as a transport sends it: of each event what put appends to
// b. It is made once for a form, a number from 0 to 3 that stands for one
// transport in the whole program, and shared: it must not be changed.
func (r *Run) Form(form int, put func(b []byte, e Event) []byte) []byte {
	if made := r.forms[form].Load(); made != nil {
		return *made
	}
	const around = 96 // bytes, more than transports need for an event beside its data
	size := 0
	for i := range r.frames {
		size += len(r.frames[i].Data) + around
	}
	b := make([]byte, 0, size)
	for i := range r.frames {
		b = put(b, r.frames[i].Event)
	}
	r.forms[form].CompareAndSwap(nil, &b) // whoever was faster made the same
	return b
}

// last is the latest event.
func (r *Run) last() *frame { return &r.frames[len(r.frames)-1] }
