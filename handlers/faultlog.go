package handlers

import (
	"fmt"
	"log/slog"
	"runtime/debug"
	"sync/atomic"
	"time"

	"github.com/rollcall-go/rollcall/presence"
)

// A fault is a kind of failure that may repeat with every request.
type fault int

const (
	authorizePanicked fault = iota
	clientIPPanicked
	widgetPanicked
	widgetFailed
	rightsUnanswered
	streamPanicked
	proxyUnnamed
	kindsOfFaults
)

// faults logs failures to the tracker's logger, each kind at most once a minute.
type faults struct {
	tracker *presence.Tracker
	logged  [kindsOfFaults]atomic.Int64 // when it was logged last, in Unix nanoseconds
}

// warn logs a failure, unless one of its kind was logged within the last minute.
func (f *faults) warn(kind fault, text string, attrs ...any) {
	if f.due(kind) {
		f.tracker.Config().Logger.Warn(text, attrs...)
	}
}

// panicked logs a panic with the stack of the calling goroutine. Call it in the
// deferred function that recovered the panic, while the stack still shows where it
// happened. A logger that panics too is ignored.
func (f *faults) panicked(kind fault, text string, value any) {
	defer func() { _ = recover() }()
	if f.due(kind) {
		f.tracker.Config().Logger.Error(text, slog.String("panic", fmt.Sprint(value)), slog.String("stack", string(debug.Stack())))
	}
}

func (f *faults) due(kind fault) bool {
	last := &f.logged[kind]
	was, now := last.Load(), time.Now().UnixNano()
	return now-was >= int64(time.Minute) && last.CompareAndSwap(was, now)
}
