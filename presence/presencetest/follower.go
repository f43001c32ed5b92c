package presencetest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
)

// A follower follows a topic in two ways: it reads the log, which is complete once a step
// is done (rule 2), and it keeps the diffs that Watch delivers. In the end it compares the
// two, so that no test depends on when a diff arrives.
type follower struct {
	store  backend.Store
	topic  presence.Topic
	roster *roster
	began  presence.DiffID // where it started

	mu        sync.Mutex
	delivered []backend.Diff // not compared yet
	expected  []backend.Diff // read from the log, and not compared yet
}

// follow starts at the topic's present version, and ends with t. It watches at the peer, if
// the harness has one, which does not make the diffs.
func follow(t *testing.T, store, peer backend.Store, topic presence.Topic) (*follower, error) {
	f := &follower{store: store, topic: topic}
	stop, err := peer.Watch(t.Context(), topic, backend.Watcher{Diff: func(d backend.Diff) {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.delivered = append(f.delivered, d)
	}})
	if err != nil {
		return nil, fmt.Errorf("watch: %w", err)
	}
	t.Cleanup(stop)
	if f.roster, err = read(t.Context(), store, topic); err == nil {
		f.mu.Lock()
		f.began = f.roster.id
		f.mu.Unlock()
	}
	return f, err
}

// read takes a snapshot.
func read(ctx context.Context, store backend.Store, topic presence.Topic) (*roster, error) {
	s, err := store.Snapshot(ctx, topic)
	if err != nil {
		return nil, fmt.Errorf("snapshot: %w", err)
	}
	return newRoster(s)
}

// news returns the diffs that the log got since the last call.
func (f *follower) news(ctx context.Context) ([]backend.Diff, error) {
	diffs, err := advance(ctx, f.store, f.topic, f.roster)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.expected = append(f.expected, diffs...)
	f.compare()
	return diffs, err
}

// advance brings a roster to the topic's present version, by the log.
func advance(ctx context.Context, store backend.Store, topic presence.Topic, r *roster) ([]backend.Diff, error) {
	diffs, err := store.Log(ctx, topic, r.id)
	if errors.Is(err, presence.ErrGap) && len(r.members) == 0 {
		// A topic that was empty may have been forgotten: it starts again.
		r.id = backend.Origin
		diffs, err = store.Log(ctx, topic, r.id)
	}
	if errors.Is(err, presence.ErrGap) {
		return nil, fmt.Errorf("%w %q", errForgot, r.id)
	}
	if err != nil {
		return nil, fmt.Errorf("log: %w", err)
	}
	for _, d := range diffs {
		if err := r.apply(d); err != nil {
			return nil, err
		}
	}
	return diffs, nil
}

// compare removes diffs that were both logged and delivered. Diffs made just before the
// watch began may be delivered too. The caller holds mu.
func (f *follower) compare() {
	before := slices.IndexFunc(f.delivered, func(d backend.Diff) bool { return d.ID == f.began })
	f.delivered = slices.Delete(f.delivered, 0, before+1)
	n := 0
	for n < min(len(f.delivered), len(f.expected)) && sameDiff(f.delivered[n], f.expected[n]) {
		n++
	}
	f.delivered = slices.Delete(f.delivered, 0, n)
	f.expected = slices.Delete(f.expected, 0, n)
}

// sameDiff compares two copies of a diff. The order of the users in it may differ.
func sameDiff(a, b backend.Diff) bool {
	return a.ID == b.ID && a.Prev == b.Prev && a.Total == b.Total &&
		sameUsers(a.Joins, b.Joins, memberID, sameMember) &&
		sameUsers(a.Updates, b.Updates, memberID, sameMember) &&
		sameUsers(a.Leaves, b.Leaves, departureID, func(a, b backend.Departure) bool {
			return a.ID == b.ID && sameTime(a.LastSeen, b.LastSeen)
		})
}

func sameUsers[T any](a, b []T, id func(T) presence.UserID, same func(a, b T) bool) bool {
	byID := func(x, y T) int { return cmp.Compare(id(x), id(y)) }
	return slices.EqualFunc(slices.SortedFunc(slices.Values(a), byID), slices.SortedFunc(slices.Values(b), byID), same)
}

func memberID(m presence.Member) presence.UserID      { return m.ID }
func departureID(d backend.Departure) presence.UserID { return d.ID }

// finish reads the log to the end. It returns an error unless the roster is the store's and
// every diff was delivered once, in order.
func (f *follower) finish(ctx context.Context) error {
	want, err := read(ctx, f.store, f.topic)
	if err != nil {
		return err
	}
	if _, err := f.news(ctx); err != nil {
		return err
	}
	if err := f.roster.equal(want); err != nil {
		return fmt.Errorf("by the diffs, %w, as the snapshot says", err)
	}
	if soon(f.caughtUp) {
		return nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	return fmt.Errorf("watch delivered %v, want %v, as the log says (rule 2)", ids(f.delivered), ids(f.expected))
}

func (f *follower) caughtUp() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.compare()
	return len(f.delivered) == 0 && len(f.expected) == 0
}

func ids(diffs []backend.Diff) []presence.DiffID {
	var list []presence.DiffID
	for _, d := range diffs {
		list = append(list, d.ID)
	}
	return list
}

// patience is how long the kit waits for a delivery that should come at once.
const patience = 20 * time.Second

// soon waits until a condition holds, and reports whether it does in time.
func soon(ok func() bool) bool {
	end := time.Now().Add(patience)
	for pause := time.Millisecond; !ok(); pause = min(2*pause, 100*time.Millisecond) {
		if time.Now().After(end) {
			return false
		}
		time.Sleep(pause)
	}
	return true
}
