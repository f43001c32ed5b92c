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
	store    backend.Store // with every method: those of a missing feature return errors.ErrUnsupported
	made     backend.Core  // as the site made it
	features backend.Features
	calls    [operations]timing
}

// CallStats are the calls of one method of the store, or of the [presence.Directory].
type CallStats struct {
	Failed  uint64
	Latency Histogram // CallStats are the figures of one method of the store, or of the [presence.Directory].
}

// A timing has the figures of one operation.
type timing struct {
	latency *tally
	failed  atomic.Uint64
}

// The operations of a Store.
const (
	callApply = iota
	callSweep
	callRenewNode
	callAge
	callTrim
	callSnapshot
	callLog
	callCounts
	callSightings
	callWatch
	callPublish
	callListen
	callStatuses
	callSecret
	callHear
	callExtras
	callRecent
	callRemembered
	callTopics
	callInspect
	callClaimConsumer
	callCommitConsumer
	callReadConsumer
	callSend
	callWatchBroadcasts
	callExportUser
	callEraseUser
	callErasures
	operations
)

// operationName has the names of the operations in [Stats].
var operationName = [operations]string{
	"apply", "sweep", "renew_node", "age", "trim", "snapshot", "log", "counts", "sightings", "watch", "notify", "listen",
	"statuses", "secret", "hear", "extras", "recent", "remembered", "topics", "inspect",
	"claim_consumer", "commit_consumer", "read_consumer", "send", "watch_broadcasts",
	"export_user", "erase_user", "erasures",
}

// latencyBounds reach from calls in memory to calls that time out.
var latencyBounds = []int64{
	int64(250 * time.Microsecond), int64(500 * time.Microsecond), int64(time.Millisecond),
	int64(2500 * time.Microsecond), int64(5 * time.Millisecond), int64(10 * time.Millisecond),
	int64(25 * time.Millisecond), int64(50 * time.Millisecond), int64(100 * time.Millisecond),
	int64(250 * time.Millisecond), int64(500 * time.Millisecond), int64(time.Second), int64(2500 * time.Millisecond),
}

func newTimedStore(store backend.Core) *timedStore {
	s := &timedStore{store: backend.Extend(store), made: store, features: backend.FeaturesOf(store)}
	for i := range s.calls {
		s.calls[i].latency = newTally(latencyBounds)
	}
	return s
}

// Features returns the features of the site's store.
func (s *timedStore) Features() backend.Features { return s.features }

// done counts a call that began at a moment. It is no failure that the caller gave up, that a log does not
// reach back, or that a user has made a later choice.
func (s *timedStore) done(ctx context.Context, call int, began time.Time, err error) {
	c := &s.calls[call]
	c.latency.observe(int64(time.Since(began)))
	if err != nil && !errors.Is(err, presence.ErrGap) && !errors.Is(err, presence.ErrLaterChoice) && !errors.Is(ctx.Err(), context.Canceled) {
		c.failed.Add(1)
	}
}

// stats returns what was counted, by operation.
func (s *timedStore) stats() map[string]CallStats {
	all := make(map[string]CallStats, operations)
	for i := range s.calls {
		all[operationName[i]] = s.calls[i].stats()
	}
	return all
}

func (t *timing) stats() CallStats {
	return CallStats{Failed: t.failed.Load(), Latency: t.latency.read()}
}

func (s *timedStore) Apply(ctx context.Context, batches []backend.Batch) []backend.Result {
	began := time.Now()
	results := s.store.Apply(ctx, batches)
	var failed error
	for _, r := range results {
		if r.Err != nil {
			failed = r.Err
		}
	}
	s.done(ctx, callApply, began, failed)
	return results
}

func (s *timedStore) Sweep(ctx context.Context, opts backend.SweepOptions) (backend.Swept, error) {
	began := time.Now()
	swept, err := s.store.Sweep(ctx, opts)
	s.done(ctx, callSweep, began, err)
	return swept, err
}

func (s *timedStore) RenewNode(ctx context.Context, process string, term time.Duration) (bool, time.Duration, error) {
	began := time.Now()
	alive, next, err := s.store.RenewNode(ctx, process, term)
	s.done(ctx, callRenewNode, began, err)
	return alive, next, err
}

func (s *timedStore) Age(ctx context.Context, period time.Duration) (int, error) {
	began := time.Now()
	turned, err := s.store.Age(ctx, period)
	s.done(ctx, callAge, began, err)
	return turned, err
}

func (s *timedStore) Trim(ctx context.Context, keep time.Duration, most int) (int, error) {
	began := time.Now()
	forgotten, err := s.store.Trim(ctx, keep, most)
	s.done(ctx, callTrim, began, err)
	return forgotten, err
}

func (s *timedStore) Snapshot(ctx context.Context, topic presence.Topic) (backend.Snapshot, error) {
	began := time.Now()
	snap, err := s.store.Snapshot(ctx, topic)
	s.done(ctx, callSnapshot, began, err)
	snap.Members = showIdle(snap.Members)
	return snap, err
}

func (s *timedStore) Log(ctx context.Context, topic presence.Topic, after presence.DiffID) ([]backend.Diff, error) {
	began := time.Now()
	diffs, err := s.store.Log(ctx, topic, after)
	s.done(ctx, callLog, began, err)
	for i := range diffs {
		diffs[i] = showIdleOf(diffs[i])
	}
	return diffs, err
}

