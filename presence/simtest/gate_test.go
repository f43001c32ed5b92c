package simtest_test

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
)

// Calls wait while the link is stalled, as those of a Redis do that does not answer. The server
// does what it was asked for once it goes on, also for a caller that has given up meanwhile: until
// the deadline of the call (rule 4).

// stalledNow returns a channel that is closed once the link is no longer stalled, for writes or for
// all; nil if it is not.
func (l *link) stalledNow(write bool) <-chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.stalled && !(write && l.frozen) {
		return nil
	}
	if l.thawed == nil {
		l.thawed = make(chan struct{})
	}
	return l.thawed
}

// through makes a call once the link lets it through. write says that it changes something.
func through[T any](ctx context.Context, l *link, write bool, call func(context.Context) (T, error)) (T, error) {
	if paused := l.pausedNow(); paused != nil {
		if <-paused; write && ctx.Err() == nil {
			l.lands()
		}
	}
	if write && ctx.Err() != nil {
		var none T
		return none, ctx.Err()
	}
	thawed := l.stalledNow(write)
	if thawed == nil {
		return call(ctx)
	}
	select {
	case <-thawed:
		if !l.whole() {
			var none T
			return none, errAway
		}
		if write {
			l.lands()
		}
		return through(ctx, l, write, call)
	case <-ctx.Done():
		if until, _ := ctx.Deadline(); write && l.world.game.late && time.Now().Before(until) {
			l.world.running.Go(func() {
				ctx, cancel := context.WithDeadline(context.Background(), until)
				defer cancel()
				_, _ = through(ctx, l, write, call)
			})
		}
		var none T
		return none, ctx.Err()
	}
}

// whole reports whether what was sent before still arrives.
func (l *link) whole() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return !l.broken
}

func (l *link) Apply(ctx context.Context, batches []backend.Batch) []backend.Result {
	results, err := through(ctx, l, true, func(ctx context.Context) ([]backend.Result, error) {
		for _, b := range batches {
			l.writes(b.Ops)
		}
		results := l.server.Apply(ctx, batches)
		for i, b := range batches {
			l.world.note("node %s writes to %s: %s, unknown %v", l.node, b.Topic, opsOf(b.Ops), results[i].Unknown)
		}
		return results, nil
	})
	if err != nil {
		results = make([]backend.Result, len(batches))
		for i := range results {
			results[i].Err = err
		}
	}
	return results
}

func (l *link) Sweep(ctx context.Context, o backend.SweepOptions) (backend.Swept, error) {
	asked := time.Now()
	return through(ctx, l, true, func(ctx context.Context) (backend.Swept, error) {
		if time.Since(asked) > 250*time.Millisecond { // a sweep that comes late removes nothing, as in redisstore
			return backend.Swept{}, nil
		}
		swept, err := l.server.Sweep(ctx, o)
		if swept.Leases > 0 {
			l.world.note("node %s sweeps %+v after %v: %+v", l.node, o, time.Since(asked), swept)
		}
		return swept, err
	})
}

func (l *link) Publish(ctx context.Context, n backend.Notice) error {
	_, err := through(ctx, l, true, func(ctx context.Context) (struct{}, error) {
		if n.Lasting {
			l.world.note("node %s publishes %s %s %v ago", l.node, n.Kind, n.User, n.Ago)
		}
		if n.Kind == backend.NoticeSignedOut && n.Ago == 0 {
			l.signsOut(n)
		}
		return struct{}{}, l.server.Publish(ctx, n)
	})
	return err
}

func (l *link) Age(ctx context.Context, period time.Duration) (int, error) {
	return through(ctx, l, true, func(ctx context.Context) (int, error) { return l.server.Age(ctx, period) })
}

func (l *link) Snapshot(ctx context.Context, topic presence.Topic) (backend.Snapshot, error) {
	return through(ctx, l, false, func(ctx context.Context) (backend.Snapshot, error) { return l.server.Snapshot(ctx, topic) })
}

func (l *link) Log(ctx context.Context, topic presence.Topic, after presence.DiffID) ([]backend.Diff, error) {
	return through(ctx, l, false, func(ctx context.Context) ([]backend.Diff, error) { return l.server.Log(ctx, topic, after) })
}

func (l *link) Counts(ctx context.Context, topics ...presence.Topic) ([]backend.Counts, error) {
	return through(ctx, l, false, func(ctx context.Context) ([]backend.Counts, error) { return l.server.Counts(ctx, topics...) })
}

func (l *link) Topics(ctx context.Context, after presence.Topic, most int) ([]presence.Topic, error) {
	return through(ctx, l, false, func(ctx context.Context) ([]presence.Topic, error) { return l.server.Topics(ctx, after, most) })
}

func (l *link) PutStatus(ctx context.Context, user presence.UserID, c backend.ChosenStatus, again bool) (int64, error) {
	return through(ctx, l, true, func(ctx context.Context) (int64, error) { return l.server.PutStatus(ctx, user, c, again) })
}

func (l *link) Statuses(ctx context.Context, users ...presence.UserID) ([]backend.ChosenStatus, error) {
	return through(ctx, l, false, func(ctx context.Context) ([]backend.ChosenStatus, error) { return l.server.Statuses(ctx, users...) })
}

func (l *link) Sightings(ctx context.Context, topic presence.Topic, users ...presence.UserID) ([]backend.Sighting, error) {
	return through(ctx, l, false, func(ctx context.Context) ([]backend.Sighting, error) {
		return l.server.Sightings(ctx, topic, users...)
	})
}

func (l *link) ClaimConsumer(ctx context.Context, name string, claim backend.ConsumerClaim) (backend.ConsumerClaimed, error) {
	return through(ctx, l, true, func(ctx context.Context) (backend.ConsumerClaimed, error) {
		return l.server.ClaimConsumer(ctx, name, claim)
	})
}

func (l *link) CommitConsumer(ctx context.Context, name string, step backend.ConsumerStep) (backend.ConsumerState, error) {
	return through(ctx, l, true, func(ctx context.Context) (backend.ConsumerState, error) {
		return l.server.CommitConsumer(ctx, name, step)
	})
}

func (l *link) ReadConsumer(ctx context.Context, name string) (map[string]string, error) {
	return through(ctx, l, false, func(ctx context.Context) (map[string]string, error) {
		return l.server.ReadConsumer(ctx, name)
	})
}

// opsOf says what was written.
func opsOf(ops []backend.Op) string {
	names := map[backend.OpKind]string{
		backend.OpJoin: "join", backend.OpHeartbeat: "heartbeat", backend.OpRelease: "release", backend.OpSeen: "seen",
		backend.OpSignOut: "sign out", backend.OpUpdate: "update", backend.OpKeep: "keep", backend.OpSignOff: "sign off",
	}
	var b strings.Builder
	for _, op := range ops {
		fmt.Fprintf(&b, "%s %s %s %s %v", names[op.Kind], op.User.ID, op.User.Status, op.Holder, op.For)
		if op.Ago > 0 {
			fmt.Fprintf(&b, " %v ago", op.Ago)
		}
		if op.Joined > 0 {
			fmt.Fprintf(&b, ", joined %v ago", op.Joined)
		}
		b.WriteString("; ")
	}
	return b.String()
}
