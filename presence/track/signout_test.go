package track_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
	"github.com/rollcall-go/rollcall/presence/memstore"
	"github.com/rollcall-go/rollcall/presence/presencetest"
	"github.com/rollcall-go/rollcall/presence/track"
)

// A sign-out ends page views in every topic, on whichever node they were.
func TestSignOutEndsPageViewsOfAllTopics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memstore.New()
		a, b := pair(t, store)
		w := openPage(t, a, track.ConnectOptions{Topics: []presence.Topic{"members", "shop"}})
		a.Seen("members", user("alice"), presence.Device{})
		b.Seen("shop", user("alice"), presence.Device{})
		w.skip()
		choose(t, b, "alice", presence.Busy) // shown there too
		w.want("diff +alice -", "diff +alice -")
		noError(t, a.SignOut(t.Context(), "alice"))
		w.want("diff + -alice", "diff + -alice")
	})
}

// deafStore is a node's view of a store, whose notices can be kept from it.
type deafStore struct {
	backend.Store
	mu   sync.Mutex
	deaf bool
	kept []backend.Notice
	fn   func(backend.Notice)
	next backend.Store // takes what is told, once the first store is lost
}

func (s *deafStore) now() backend.Store {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.next != nil {
		return s.next
	}
	return s.Store
}

func (s *deafStore) Publish(ctx context.Context, n backend.Notice) error {
	return s.now().Publish(ctx, n)
}

func (s *deafStore) Statuses(ctx context.Context, users ...presence.UserID) ([]backend.ChosenStatus, error) {
	return s.now().Statuses(ctx, users...)
}

func (s *deafStore) PutStatus(ctx context.Context, user presence.UserID, c backend.ChosenStatus, again bool) (int64, error) {
	return s.now().PutStatus(ctx, user, c, again)
}

func (s *deafStore) lose(next backend.Store) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.next = next
}

func (s *deafStore) Listen(ctx context.Context, fn func(backend.Notice)) (func(), error) {
	s.fn = fn
	return s.Store.Listen(ctx, func(n backend.Notice) {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.deaf {
			s.kept = append(s.kept, n)
			return
		}
		fn(n)
	})
}

func (s *deafStore) setDeaf(deaf bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.deaf = deaf
}

// Hear gives what was kept, as a store does that reads its log.
func (s *deafStore) Hear(context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, n := range s.kept {
		s.fn(n)
	}
	s.kept = nil
	return nil
}

// A lease that a sign-out ended is not made again by the node that did not hear of
// it yet: it hears all notices first.
func TestSignedOutLeaseIsNotMadeAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		memory := memstore.New()
		deaf := &deafStore{Store: memory}
		a := start(t, memory, track.Config{Node: "a"})
		b := start(t, deaf, track.Config{Node: "b"})
		w := watch(t, a)
		c := connect(t, b, track.ConnectOptions{Visitor: visitor("alice")})
		w.want("diff +alice -")
		deaf.setDeaf(true)
		noError(t, a.SignOut(t.Context(), "alice"))
		w.want("diff + -alice")
		time.Sleep(2 * time.Minute) // a heartbeat
		w.want()
		if err := c.Err(); !errors.Is(err, presence.ErrSignedOut) {
			t.Errorf("got %v, want the connection ended by the sign-out", err)
		}
	})
}

// A node that may have missed a sign-out ends the streams of users, so that they are
// identified again. If it missed a moment only, the others tell it again.
func TestMissedNotices(t *testing.T) {
	for _, missed := range []time.Duration{2 * time.Second, 20 * time.Minute} {
		synctest.Test(t, func(t *testing.T) {
			deaf := &deafStore{Store: memstore.New()}
			b := start(t, deaf, track.Config{Node: "b"})
			w := openPage(t, b, track.ConnectOptions{})
			c := connect(t, b, track.ConnectOptions{Visitor: visitor("alice")})
			w.skip()
			deaf.fn(backend.Notice{Missed: missed})
			synctest.Wait()
			if long := missed > time.Minute; errors.Is(c.Err(), presence.ErrStale) != long || w.conn.Err() != nil {
				t.Errorf("missed %v: got %v of the user and %v of the guest, want ErrStale only for the user, after long", missed, c.Err(), w.conn.Err())
			}
			w.want() // the grace holds
		})
	}
}

