package handlers

import (
	"github.com/rollcall-go/rollcall/internal/minute"
	"github.com/rollcall-go/rollcall/presence/track"
)

// faults logs failures that may repeat with every request to the tracker's logger, each at most once a minute.
type faults struct {
	minute.Log
	tracker  *track.Tracker
	counters *counters
}

// recoverStream recovers a panic that ends one stream. Defer it.
func (f *faults) recoverStream() {
	if p := recover(); p != nil {
		f.streamPanicked(p)
	}
}

// streamPanicked counts and logs a panic that ended a stream.
func (f *faults) streamPanicked(p any) {
	f.counters.broken.Add(1)
	f.Panicked("presence: a stream panicked, and ends", p)
}
