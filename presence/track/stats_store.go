package track

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
)

// A timedStore is the site's store, and measures each call.
type timedStore struct {
	backend.Store
	calls timings
}

// CallStats are the calls of one method of the store, or of the [presence.Directory].
type CallStats struct {
	Failed  uint64
	Latency Histogram
}

// A timing has the figures of one operation.
type timing struct {
	latency *tally
	failed  atomic.Uint64
}

// timings have the figures of all operations, by name.
type timings map[string]*timing

func newTimings(operations []string) timings {
	all := make(timings)
	for _, name := range operations {
		all[name] = &timing{latency: newTally(latencyBounds)}
	}
	return all
}

// stats returns what was counted.
func (t timings) stats() map[string]CallStats {
	all := make(map[string]CallStats, len(t))
	for name, one := range t {
		all[name] = CallStats{Failed: one.failed.Load(), Latency: one.latency.read()}
	}
	return all
}

// operations are the names of the operations of a Store in [Stats].
var operations = []string{
	"apply", "sweep", "poll", "age", "trim", "snapshot", "log", "counts", "sightings", "watch", "notify", "listen",
	"statuses", "secret", "hear", "recent", "topics", "inspect",
	"claim_consumer", "commit_consumer", "read_consumer", "send",
	"export_user", "erase_user", "erasures",
}

// latencyBounds reach from calls in memory to calls that time out.
var latencyBounds = []int64{
	int64(250 * time.Microsecond), int64(500 * time.Microsecond), int64(time.Millisecond),
	int64(2500 * time.Microsecond), int64(5 * time.Millisecond), int64(10 * time.Millisecond),
	int64(25 * time.Millisecond), int64(50 * time.Millisecond), int64(100 * time.Millisecond),
	int64(250 * time.Millisecond), int64(500 * time.Millisecond), int64(time.Second), int64(2500 * time.Millisecond),
}

func newTimedStore(store backend.Store) *timedStore {
	return &timedStore{store, newTimings(operations)}
}

// timed counts a call that returns an answer.
func timed[T any](ctx context.Context, s *timedStore, call string, do func() (T, error)) (T, error) {
	began := time.Now()
	answer, err := do()
	return answer, s.done(ctx, call, began, err)
}

// done counts a call that began at a moment, and returns its error. It is no failure that the caller gave up,
// that a log does not reach back, or that a user has made a later choice.
func (s *timedStore) done(ctx context.Context, call string, began time.Time, err error) error {
	c := s.calls[call]
	c.latency.observe(int64(time.Since(began)))
	if err != nil && !errors.Is(err, presence.ErrGap) && !errors.Is(err, presence.ErrLaterChoice) && !errors.Is(ctx.Err(), context.Canceled) {
		c.failed.Add(1)
	}
	return err
}

func (s *timedStore) Apply(ctx context.Context, batches []backend.Batch) []backend.Result {
	began := time.Now()
	results := s.Store.Apply(ctx, batches)
	var failed error
	for _, r := range results {
		if r.Err != nil {
			failed = r.Err
		}
	}
	_ = s.done(ctx, "apply", began, failed)
	return results
}

func (s *timedStore) Sweep(ctx context.Context, opts backend.SweepOptions) (backend.Swept, error) {
	return timed(ctx, s, "sweep", func() (backend.Swept, error) { return s.Store.Sweep(ctx, opts) })
}

func (s *timedStore) Poll(ctx context.Context, p backend.Poll) (backend.Polled, error) {
	return timed(ctx, s, "poll", func() (backend.Polled, error) { return s.Store.Poll(ctx, p) })
}

func (s *timedStore) Age(ctx context.Context, period time.Duration) (int, error) {
	return timed(ctx, s, "age", func() (int, error) { return s.Store.Age(ctx, period) })
}

func (s *timedStore) Trim(ctx context.Context, keep time.Duration, most int) (int, error) {
	return timed(ctx, s, "trim", func() (int, error) { return s.Store.Trim(ctx, keep, most) })
}

func (s *timedStore) Snapshot(ctx context.Context, topic presence.Topic) (backend.Snapshot, error) {
	snap, err := timed(ctx, s, "snapshot", func() (backend.Snapshot, error) { return s.Store.Snapshot(ctx, topic) })
	snap.Members = showIdle(snap.Members)
	return snap, err
}

func (s *timedStore) Log(ctx context.Context, topic presence.Topic, after presence.DiffID) ([]backend.Diff, error) {
	diffs, err := timed(ctx, s, "log", func() ([]backend.Diff, error) { return s.Store.Log(ctx, topic, after) })
	for i := range diffs {
		diffs[i] = showIdleOf(diffs[i])
	}
	return diffs, err
}

func (s *timedStore) Counts(ctx context.Context, topics ...presence.Topic) ([]backend.Counts, error) {
	return timed(ctx, s, "counts", func() ([]backend.Counts, error) { return s.Store.Counts(ctx, topics...) })
}

func (s *timedStore) Sightings(ctx context.Context, topic presence.Topic, users ...presence.UserID) ([]backend.Sighting, error) {
	sightings, err := timed(ctx, s, "sightings", func() ([]backend.Sighting, error) { return s.Store.Sightings(ctx, topic, users...) })
	for i := range sightings {
		seen := &sightings[i]
		seen.Status, seen.Idle = shownIdle(seen.Status, seen.Idle)
	}
	return sightings, err
}