func (s *timedStore) Counts(ctx context.Context, topics ...presence.Topic) ([]backend.Counts, error) {
	began := time.Now()
	counts, err := s.store.Counts(ctx, topics...)
	s.done(ctx, callCounts, began, err)
	return counts, err
}

func (s *timedStore) Sightings(ctx context.Context, topic presence.Topic, users ...presence.UserID) ([]backend.Sighting, error) {
	began := time.Now()
	sightings, err := s.store.Sightings(ctx, topic, users...)
	s.done(ctx, callSightings, began, err)
	for i := range sightings {
		seen := &sightings[i]
		seen.Status, seen.Idle = shownIdle(seen.Status, seen.Idle)
	}
	return sightings, err
}

func (s *timedStore) Watch(ctx context.Context, topic presence.Topic, fn func(backend.Diff)) (func(), error) {
	began := time.Now()
	stop, err := s.store.Watch(ctx, topic, func(d backend.Diff) { fn(showIdleOf(d)) })
	s.done(ctx, callWatch, began, err)
	return stop, err
}

func (s *timedStore) Send(ctx context.Context, broadcasts ...backend.Broadcast) error {
	began := time.Now()
	err := s.store.Send(ctx, broadcasts...)
	s.done(ctx, callSend, began, err)
	return err
}

func (s *timedStore) WatchBroadcasts(ctx context.Context, topic presence.Topic, fn func([]byte)) (func(), error) {
	began := time.Now()
	stop, err := s.store.WatchBroadcasts(ctx, topic, fn)
	s.done(ctx, callWatchBroadcasts, began, err)
	return stop, err
}

func (s *timedStore) Publish(ctx context.Context, n backend.Notice) error {
	began := time.Now()
	err := s.store.Publish(ctx, n)
	s.done(ctx, callPublish, began, err)
	return err
}

func (s *timedStore) Listen(ctx context.Context, fn func(backend.Notice)) (func(), error) {
	began := time.Now()
	stop, err := s.store.Listen(ctx, fn)
	s.done(ctx, callListen, began, err)
	return stop, err
}

func (s *timedStore) Statuses(ctx context.Context, users ...presence.UserID) ([]backend.ChosenStatus, error) {
	began := time.Now()
	statuses, err := s.store.Statuses(ctx, users...)
	s.done(ctx, callStatuses, began, err)
	return statuses, err
}

func (s *timedStore) Secret(ctx context.Context, offer []byte) ([]byte, error) {
	began := time.Now()
	secret, err := s.store.Secret(ctx, offer)
	s.done(ctx, callSecret, began, err)
	return secret, err
}

func (s *timedStore) Hear(ctx context.Context) error {
	began := time.Now()
	err := s.store.Hear(ctx)
	s.done(ctx, callHear, began, err)
	return err
}

func (s *timedStore) Extras(ctx context.Context, topics ...presence.Topic) ([]backend.Extras, error) {
	began := time.Now()
	extras, err := s.store.Extras(ctx, topics...)
	s.done(ctx, callExtras, began, err)
	return extras, err
}

func (s *timedStore) Recent(ctx context.Context, topic presence.Topic, q backend.RecentQuery) (backend.RecentPage, error) {
	began := time.Now()
	page, err := s.store.Recent(ctx, topic, q)
	s.done(ctx, callRecent, began, err)
	showIdleRecent(page.Users)
	return page, err
}

func (s *timedStore) Remembered(ctx context.Context, topic presence.Topic, users ...presence.UserID) ([]backend.RecentUser, error) {
	began := time.Now()
	remembered, err := s.store.Remembered(ctx, topic, users...)
	s.done(ctx, callRemembered, began, err)
	showIdleRecent(remembered)
	return remembered, err
}

func showIdleRecent(users []backend.RecentUser) {
	for i := range users {
		u := &users[i]
		u.Status, u.Idle = shownIdle(u.Status, u.Idle)
	}
}

func (s *timedStore) Topics(ctx context.Context, after presence.Topic, most int) ([]presence.Topic, error) {
	began := time.Now()
	topics, err := s.store.Topics(ctx, after, most)
	s.done(ctx, callTopics, began, err)
	return topics, err
}

func (s *timedStore) Inspect(ctx context.Context, topic presence.Topic, after presence.UserID, most int) ([]backend.Inspected, error) {
	began := time.Now()
	users, err := s.store.Inspect(ctx, topic, after, most)
	s.done(ctx, callInspect, began, err)
	for i := range users {
		u := &users[i]
		u.Status, u.Idle = shownIdle(u.Status, u.Idle)
	}
	return users, err
}

// storeOut wraps an error of the store in [presence.ErrStoreOut], unless it is a more specific one.
func storeOut(err error) error {
	if err == nil || errors.Is(err, presence.ErrStoreOut) || errors.Is(err, presence.ErrLaterChoice) || errors.Is(err, presence.ErrInvalidQuery) || errors.Is(err, presence.ErrClosed) || errors.Is(err, errors.ErrUnsupported) {
		return err
	}
	return fmt.Errorf("%w: %w", presence.ErrStoreOut, err)
}
