package feed

import (
	"context"

	"github.com/rollcall-go/rollcall/internal/wait"
	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/track"
)

// A follower keeps the feeds current that pages of this node follow. It reads a feed when a hint tells of a
// new revision, and compares all feeds with the database from time to time: see reading.go.
type follower struct {
	store   Store
	tracker *track.Tracker
	cfg     *Config
	calls   *calls
	stats   *counters
	states  feedStates
	reading *reading
	turned  wait.Wakeup // a call has failed, so the feeds must be checked soon
}

// newFollower returns a follower. If one of its calls fails, it checks the feeds.
func newFollower(store Store, tracker *track.Tracker, cfg *Config, stats *counters) *follower {
	f := &follower{
		store: store, tracker: tracker, cfg: cfg, stats: stats,
		states: newFeedStates(cfg.MaxLines), reading: newReading(), turned: wait.NewWakeup(),
	}
	f.calls = &calls{logger: tracker.Config().Logger, failed: f.turned.Wake}
	return f
}

// Open implements track.LineSource.
func (f *follower) Open(ctx context.Context, topic presence.Topic, v presence.Visitor, have presence.DiffID) (*track.Line, error) {
	n, err := NameOf(topic, v)
	if err != nil {
		return nil, err
	}
	l, ok := f.states.get(n, v, func() *feedState { return newFeedState(f, n) })
	if !ok {
		l.noRoom(ctx)
	} else {
		l.ready(ctx, have)
	}
	return l.out, nil
}
