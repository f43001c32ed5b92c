package track_test

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
	"github.com/rollcall-go/rollcall/presence/memstore"
	"github.com/rollcall-go/rollcall/presence/track"
)

// refusingStore refuses what one topic is sent, as a server does where a key of the
// topic is of another kind.
type refusingStore struct {
	backend.Store
	topic presence.Topic
}

func (s refusingStore) Apply(ctx context.Context, batches []backend.Batch) []backend.Result {
	results := s.Store.Apply(ctx, batches)
	for i, b := range batches {
		if b.Topic == s.topic {
			results[i] = backend.Result{Err: fmt.Errorf("%w: WRONGTYPE", presence.ErrRefused)}
		}
	}
	return results
}

// What the store refuses of one topic is no outage: other topics go on, it is given up
// after some tries, counted, and logged once a minute.
func TestRefusedTopic(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log strings.Builder
		a := start(t, refusingStore{memstore.New(), "broken"}, track.Config{Logger: slog.New(slog.NewTextHandler(&log, nil))})
		w := watch(t, a)
		for i := range 10 {
			a.Seen("broken", user(fmt.Sprint("u", i)), presence.Device{})
			a.Seen(presence.Site, user(fmt.Sprint("u", i)), presence.Device{})
			w.want(fmt.Sprintf("diff +u%d -", i))
		}
		time.Sleep(5 * time.Second)
		if s := a.Stats(); s.StoreOut || s.Rejected != 10 || s.Pending != 0 {
			t.Errorf("got store out %v, %d rejected and %d pending, want false, 10 and 0", s.StoreOut, s.Rejected, s.Pending)
		}
		if n := strings.Count(log.String(), "\n"); n != 1 || !strings.Contains(log.String(), "topic=broken") {
			t.Errorf("got log %q, want one line that names the topic", log.String())
		}
	})
}

// halfStore has lost some of a topic's keys: its log tells of users whom its roster
// lacks.
type halfStore struct{ backend.Store }

func (s halfStore) Snapshot(ctx context.Context, topic presence.Topic) (backend.Snapshot, error) {
	snap, err := s.Store.Snapshot(ctx, topic)
	snap.Members = nil
	return snap, err
}

// A reader who comes back to such a topic gets a state, and the node goes on.
func TestRosterThatDisagreesWithItsLog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		memory := memstore.New()
		a := start(t, memory, track.Config{Node: "a"})
		w := watch(t, a)
		cursors := []presence.Cursor{w.conn.Cursor()}
		for _, id := range []string{"alice", "bob"} {
			connect(t, a, track.ConnectOptions{Visitor: visitor(id)})
			w.skip()
			cursors = append(cursors, w.conn.Cursor())
		}
		b := start(t, halfStore{memory}, track.Config{Node: "b"})
		for _, cursor := range cursors {
			if got := resumes(t, b, cursor); got != presence.EventState && got != presence.EventHeartbeat {
				t.Errorf("from %q: got %q, want a state, or a heartbeat where nothing was missed", cursor, got)
			}
		}
		if _, err := b.View(t.Context(), presence.Site); err != nil {
			t.Errorf("afterwards: %v", err)
		}
	})
}

// headlessStore lost the id of its latest diff once: the next one says that it goes on
// from Origin, though people are there.
type headlessStore struct {
	backend.Store
	broken presence.DiffID // of which that is said
}

func (s *headlessStore) mend(d backend.Diff) backend.Diff {
	if len(d.Leaves) > 0 && s.broken == "" {
		s.broken = d.ID
	}
	if d.ID == s.broken {
		d.Prev = backend.Origin
	}
	return d
}

func (s *headlessStore) Watch(ctx context.Context, topic presence.Topic, w backend.Watcher) (func(), error) {
	told := w.Diff
	w.Diff = func(d backend.Diff) { told(s.mend(d)) }
	return s.Store.Watch(ctx, topic, w)
}

