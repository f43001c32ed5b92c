package middleware

import (
	"fmt"
	"log/slog"
	"runtime/debug"
	"sync/atomic"
	"time"

	"github.com/rollcall-go/rollcall/presence"
)

// faults logs faults of the site's Identify, each at most once a minute: Identify is
// called for every request.
type faults struct {
	logger            *slog.Logger
	panicked, refused atomic.Int64 // when each was last logged, Unix nanoseconds
}

// newFaults returns faults that log to the tracker's logger.
func newFaults(t *presence.Tracker) *faults {
	f := &faults{logger: slog.Default()}
	if t != nil {
		f.logger = t.Config().Logger
	}
	return f
}

// identifyPanicked logs a panic. Call it in the deferred function that has recovered it.
func (f *faults) identifyPanicked(value any) {
	if due(&f.panicked) {
		f.logger.Error("presence: identify panicked; the visitor is taken for a guest",
			slog.String("panic", fmt.Sprint(value)), slog.String("stack", string(debug.Stack())))
	}
}

// invalidUser logs a user that presence refuses.
func (f *faults) invalidUser(err error) {
	if due(&f.refused) {
		f.logger.Error("presence: identify returned a user that is not valid; the visitor is taken for a guest",
			slog.Any("error", err))
	}
}

// due reports whether a minute has passed since it last reported true.
func due(last *atomic.Int64) bool {
	was, now := last.Load(), time.Now().UnixNano()
	return now-was >= int64(time.Minute) && last.CompareAndSwap(was, now)
}
