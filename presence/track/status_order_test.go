package track_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
	"github.com/rollcall-go/rollcall/presence/memstore"
	"github.com/rollcall-go/rollcall/presence/presencetest"
	"github.com/rollcall-go/rollcall/presence/track"
)

// These tests let writes and notices of several nodes overtake one another. Whatever their
// order, the status that was chosen last is the one that the store shows in the end, and an
// invisible user is never shown again.

// stored is the roster of a topic in the store itself, in short.
func stored(t *testing.T, store backend.Store, topic presence.Topic) string {
	t.Helper()
	s, err := store.Snapshot(t.Context(), topic)
	noError(t, err)
	text := ""
	for _, m := range s.Members {
		text += fmt.Sprintf("%s=%s ", m.ID, m.Status)
	}
	return text
}

// wantHidden fails if the store shows somebody in site within a duration.
func wantHidden(t *testing.T, store backend.Store, during time.Duration) {
	t.Helper()
	for end := time.Now().Add(during); time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
		if who := stored(t, store, presence.Site); who != "" {
			t.Fatalf("the store shows %q, want an invisible user hidden", who)
		}
	}
}

// keeps makes a store keep what a user chose, and returns the notice about it.
func keeps(t *testing.T, store backend.Store, id presence.UserID, status presence.Status) backend.Notice {
	t.Helper()
	kept, err := store.Statuses(t.Context(), id)
	noError(t, err)
	rev, err := store.PutStatus(t.Context(), id, backend.ChosenStatus{Status: status, Rev: kept[0].Rev}, false)
	noError(t, err)
	return backend.Notice{Kind: backend.NoticeSettings, User: id, Payload: fmt.Sprintf(`{"Status":%q,"Rev":%d,"Store":true}`, status, rev), Lasting: true}
}

// The store keeps a status, and its answer was lost: the sender writes nothing.
func TestSenderOfAStatusWasCutOff(t *testing.T) {
	for _, looked := range []bool{true, false} {
		bubble(t, fmt.Sprint("looked at: ", looked), func(t *testing.T) {
			memory := memstore.New()
			fa := presencetest.NewFaults(memory)
			a := start(t, fa, track.Config{Node: "a"})
			b := start(t, memory, track.Config{Node: "b"})
			b.Seen(presence.Site, user("alice"), presence.Device{})
			a.Seen("thread:1", user("bob"), presence.Device{})
			if looked {
				w := openPage(t, b, track.ConnectOptions{})
				w.settle()
			}
			time.Sleep(10 * time.Second)
			fa.Break(presencetest.Fault{Err: errors.New("context canceled"), Landed: true, Times: 1}, presencetest.CallPutStatus)
			_ = a.SetStatus(t.Context(), "alice", presence.Invisible)
			time.Sleep(20 * time.Millisecond)
			wantHidden(t, memory, 10*time.Second)
		})
	}
}

// A node that has just begun hears late what a user chose, and the store has lost that: what the node heard counts, and the store
// is told. A later choice in the store counts more.
func TestLateNoticeAndAStoreThatLostTheStatus(t *testing.T) {
	for _, later := range []presence.Status{"", presence.Away} {
		bubble(t, "later: "+string(later), func(t *testing.T) {
			memory := memstore.New()
			n := keeps(t, memstore.New(), "alice", presence.Busy)
			n.Ago = time.Minute
			want := presence.Busy
			if later != "" {
				time.Sleep(time.Second)
				keeps(t, memory, "alice", later)
				want = later
			}
			a := start(t, memory, track.Config{Node: "a"})
			noError(t, memory.Publish(t.Context(), n))
			connect(t, a, track.ConnectOptions{Visitor: visitor("alice")})
			time.Sleep(time.Second)
			if got := stored(t, memory, presence.Site); got != fmt.Sprintf("alice=%s ", want) {
				t.Errorf("the store shows %q, want %s", got, want)
			}
			if kept, err := memory.Statuses(t.Context(), "alice"); err != nil || kept[0].Status != want {
				t.Errorf("the store keeps %v, %v, want %s", kept, err, want)
			}
		})
	}
}