func (s *headlessStore) Log(ctx context.Context, topic presence.Topic, after presence.DiffID) ([]backend.Diff, error) {
	diffs, err := s.Store.Log(ctx, topic, after)
	for i := range diffs {
		diffs[i] = s.mend(diffs[i])
	}
	return diffs, err
}

// A log that does not go on from itself is a lost version: the roster is read anew.
func TestLogThatDoesNotGoOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := start(t, &headlessStore{Store: memstore.New()}, track.Config{})
		w := watch(t, a)
		alice := connect(t, a, track.ConnectOptions{Visitor: visitor("alice")})
		connect(t, a, track.ConnectOptions{Visitor: visitor("bob")})
		w.skip()
		alice.Drop()
		time.Sleep(30 * time.Second)
		w.read()
		if roster := w.roster["site"]; roster["alice"] != "" || roster["bob"] == "" {
			t.Errorf("got roster %v, want bob alone", roster)
		}
	})
}

// forgetfulStore loses users of whom its log knows nothing more, or cannot tell a
// topic's figures.
type forgetfulStore struct {
	backend.Store
	mu      sync.Mutex
	lost    presence.UserID
	unknown presence.Topic
}

func (s *forgetfulStore) lose(user presence.UserID, unknown presence.Topic) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lost, s.unknown = user, unknown
}

func (s *forgetfulStore) Snapshot(ctx context.Context, topic presence.Topic) (backend.Snapshot, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	snap, err := s.Store.Snapshot(ctx, topic)
	snap.Members = slices.DeleteFunc(snap.Members, func(m presence.Member) bool { return m.ID == s.lost })
	return snap, err
}

func (s *forgetfulStore) Counts(ctx context.Context, topics ...presence.Topic) ([]backend.Counts, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	counts, err := s.Store.Counts(ctx, topics...)
	for i, topic := range topics {
		if topic == s.unknown {
			counts[i] = backend.Counts{Unknown: true}
		} else if snap, _ := s.Store.Snapshot(ctx, topic); slices.ContainsFunc(snap.Members, func(m presence.Member) bool { return m.ID == s.lost }) {
			counts[i].Total--
		}
	}
	return counts, err
}

// A store that lost a user, and tells no diff of it, is found out by its total: the
// user goes from the rosters, here after the time in which other nodes might put the
// user back.
func TestTotalThatDiffers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		memory := memstore.New()
		store := &forgetfulStore{Store: memory}
		a := start(t, store, track.Config{})
		w := watch(t, a)
		connect(t, a, track.ConnectOptions{Visitor: visitor("bob")})
		elsewhere := backend.Op{Kind: backend.OpJoin, User: user("alice"), Holder: "x.1", For: time.Hour}
		memory.Apply(t.Context(), []backend.Batch{{Topic: presence.Site, Ops: []backend.Op{elsewhere}}})
		w.skip()
		store.lose("alice", "")
		time.Sleep(30 * time.Second)
		w.read()
		if roster := w.roster["site"]; roster["alice"] != "" || roster["bob"] == "" {
			t.Errorf("got roster %v, want bob alone", roster)
		}
	})
}

// A topic whose figures the store cannot tell is stale. The others are not, and the
// store is not out.
func TestFiguresThatAreUnknown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &forgetfulStore{Store: memstore.New()}
		a := start(t, store, track.Config{})
		connect(t, a, track.ConnectOptions{Topics: []presence.Topic{presence.Site, "broken"}})
		store.lose("", "broken")
		time.Sleep(2 * time.Second)
		broken, err := a.View(t.Context(), "broken")
		if err != nil || !broken.Stale || view(t, a).Stale || a.Stats().StoreOut {
			t.Errorf("got stale %v, %v of site, store out %v, error %v; want the broken topic stale alone", broken.Stale, view(t, a).Stale, a.Stats().StoreOut, err)
		}
		store.lose("", "")
		time.Sleep(2 * time.Second)
		if broken, _ = a.View(t.Context(), "broken"); broken.Stale {
			t.Error("the topic stays stale once its figures are known again")
		}
	})
}
