package middleware

import (
	"fmt"
	"log/slog"
	"runtime/debug"
	"sync/atomic"
	"time"

	"github.com/rollcall-go/rollcall/presence"
)

// faults logs what is wrong with the site's identify function. It is called
// once a request, so each kind of fault is logged once a minute at most.
type faults struct {
	logger            *slog.Logger
	panicked, refused atomic.Int64 // when that was last logged, Unix nanoseconds
}

// newFaults logs to the tracker's logger.
func newFaults(t *presence.Tracker) *faults {
	f := &faults{logger: slog.Default()}
	if t != nil {
		f.logger = t.Config().Logger
	}
	return f
}

// panic tells of a panic. It is to be called while that unwinds.
func (f *faults) panic(value any) {
	if due(&f.panicked) {
		f.logger.Error("presence: identify panicked; the visitor is taken for a guest",
			slog.String("panic", fmt.Sprint(value)), slog.String("stack", string(debug.Stack())))
	}
}

// user tells of a user that presence cannot take.
func (f *faults) user(err error) {
	if due(&f.refused) {
		f.logger.Error("presence: identify returned a user that is not valid; the visitor is taken for a guest",
			slog.Any("error", err))
	}
}

// due reports whether a minute has passed since it last did.
func due(last *atomic.Int64) bool {
	was, now := last.Load(), time.Now().UnixNano()
	return now-was >= int64(time.Minute) && last.CompareAndSwap(was, now)
}
