package track_test

import (
	"context"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
	"github.com/rollcall-go/rollcall/presence/deliver"
	"github.com/rollcall-go/rollcall/presence/memstore"
	"github.com/rollcall-go/rollcall/presence/presencetest"
	"github.com/rollcall-go/rollcall/presence/track"
)

// turn writes a status to the store, as a tracker with a Directory does.
func turn(t *testing.T, store backend.Store, name string, status presence.Status) {
	t.Helper()
	store.Apply(t.Context(), []backend.Batch{{Topic: presence.Site, Ops: []backend.Op{
		{Kind: backend.OpUpdate, User: presence.User{ID: presence.UserID(name), Status: status}},
	}}})
	time.Sleep(100 * time.Millisecond)
}

// leaves returns the leaves in the events that a connection has now, as JSON.
func leaves(conn *track.Connection) (all []string) {
	for _, ev := range conn.Events(nil) {
		if _, after, ok := strings.Cut(string(ev.Data), `"leaves":`); ok && ev.Type == presence.EventDiff {
			all = append(all, strings.TrimSuffix(after, "}"))
		}
	}
	return all
}

// Rule 5: readers are not told that a user turns unseen, and the leave of such a user has no
// last seen: not as it happens, not for a reader who resumes, and not for Go programs.
func TestUnseenLeaves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memstore.New()
		tracker := start(t, store, track.Config{})
		watch := connect(t, tracker, track.ConnectOptions{})
		carol := connect(t, tracker, track.ConnectOptions{Visitor: visitor("carol")})
		dave := connect(t, tracker, track.ConnectOptions{Visitor: visitor("dave")})
		time.Sleep(time.Second)
		watch.Events(nil)
		view, err := tracker.View(t.Context(), presence.Site)
		noError(t, err)
		var told []backend.Departure
		go func() {
			for c, err := range tracker.Changes(t.Context(), presence.Site, view.Cursor) {
				if err == nil {
					told = append(told, c.Leaves...)
				}
			}
		}()

		turn(t, store, "carol", "online-")
		if got := watch.Events(nil); len(got) > 0 {
			t.Errorf("carol turned unseen: got %s, want no event", got[0].Data)
		}
		turn(t, store, "dave", "busy-")
		turn(t, store, "dave", "busy")
		watch.Events(nil)
		carol.Drop()
		time.Sleep(time.Second)
		if got := strings.Join(leaves(watch), " "); got != `{"carol":{}}` {
			t.Errorf("got leaves %s, want carol without last seen", got)
		}
		dave.Drop()
		time.Sleep(time.Second)
		if got := strings.Join(leaves(watch), " "); !strings.HasPrefix(got, `{"dave":{"last_seen":"2`) {
			t.Errorf("got leaves %s, want dave with last seen", got)
		}
		resumed := connect(t, tracker, track.ConnectOptions{Cursor: view.Cursor})
		if got := strings.Join(leaves(resumed), " "); !strings.HasPrefix(got, `{"carol":{},"dave":{"last_seen":"2`) {
			t.Errorf("resumed: got leaves %s, want carol without last seen, dave with it", got)
		}
		synctest.Wait()
		if len(told) != 2 || !told[0].LastSeen.IsZero() || told[1].LastSeen.IsZero() {
			t.Errorf("got changes with the leaves %+v, want carol without last seen, dave with it", told)
		}
	})
}

// An unseen user turns idle and back as any other, and stays unseen.
func TestUnseenIdle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memstore.New()
		tracker := start(t, store, track.Config{})
		carol := connect(t, tracker, track.ConnectOptions{Visitor: visitor("carol")})
		time.Sleep(time.Second)
		turn(t, store, "carol", "online-")
		for _, step := range []struct {
			idle        bool
			want, shown presence.Status
		}{{true, "idle-", presence.Away}, {false, "online-", presence.Online}} {
			for range 3 {
				tracker.Beat(t.Context(), carol.Token(), visitor("carol"), idlePage(step.idle))
				time.Sleep(10 * time.Second)
			}
			view, err := tracker.View(t.Context(), presence.Site)
			noError(t, err)
			if m, _ := view.Member("carol"); m.Status != step.want || m.Status.Shown() != step.shown {
				t.Errorf("idle %v: got status %q, shown as %q, want %q, %q", step.idle, m.Status, m.Status.Shown(), step.want, step.shown)
			}
		}
	})
}

