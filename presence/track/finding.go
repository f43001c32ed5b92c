package track

import (
	"context"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/rollcall-go/rollcall/internal/minute"
	"github.com/rollcall-go/rollcall/presence"
)

// findings counts and logs the findings of a node.
type findings struct {
	logger *slog.Logger
	met    atomic.Bool // a signed-in user has sent a request
	of     [presence.NumFindings]struct {
		times  atomic.Uint64
		last   atomic.Int64 // Unix nanoseconds
		logged minute.Gate
	}
}

// meet sets what is mostly set already, and then only reads it.
func meet(it *atomic.Bool) {
	if !it.Load() {
		it.Store(true)
	}
}

// note is [Tracker.Found].
func (o *findings) note(f presence.Finding, attrs ...any) {
	of := &o.of[f]
	of.times.Add(1)
	of.last.Store(time.Now().UnixNano())
	level := slog.LevelWarn
	if f == presence.NoUser || f == presence.UnknownIDs { // this may be intended
		level = slog.LevelInfo
	}
	if of.logged.Pass() {
		o.logger.Log(context.Background(), level, "presence: "+f.Text(), append([]any{"finding", f.String()}, attrs...)...)
	}
}

// list is [Staff.Diagnose].
func (o *findings) list() []presence.Diagnosis {
	var all []presence.Diagnosis
	for f := range presence.NumFindings {
		if n := o.of[f].times.Load(); n > 0 {
			all = append(all, presence.Diagnosis{Finding: f, Times: n, Last: time.Unix(0, o.of[f].last.Load())})
		}
	}
	return all
}