// A node that may have missed sign-outs still ends the page views that it wrote, when it hears of the next one. No other
// node knows of a view of a topic that nobody reads. The node writes no such view again, where the store has lost it.
func TestSignOutAfterMissedNoticesEndsPageViews(t *testing.T) {
	for _, lost := range []bool{false, true} {
		bubble(t, fmt.Sprint("lost: ", lost), func(t *testing.T) {
			memory := memstore.New()
			deaf := &deafStore{Store: memory}
			a, b := start(t, deaf, track.Config{Node: "a"}), start(t, memory, track.Config{Node: "b"})
			a.Seen("thread:1", user("alice"), presence.Device{})
			time.Sleep(time.Second)
			if got := stored(t, memory, "thread:1"); got != "alice=online " {
				t.Fatalf("got %q before, want alice", got)
			}
			deaf.fn(backend.Notice{Missed: 2 * time.Minute})
			if lost {
				ends := []backend.Op{{Kind: backend.OpSignOut, User: user("alice")}}
				noError(t, memory.Apply(t.Context(), []backend.Batch{{Topic: "thread:1", Ops: ends}})[0].Err)
				deaf.fn(backend.Notice{Missed: time.Second})
			} else {
				noError(t, b.SignOut(t.Context(), "alice"))
			}
			time.Sleep(10 * time.Second)
			if got := stored(t, memory, "thread:1"); got != "" {
				t.Errorf("got %q, want nobody", got)
			}
		})
	}
}

// A node may have missed that a user's session on a tablet ended. The page view on the tablet no longer counts. So the view
// of the same topic on a laptop ends with the laptop's session.
func TestEndedSessionAfterMissedNotices(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		memory, directory := memstore.New(), presencetest.NewMemoryDirectory()
		deaf := &deafStore{Store: memory}
		a := start(t, deaf, track.Config{Node: "a", Directory: directory})
		b := start(t, memory, track.Config{Node: "b", Directory: directory})
		connect(t, b, track.ConnectOptions{Visitor: on("alice", "phone"), Topics: []presence.Topic{"thread:2"}})
		a.Seen("thread:1", user("alice"), on("alice", "tablet").Device)
		time.Sleep(2 * time.Second)
		deaf.fn(backend.Notice{Missed: 2 * time.Minute})
		time.Sleep(15 * time.Second)
		a.Seen("thread:1", user("alice"), on("alice", "laptop").Device)
		time.Sleep(2 * time.Second)
		if got := stored(t, memory, "thread:1"); got != "alice=online " {
			t.Fatalf("got %q before, want alice", got)
		}
		noError(t, b.People().EndSession(t.Context(), "alice", "laptop"))
		time.Sleep(3 * time.Second)
		if got := stored(t, memory, "thread:1"); got != "" {
			t.Errorf("got %q, want nobody", got)
		}
	})
}

// Statuses that a node knows come back to a store that lost them.
func TestChoicesAreToldAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		deaf := &deafStore{Store: memstore.New()}
		b := start(t, deaf, track.Config{Node: "b"})
		choose(t, b, "alice", presence.Invisible)
		time.Sleep(time.Hour)
		other := memstore.New()
		choose(t, b, "bob", presence.Away)
		time.Sleep(time.Minute)
		keeps(t, other, "bob", presence.Busy)
		deaf.lose(other)
		deaf.fn(backend.Notice{Missed: 2 * time.Second})
		time.Sleep(time.Second)
		got, err := other.Statuses(t.Context(), "alice", "bob")
		if err != nil || got[0].Status != presence.Invisible || got[1].Status != presence.Busy {
			t.Errorf("got %q and error %v, want invisible, and the later busy", got, err)
		}
	})
}

// A store that lost the choices and does not take them for a while gets them as soon as it does.
func TestChoicesAreToldUntilTheStoreTakesThem(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		deaf := &deafStore{Store: memstore.New()}
		way := presencetest.NewFaults(deaf)
		b := start(t, way, track.Config{Node: "b"})
		choose(t, b, "alice", presence.Invisible)
		time.Sleep(time.Hour)
		way.Break(presencetest.Fault{Err: presence.ErrStoreOut}, presencetest.CallPutStatus)
		other := memstore.New()
		deaf.lose(other)
		deaf.fn(backend.Notice{Missed: 2 * time.Second})
		time.Sleep(time.Minute)
		way.Heal()
		time.Sleep(10 * time.Second)
		if got, err := other.Statuses(t.Context(), "alice"); err != nil || got[0].Status != presence.Invisible {
			t.Errorf("got %q and error %v, want invisible", got, err)
		}
	})
}