// A consumer is told of an unseen user's leave without last seen: also by the node that took
// over, and where the store announced no leave.
func TestUnseenDeliveries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lossy := &lossyStore{Store: memstore.New()}
		a, b := start(t, lossy, quiet), start(t, lossy, quiet)
		p := &program{t: t}
		stop := p.deliver("a", a, deliver.Options{})
		apply := func(kind backend.OpKind, name string) {
			length := time.Hour
			if kind == backend.OpRelease {
				length = 0
			}
			lossy.Apply(t.Context(), []backend.Batch{{Topic: presence.Site, Ops: []backend.Op{
				{Kind: kind, User: user(name), Holder: "x.1", For: length},
			}}})
		}
		for _, name := range []string{"carol", "lost", "seen"} {
			apply(backend.OpJoin, name)
			time.Sleep(time.Second)
		}
		p.want(begins, "+carol +lost +seen")
		for _, name := range []string{"carol", "lost", "seen"} {
			turn(t, lossy, name, "online-")
		}
		turn(t, lossy, "seen", "online")
		p.deliver("b", b, deliver.Options{})
		time.Sleep(time.Second)
		stop()
		time.Sleep(begins)
		apply(backend.OpRelease, "carol")
		p.want(time.Second, "_carol")
		apply(backend.OpRelease, "seen")
		p.want(time.Second, "-seen")
		lossy.lost.Store(true)
		p.want(time.Minute, "! _lost")
	})
}

// A failover that lost the leave of an unseen user brings the user back no more than another.
func TestUnseenAfterAFailover(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newLaggingStore()
		tracker := start(t, store, track.Config{})
		w := watch(t, tracker)
		for _, name := range []string{"carol", "dave"} {
			store.Apply(t.Context(), []backend.Batch{{Topic: presence.Site, Ops: []backend.Op{
				{Kind: backend.OpJoin, User: user(name), Holder: "x.1", For: 40 * time.Second},
				{Kind: backend.OpUpdate, User: presence.User{ID: presence.UserID(name), Status: "online-"}},
			}}})
		}
		time.Sleep(time.Second)
		w.want("diff +carol -", "diff +dave -")
		store.lag()
		store.Apply(t.Context(), []backend.Batch{{Topic: presence.Site, Ops: []backend.Op{
			{Kind: backend.OpRelease, User: user("carol"), Holder: "x.1"},
		}}})
		w.want("diff + -carol")
		store.failover()
		time.Sleep(5 * time.Second)
		w.want("diff + -") // another version, and nobody left or came
	})
}

// Where the site has a Directory, a leave that a node finds by comparing rosters has no last
// seen: the user may have turned unseen meanwhile.
func TestLeaveWithoutADiff(t *testing.T) {
	for _, with := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			var cfg track.Config
			want := `"last_seen":"2`
			if with {
				cfg.Directory = presencetest.NewMemoryDirectory()
				want = `"carol":{}`
			}
			store := newSwapStore()
			tracker := start(t, store, cfg)
			watch := connect(t, tracker, track.ConnectOptions{})
			store.Apply(t.Context(), []backend.Batch{{Topic: presence.Site, Ops: []backend.Op{
				{Kind: backend.OpJoin, User: user("carol"), Holder: "x.1", For: time.Hour},
			}}})
			time.Sleep(time.Second)
			watch.Events(nil)
			store.wipe()
			time.Sleep(2 * time.Minute)
			if got := strings.Join(leaves(watch), " "); !strings.Contains(got, "carol") || !strings.Contains(got, want) {
				t.Errorf("with a Directory: %v: got leaves %q, want carol with %s", with, got, want)
			}
		})
	}
}

// lossyStore is a store that has lost the user "lost".
type lossyStore struct {
	*memstore.Store
	lost atomic.Bool
}

func (s *lossyStore) Snapshot(ctx context.Context, topic presence.Topic) (backend.Snapshot, error) {
	snap, err := s.Store.Snapshot(ctx, topic)
	snap.Members = slices.DeleteFunc(snap.Members, func(m presence.Member) bool { return m.ID == "lost" && s.lost.Load() })
	return snap, err
}

func (s *lossyStore) Counts(ctx context.Context, topics ...presence.Topic) ([]backend.Counts, error) {
	counts, err := s.Store.Counts(ctx, topics...)
	if s.lost.Load() {
		counts[0].Total--
	}
	return counts, err
}
