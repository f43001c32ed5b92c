package handlers

import (
	"fmt"
	"log/slog"
	"runtime/debug"

	"github.com/rollcall-go/rollcall/internal/minute"
	"github.com/rollcall-go/rollcall/presence/track"
)

// A fault is a failure that may repeat with every request.
type fault int

const (
	authorizePanicked fault = iota
	enterPanicked
	clientIPPanicked
	tenantPanicked
	widgetPanicked
	widgetFailed
	rightsUnanswered
	endSessionPanicked
	endSessionFailed
	whisperPanicked
	streamPanicked
	downPanicked
	downLate
	downUnread
	numFaults
)

// faults logs to the tracker's logger, each fault at most once a minute.
type faults struct {
	tracker  *track.Tracker
	counters *counters
	logged   [numFaults]minute.Gate
}

// warn logs a fault, unless the same was logged within the last minute.
func (f *faults) warn(which fault, text string, attrs ...any) {
	if f.logged[which].Pass() {
		f.tracker.Config().Logger.Warn(text, attrs...)
	}
}

// panicked logs a panic with the stack of the calling goroutine. Call it in the deferred function that
// recovered the panic: there the stack still shows where it happened. A logger that panics too is ignored.
func (f *faults) panicked(which fault, text string, value any, attrs ...any) {
	defer func() { _ = recover() }()
	if f.logged[which].Pass() {
		attrs = append(attrs, slog.String("panic", fmt.Sprint(value)), slog.String("stack", string(debug.Stack())))
		f.tracker.Config().Logger.Error(text, attrs...)
	}
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
	f.panicked(streamPanicked, "presence: a stream panicked, and ends", p)
}
