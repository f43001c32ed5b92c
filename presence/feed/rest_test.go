package feed_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/feed"
	"github.com/rollcall-go/rollcall/presence/feed/feedtest"
	"github.com/rollcall-go/rollcall/presence/memstore"
	"github.com/rollcall-go/rollcall/presence/track"
)

// A versionedStore is a store that knows of changes.
type versionedStore struct {
	feed.Store
	version atomic.Int64
	checks  atomic.Int64 // calls of Heads
	polls   atomic.Int64 // calls of Relay that are polls
	relays  atomic.Int64 // others
}

func (s *versionedStore) DataVersion() int64 { return s.version.Load() }

func (s *versionedStore) Heads(ctx context.Context, names ...feed.Name) ([]feed.Head, error) {
	s.checks.Add(1)
	return s.Store.Heads(ctx, names...)
}

func (s *versionedStore) Relay(ctx context.Context, o feed.RelayOptions) (feed.Relayed, error) {
	if o.Poll {
		s.polls.Add(1)
	} else {
		s.relays.Add(1)
	}
	return s.Store.Relay(ctx, o)
}

// While nothing changes, nobody compares feeds with the database. A change, and a call that failed, bring one
// check.
func TestKeeperRests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := feedtest.NewMemory()
		way := feedtest.NewFaultyStore(db)
		s := &versionedStore{Store: way}
		s.version.Store(1)
		tracker, err := track.New(memstore.New(), track.Config{Node: "a"})
		if err != nil {
			t.Fatal(err)
		}
		k, err := feed.New(s, tracker, feed.Config{Check: 2 * time.Second})
		if err != nil {
			t.Fatal(err)
		}
		n := &node{tracker, k}
		defer n.close(t)
		p := follow(t, n, "alice", "inbox", "")
		p.want("at first", "state 0/0")
		time.Sleep(10 * time.Second)
		s.checks.Store(0)
		time.Sleep(time.Hour)
		if got := s.checks.Load(); got != 0 {
			t.Errorf("got %d checks in an hour without a change, want none", got)
		}

		// Another process without hints sends a message, and moves it.
		if err := db.Send(t.Context(), feed.Message{ID: "m1", To: []presence.UserID{"alice"}, Type: "reply", Text: "one"}); err != nil {
			t.Fatal(err)
		}
		if _, err := db.Relay(t.Context(), feed.RelayOptions{Most: 10}); err != nil {
			t.Fatal(err)
		}
		s.version.Add(1)
		time.Sleep(2 * time.Second)
		p.want("2 s after a change", "diff 1/1 m1:one:unread")
		time.Sleep(time.Hour)
		if got := s.checks.Load(); got != 1 {
			t.Errorf("got %d checks of one change, want 1", got)
		}

		// A call that fails says nothing of changes.
		way.Break(feedtest.Fault{Err: context.DeadlineExceeded}, feedtest.CallPage)
		_, _ = k.Page(t.Context(), "inbox:alice", 0, 10)
		way.Heal()
		time.Sleep(2 * time.Second)
		if got := s.checks.Load(); got < 2 {
			t.Error("got no check after a call had failed")
		}
	})
}

// The job only polls. Kick tells of a message, so the store looks for it.
func TestRelayPolls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &versionedStore{Store: feedtest.NewMemory()}
		tracker, err := track.New(memstore.New(), track.Config{Node: "a"})
		if err != nil {
			t.Fatal(err)
		}
		k, err := feed.New(s, tracker, feed.Config{})
		if err != nil {
			t.Fatal(err)
		}
		defer (&node{tracker, k}).close(t)
		if _, err := k.Relay(t.Context()); err != nil {
			t.Fatal(err)
		}
		if polls, relays := s.polls.Load(), s.relays.Load(); polls != 1 || relays != 0 {
			t.Errorf("the job: got %d polls and %d others, want a poll", polls, relays)
		}
		k.Kick()
		synctest.Wait()
		if polls, relays := s.polls.Load(), s.relays.Load(); polls != 1 || relays != 1 {
			t.Errorf("then Kick: got %d polls and %d others, want one of each", polls, relays)
		}
	})
}