// A node that has just begun hears late that a user hid, and then showed again, or the other way round. The store has lost both.
func TestLateNoticesOfTwoStatuses(t *testing.T) {
	for _, last := range []presence.Status{presence.Invisible, presence.Busy} {
		bubble(t, "last: "+string(last), func(t *testing.T) {
			memory, lost := memstore.New(), memstore.New()
			first := presence.Invisible
			if last == presence.Invisible {
				first = presence.Busy
			}
			a := start(t, memory, track.Config{Node: "a"})
			w := watch(t, a)
			for i, status := range []presence.Status{first, last} {
				n := keeps(t, lost, "alice", status)
				n.Ago = time.Minute - time.Duration(i)*time.Second
				noError(t, memory.Publish(t.Context(), n))
				time.Sleep(time.Second)
			}
			connect(t, a, track.ConnectOptions{Visitor: visitor("alice")})
			time.Sleep(time.Second)
			if last == presence.Busy {
				w.want("diff +alice -")
			} else {
				w.want()
			}
			if kept, err := memory.Statuses(t.Context(), "alice"); err != nil || kept[0].Status != last {
				t.Errorf("the store keeps %v, %v, want %s", kept, err, last)
			}
		})
	}
}

// The site names a status with a page view, a second after the user chose another one.
func TestIdentifyNamesALaterStatus(t *testing.T) {
	for _, named := range []presence.Status{presence.Invisible, presence.Busy} {
		bubble(t, string(named), func(t *testing.T) {
			memory := memstore.New()
			a := start(t, memory, track.Config{Node: "a"})
			openPage(t, a, track.ConnectOptions{})
			a.Seen(presence.Site, user("alice"), presence.Device{})
			time.Sleep(10 * time.Second)
			choose(t, a, "alice", presence.Online)
			time.Sleep(time.Second)
			u := user("alice")
			u.Status = named
			a.Seen(presence.Site, u, presence.Device{})
			time.Sleep(500 * time.Millisecond)
			before := stored(t, memory, presence.Site)
			time.Sleep(10 * time.Second)
			after := stored(t, memory, presence.Site)
			if before != after {
				t.Errorf("the status changed by itself from %q to %q", before, after)
			}
		})
	}
}

// One topic of the user is refused by the store. That topic alone is affected.
func TestStatusWhereATopicIsRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		memory := memstore.New()
		a := start(t, refusingStore{memory, "broken"}, track.Config{Node: "a", Logger: slog.New(slog.DiscardHandler)})
		connect(t, a, track.ConnectOptions{Visitor: visitor("alice"), Topics: []presence.Topic{presence.Site, "broken"}})
		time.Sleep(10 * time.Second)
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		defer cancel()
		err := a.SetStatus(ctx, "alice", presence.Busy)
		if err != nil {
			t.Errorf("SetStatus: %v", err)
		}
	})
}

// A page view waits for 5.8 s in a node whose store is slow; its user turns invisible meanwhile.
func TestSlowPageViewAndInvisible(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		memory := memstore.New()
		fb := presencetest.NewFaults(memory)
		a := start(t, memory, track.Config{Node: "a"})
		b := start(t, fb, track.Config{Node: "b"})
		time.Sleep(10 * time.Second)
		b.Seen(presence.Site, user("warm"), presence.Device{})
		time.Sleep(time.Second)
		fb.Break(presencetest.Fault{Delay: 2900 * time.Millisecond}, presencetest.CallApply)
		b.SeenGuest(presence.Site, "g")
		time.Sleep(10 * time.Millisecond)
		b.Seen(presence.Site, user("alice"), presence.Device{})
		time.Sleep(5500 * time.Millisecond)
		choose(t, a, "alice", presence.Invisible)
		time.Sleep(4 * time.Second)
		for range 60 {
			if who := stored(t, memory, presence.Site); who != "warm=online " {
				t.Fatalf("the store shows %q, want an invisible user hidden", who)
			}
			time.Sleep(time.Second)
		}
	})
}

// A chaoticBus delivers notices of a kind late to one listener, each with a delay of its own: so
// each node may hear them in another order.
type chaoticBus struct {
	backend.Store
	delays []time.Duration // of the next notices of statuses
}

func (b *chaoticBus) Listen(ctx context.Context, fn func(backend.Notice)) (func(), error) {
	return b.Store.Listen(ctx, func(n backend.Notice) {
		if n.Kind == backend.NoticeSettings && len(b.delays) > 0 {
			delay := b.delays[0]
			b.delays = b.delays[1:]
			time.AfterFunc(delay, func() { fn(n) })
			return
		}
		fn(n)
	})
}