func (s *timedStore) Watch(ctx context.Context, topic presence.Topic, w backend.Watcher) (func(), error) {
	told := w.Diff
	w.Diff = func(d backend.Diff) { told(showIdleOf(d)) }
	return timed(ctx, s, "watch", func() (func(), error) { return s.Store.Watch(ctx, topic, w) })
}

func (s *timedStore) Send(ctx context.Context, broadcasts ...backend.Broadcast) error {
	return s.done(ctx, "send", time.Now(), s.Store.Send(ctx, broadcasts...))
}

func (s *timedStore) Publish(ctx context.Context, n backend.Notice) error {
	return s.done(ctx, "notify", time.Now(), s.Store.Publish(ctx, n))
}

func (s *timedStore) Listen(ctx context.Context, fn func(backend.Notice)) (func(), error) {
	return timed(ctx, s, "listen", func() (func(), error) { return s.Store.Listen(ctx, fn) })
}

func (s *timedStore) Statuses(ctx context.Context, users ...presence.UserID) ([]backend.ChosenStatus, error) {
	return timed(ctx, s, "statuses", func() ([]backend.ChosenStatus, error) { return s.Store.Statuses(ctx, users...) })
}

func (s *timedStore) PutStatus(ctx context.Context, user presence.UserID, c backend.ChosenStatus, again bool) (int64, error) {
	return timed(ctx, s, "statuses", func() (int64, error) { return s.Store.PutStatus(ctx, user, c, again) })
}

func (s *timedStore) Secret(ctx context.Context, offer []byte) ([]byte, error) {
	return timed(ctx, s, "secret", func() ([]byte, error) { return s.Store.Secret(ctx, offer) })
}

func (s *timedStore) Hear(ctx context.Context) error {
	return s.done(ctx, "hear", time.Now(), s.Store.Hear(ctx))
}

func (s *timedStore) Recent(ctx context.Context, topic presence.Topic, q backend.RecentQuery) (backend.RecentPage, error) {
	page, err := timed(ctx, s, "recent", func() (backend.RecentPage, error) { return s.Store.Recent(ctx, topic, q) })
	for i := range page.Users {
		u := &page.Users[i]
		u.Status, u.Idle = shownIdle(u.Status, u.Idle)
	}
	return page, err
}

func (s *timedStore) Topics(ctx context.Context, after presence.Topic, most int) ([]presence.Topic, error) {
	return timed(ctx, s, "topics", func() ([]presence.Topic, error) { return s.Store.Topics(ctx, after, most) })
}

func (s *timedStore) Inspect(ctx context.Context, topic presence.Topic, after presence.UserID, most int) ([]backend.Inspected, error) {
	users, err := timed(ctx, s, "inspect", func() ([]backend.Inspected, error) { return s.Store.Inspect(ctx, topic, after, most) })
	for i := range users {
		u := &users[i]
		u.Status, u.Idle = shownIdle(u.Status, u.Idle)
	}
	return users, err
}

func (s *timedStore) ClaimConsumer(ctx context.Context, consumer string, claim backend.ConsumerClaim) (backend.ConsumerClaimed, error) {
	return timed(ctx, s, "claim_consumer", func() (backend.ConsumerClaimed, error) { return s.Store.ClaimConsumer(ctx, consumer, claim) })
}

func (s *timedStore) CommitConsumer(ctx context.Context, consumer string, step backend.ConsumerStep) (backend.ConsumerState, error) {
	return timed(ctx, s, "commit_consumer", func() (backend.ConsumerState, error) { return s.Store.CommitConsumer(ctx, consumer, step) })
}

func (s *timedStore) ReadConsumer(ctx context.Context, consumer string) (map[string]string, error) {
	return timed(ctx, s, "read_consumer", func() (map[string]string, error) { return s.Store.ReadConsumer(ctx, consumer) })
}

func (s *timedStore) ExportUser(ctx context.Context, user presence.UserID) ([]backend.Kept, error) {
	return timed(ctx, s, "export_user", func() ([]backend.Kept, error) { return s.Store.ExportUser(ctx, user) })
}

func (s *timedStore) EraseUser(ctx context.Context, e backend.Erasure) error {
	return s.done(ctx, "erase_user", time.Now(), s.Store.EraseUser(ctx, e))
}

func (s *timedStore) AddErasure(ctx context.Context, user presence.UserID, hold time.Duration) (backend.Erasure, error) {
	return timed(ctx, s, "erasures", func() (backend.Erasure, error) { return s.Store.AddErasure(ctx, user, hold) })
}

func (s *timedStore) ClaimErasures(ctx context.Context, most int, hold time.Duration) ([]backend.Erasure, error) {
	return timed(ctx, s, "erasures", func() ([]backend.Erasure, error) { return s.Store.ClaimErasures(ctx, most, hold) })
}

func (s *timedStore) EndErasure(ctx context.Context, e backend.Erasure) error {
	return s.done(ctx, "erasures", time.Now(), s.Store.EndErasure(ctx, e))
}

// storeOut wraps an error of the store in [presence.ErrStoreOut], unless it is a more specific one.
func storeOut(err error) error {
	if err == nil || errors.Is(err, presence.ErrStoreOut) || errors.Is(err, presence.ErrLaterChoice) || errors.Is(err, presence.ErrInvalidQuery) || errors.Is(err, presence.ErrClosed) {
		return err
	}
	return fmt.Errorf("%w: %w", presence.ErrStoreOut, err)
}