// A choice of which a node knows only from the store is told again too, and holds
// meanwhile: nobody who is invisible is announced because the store was wiped.
func TestChoiceLearntFromTheStoreOutlivesIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		memory := memstore.New()
		keeps(t, memory, "alice", presence.Invisible)
		deaf := &deafStore{Store: memory}
		b := start(t, deaf, track.Config{Node: "b"})
		w := openPage(t, b, track.ConnectOptions{})
		connect(t, b, track.ConnectOptions{Visitor: visitor("alice")})
		w.want("state ")
		other := memstore.New()
		deaf.lose(other)
		deaf.fn(backend.Notice{Missed: 2 * time.Second})
		b.Seen(presence.Site, user("alice"), presence.Device{})
		b.Seen(presence.Site, user("bob"), presence.Device{}) // who chose nothing
		time.Sleep(30 * time.Second)
		w.want("diff +bob -")
		if got, err := other.Statuses(t.Context(), "alice"); err != nil || got[0].Status != presence.Invisible {
			t.Errorf("got %q and error %v, want invisible in the new store", got, err)
		}
	})
}

// A node that does not hear notices yet makes no lease again: it may not know of a
// sign-out.
func TestNoLeaseIsMadeAgainBeforeListening(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		memory := memstore.New()
		faults := presencetest.NewFaults(memory)
		faults.Break(presencetest.Fault{Err: errDown}, presencetest.CallListen)
		b := start(t, faults, track.Config{Node: "b"})
		w := openPage(t, start(t, memory, track.Config{Node: "a"}), track.ConnectOptions{})
		w.want("state ")
		connect(t, b, track.ConnectOptions{Visitor: visitor("alice")})
		w.want("diff +alice -")
		ended := backend.Op{Kind: backend.OpSignOut, User: user("alice")}
		memory.Apply(t.Context(), []backend.Batch{{Topic: presence.Site, Ops: []backend.Op{ended}}})
		w.want("diff + -alice")
		time.Sleep(2 * time.Minute)
		w.want()
		faults.Heal()
		time.Sleep(20 * time.Second)
		w.want("diff +alice -") // no notice says that she signed out
	})
}

// A connection whose opener gave up before its join was sent leaves nothing: no
// entry, no diff, and a later try works.
func TestConnectGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		faults := presencetest.NewFaults(memstore.New())
		a := start(t, faults, track.Config{})
		w := watch(t, a)
		for _, after := range []time.Duration{0, time.Millisecond} {
			ctx, cancel := context.WithTimeout(t.Context(), after)
			c, err := a.Connect(ctx, track.ConnectOptions{Visitor: visitor("alice"), Topics: []presence.Topic{presence.Site}})
			if err == nil || c != nil {
				t.Errorf("given up after %v: got %v and %v, want an error", after, c, err)
			}
			cancel()
		}
		time.Sleep(time.Minute)
		w.want()
		if got := a.Stats().Aborted; got != 2 {
			t.Errorf("got %d aborted, want 2", got)
		}
		connect(t, a, track.ConnectOptions{Visitor: visitor("alice")})
		w.want("diff +alice -")
	})
}

// Two tabs share a stream. Once the second one's page has joined it, closing the
// browser shows the user gone after the grace; before that, the page view holds on.
func TestSecondTabJoinsTheStream(t *testing.T) {
	for _, joined := range []bool{false, true} {
		for _, other := range []bool{false, true} {
			synctest.Test(t, func(t *testing.T) {
				store := memstore.New()
				a := start(t, store, track.Config{Node: "a"})
				b := a
				if other {
					b = start(t, store, track.Config{Node: "b"})
				}
				w := openPage(t, a, track.ConnectOptions{})
				a.Seen(presence.Site, user("alice"), presence.Device{})
				time.Sleep(time.Second)
				c := connect(t, a, track.ConnectOptions{Visitor: visitor("alice"), Beat: true})
				w.skip()
				time.Sleep(time.Second)
				since := time.Now()
				b.Seen(presence.Site, user("alice"), presence.Device{}) // the second tab
				time.Sleep(time.Second)
				if joined {
					if alive, err := b.Beat(t.Context(), c.Token(), visitor("alice"), track.Page{Joined: true}); err != nil || !alive {
						t.Fatalf("Follow: got %v, %v, want true", alive, err)
					}
					if !other && !a.NeedsSeen(presence.Site, "alice", since) {
						t.Error("the next page view would be throttled, want it recorded")
					}
				}
				time.Sleep(time.Second)
				noError(t, b.Leave(t.Context(), c.Token(), visitor("alice")))
				time.Sleep(12 * time.Second)
				if joined {
					w.want("diff + -alice")
				} else {
					w.want()
				}
			})
		}
	}
}