// Two statuses are set at two nodes, and the nodes hear of them in different orders.
func TestNodesHearStatusesInAnyOrder(t *testing.T) {
	for _, ago := range []time.Duration{0, 5 * time.Second} {
		bubble(t, fmt.Sprint("told again after ", ago), func(t *testing.T) {
			memory := memstore.New()
			bus := &chaoticBus{Store: memory, delays: []time.Duration{300 * time.Millisecond, 100 * time.Millisecond}}
			a := start(t, memory, track.Config{Node: "a"})
			b := start(t, memory, track.Config{Node: "b"})
			c := start(t, bus, track.Config{Node: "c"})
			connect(t, c, track.ConnectOptions{Visitor: visitor("alice")})
			openPage(t, c, track.ConnectOptions{})
			time.Sleep(10 * time.Second)
			noError(t, a.SetStatus(t.Context(), "alice", presence.Invisible))
			noError(t, b.SetStatus(t.Context(), "alice", presence.Busy))
			time.Sleep(ago)
			if ago > 0 { // the nodes tell what they know, and one of them has missed a choice
				a.Hear(backend.Notice{Missed: time.Second})
				c.Hear(backend.Notice{Missed: time.Second})
			}
			time.Sleep(20 * time.Second)
			wantChosen(t, memory, presence.Busy, a, b, c)
		})
	}
}

// wantChosen fails unless the store, its roster and the nodes have one status of alice.
func wantChosen(t *testing.T, store backend.Store, want presence.Status, nodes ...*track.Tracker) {
	t.Helper()
	for _, at := range nodes {
		if got := at.Status("alice"); got != want {
			t.Errorf("node %s has %q, want %q", at.Config().Node, got, want)
		}
	}
	kept, err := store.Statuses(t.Context(), "alice")
	noError(t, err)
	if kept[0].Status != want {
		t.Errorf("the store keeps %q, want %q", kept[0].Status, want)
	}
	if got := stored(t, store, presence.Site); got != "alice="+string(want)+" " {
		t.Errorf("the store shows %q, want %q", got, want)
	}
}

// The store keeps a status, and takes no notice: the user is told that it failed, and the other nodes hear of it later.
func TestStatusThatIsToldLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		memory := memstore.New()
		faults := presencetest.NewFaults(memory)
		a, b := start(t, faults, track.Config{Node: "a"}), start(t, memory, track.Config{Node: "b"})
		connect(t, b, track.ConnectOptions{Visitor: visitor("alice")})
		faults.Break(presencetest.Fault{Err: errDown}, presencetest.CallPublish)
		if err := a.SetStatus(t.Context(), "alice", presence.Busy); !errors.Is(err, presence.ErrStoreOut) {
			t.Errorf("got %v, want ErrStoreOut", err)
		}
		faults.Heal()
		time.Sleep(10 * time.Second)
		wantChosen(t, memory, presence.Busy, a, b)
	})
}

// The revisions of a store and of a Directory do not compare, so a node asks its own about a notice of the other kind.
func TestStatusOfANodeWithoutADirectory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		memory := memstore.New()
		a := start(t, memory, track.Config{Node: "a", Directory: presencetest.NewMemoryDirectory()})
		connect(t, a, track.ConnectOptions{Visitor: visitor("alice")})
		choose(t, a, "alice", presence.Busy)
		noError(t, memory.Publish(t.Context(), keeps(t, memory, "alice", presence.Away)))
		time.Sleep(time.Second)
		if got := a.Status("alice"); got != presence.Busy {
			t.Errorf("got %q, want that of the Directory", got)
		}
	})
}

// A's call to set a status hangs until its user gives up and sets another one at B. The store
// takes A's call after that.
func TestStatusThatArrivesAfterALaterOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		memory := memstore.New()
		hung := &hungBus{Store: memory, goOn: make(chan struct{})}
		a := start(t, hung, track.Config{Node: "a"})
		b := start(t, memory, track.Config{Node: "b"})
		connect(t, a, track.ConnectOptions{Visitor: visitor("alice")})
		time.Sleep(10 * time.Second)
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		if err := a.SetStatus(ctx, "alice", presence.Invisible); !errors.Is(err, presence.ErrStoreOut) {
			t.Errorf("got %v, want ErrStoreOut", err)
		}
		noError(t, b.SetStatus(t.Context(), "alice", presence.Busy))
		close(hung.goOn)
		time.Sleep(10 * time.Second)
		wantChosen(t, memory, presence.Busy, a, b)
	})
}

// A hungBus keeps a status once it goes on, also for those who have given up.
type hungBus struct {
	backend.Store
	goOn chan struct{}
}

func (s *hungBus) PutStatus(ctx context.Context, user presence.UserID, c backend.ChosenStatus, again bool) (int64, error) {
	go func() {
		<-s.goOn
		_, _ = s.Store.PutStatus(context.Background(), user, c, again)
	}()
	<-ctx.Done()
	return 0, ctx.Err()
}
