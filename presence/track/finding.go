package track

import (
	"context"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/rollcall-go/rollcall/internal/minute"
	"github.com/rollcall-go/rollcall/presence"
)

// found is what a node has found.
type found [presence.NumFindings]struct {
	times  atomic.Uint64
	last   atomic.Int64 // Unix nanoseconds
	logged minute.Gate
}

// MeetUser notes that a request was a signed-in user's. It takes no lock.
func (t *Tracker) MeetUser() {
	if !t.met.Load() {
		t.met.Store(true)
	}
}

// MetUser reports whether any request was a signed-in user's, since the Tracker began.
func (t *Tracker) MetUser() bool { return t.met.Load() }

// Found notes a finding, and logs it at most once a minute, with attributes as those of
// [log/slog.Logger.Warn]. [presence.NoUser] and
// [presence.UnknownIDs] are logged as information, all others as warnings. It
// takes no lock.
func (t *Tracker) Found(f presence.Finding, attrs ...any) {
	of := &t.found[f]
	of.times.Add(1)
	of.last.Store(time.Now().UnixNano())
	level := slog.LevelWarn
	if f == presence.NoUser || f == presence.UnknownIDs { // it may be as the site wants it
		level = slog.LevelInfo
	}
	if of.logged.Pass() {
		t.cfg.Logger.Log(context.Background(), level, "presence: "+f.Text(), append([]any{"finding", f.String()}, attrs...)...)
	}
}

// Diagnose returns what was found since the Tracker began. It returns nothing for a site
// that is wired as it should be.
func (t *Tracker) Diagnose() []presence.Diagnosis {
	var all []presence.Diagnosis
	for f := range presence.NumFindings {
		if n := t.found[f].times.Load(); n > 0 {
			all = append(all, presence.Diagnosis{Finding: f, Times: n, Last: time.Unix(0, t.found[f].last.Load())})
		}
	}
	return all
}
