package track_test

import (
	"context"
	"strings"
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

// onlineIn reports whether a store shows alice in the site.
func onlineIn(t *testing.T, store backend.Store) bool {
	t.Helper()
	synctest.Wait()
	snapshot, err := store.Snapshot(t.Context(), presence.Site)
	noError(t, err)
	for _, m := range snapshot.Members {
		if m.ID == "alice" {
			return true
		}
	}
	return false
}

func from(browser string) presence.Visitor {
	v := visitor("alice")
	v.Browser = browser
	return v
}

// Beats of one page that come to a node at the same moment are one visit, which ends.
func TestFirstBeatsAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memstore.New()
		a, b := start(t, store, track.Config{Node: "a"}), start(t, store, track.Config{Node: "b"})
		for range 20 {
			page := connect(t, a, track.ConnectOptions{Visitor: visitor("alice"), Beat: true})
			token := page.Token()
			var beats sync.WaitGroup
			for range 16 {
				beats.Go(func() { _, _ = b.Beat(context.Background(), token, presence.Visitor{}, track.Page{}) })
			}
			beats.Wait()
			page.Close()
			time.Sleep(time.Minute)
		}
		time.Sleep(10 * time.Minute)
		if s := b.Stats(); s.ConnectedUsers != 0 {
			t.Errorf("got %d users with a page at b, want none: all have closed", s.ConnectedUsers)
		}
	})
}

// Who signs off in one browser stays online in another one, also where the beats of that one come to another node.
func TestSignOffBesideAVisit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memstore.New()
		a, b := start(t, store, track.Config{Node: "a"}), start(t, store, track.Config{Node: "b"})
		x, y := connect(t, a, track.ConnectOptions{Visitor: from("x"), Beat: true}), connect(t, a, track.ConnectOptions{Visitor: from("y"), Beat: true})
		token := x.Token()
		beat := func(token presence.Token) bool {
			alive, err := b.Beat(t.Context(), token, presence.Visitor{}, track.Page{})
			noError(t, err)
			return alive
		}
		for range 6 {
			time.Sleep(15 * time.Second)
			if !beat(token) || !beat(y.Token()) {
				t.Fatal("a beat of an open connection: got false, want true")
			}
		}
		noError(t, a.SignOff(t.Context(), "alice", "x"))
		if time.Sleep(time.Second); !onlineIn(t, store) || !beat(y.Token()) || beat(token) {
			t.Error("browser x signed off: want its beats refused, and alice online by browser y")
		}
	})
}

// The token of a connection whose process is gone holds nobody for long, also at a node that does not know how it ended.
func TestTokenOfAProcessThatIsGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memstore.New()
		before, err := track.New(store, track.Config{Node: "a"})
		noError(t, err)
		page, err := before.Connect(t.Context(), track.ConnectOptions{Visitor: from("x"), Topics: []presence.Topic{presence.Site}, Beat: true})
		noError(t, err)
		token := page.Token()
		noError(t, before.SignOut(t.Context(), "alice"))
		noError(t, before.Close(context.Background()))
		time.Sleep(time.Hour)
		a, b := start(t, store, track.Config{Node: "a"}), start(t, store, track.Config{Node: "b"})
		phone := connect(t, a, track.ConnectOptions{Visitor: from("y")})
		for i := range 24 {
			_, _ = b.Beat(t.Context(), token, presence.Visitor{}, track.Page{})
			if time.Sleep(15 * time.Second); i == 2 {
				phone.Close()
			}
		}
		if onlineIn(t, store) {
			t.Error("six minutes later alice is online by a token from before she signed out")
		}
	})
}

// A beat that no longer counts in one of the topics of its token leaves nothing in the others.
func TestStaleTokenLeavesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memstore.New()
		a, b := start(t, store, track.Config{Node: "a"}), start(t, store, track.Config{Node: "b"})
		page := connect(t, a, track.ConnectOptions{Visitor: visitor("alice"), Topics: []presence.Topic{presence.Site, "thread:1"}})
		token := page.Token()
		time.Sleep(time.Second)
		page.Unsubscribe("thread:1")
		time.Sleep(20 * time.Second)
		if alive, err := b.Beat(t.Context(), token, presence.Visitor{}, track.Page{}); alive || err != nil {
			t.Errorf("got %v and %v, want a beat that counts no longer", alive, err)
		}
		page.Close()
		if time.Sleep(13 * time.Second); onlineIn(t, store) {
			t.Error("13 s after the page closed alice is online, want the grace of 10 s")
		}
	})
}

// A page that joined a connection is no later sign-in: a sign-out that is heard late ends the connection.
func TestJoinedIsNoSignIn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memstore.New()
		faults := presencetest.NewFaults(store)
		a, b := start(t, store, track.Config{Node: "a"}), start(t, faults, track.Config{Node: "b"})
		page := connect(t, a, track.ConnectOptions{Visitor: visitor("alice"), Beat: true})
		time.Sleep(5 * time.Second)
		faults.Break(presencetest.Fault{Err: presence.ErrStoreOut})
		_ = b.SignOut(t.Context(), "alice")
		time.Sleep(3 * time.Second)
		_, err := a.Beat(t.Context(), page.Token(), presence.Visitor{}, track.Page{Joined: true})
		noError(t, err)
		time.Sleep(3 * time.Second)
		faults.Heal()
		if time.Sleep(20 * time.Second); page.Err() == nil || onlineIn(t, store) {
			t.Error("alice signed out before the beat, and is online")
		}
	})
}

// A stream that was asked for before its browser signed off does not open after that.
func TestStreamOpensAfterASignOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tracker := start(t, memstore.New(), track.Config{})
		connect(t, tracker, track.ConnectOptions{Visitor: from("y")})
		asked := time.Now()
		time.Sleep(time.Second)
		noError(t, tracker.SignOff(t.Context(), "alice", "x"))
		for browser, refused := range map[string]bool{"x": true, "": true, "y": false} {
			_, err := tracker.Connect(t.Context(), track.ConnectOptions{Visitor: from(browser), Topics: []presence.Topic{presence.Site}, Identified: asked})
			if (err != nil) != refused {
				t.Errorf("browser %q: got %v, want it refused: %v", browser, err, refused)
			}
		}
	})
}

// The lease of two pages ends a TTL after the latest beat of the page that is left, and not after that of the one that closed.
func TestSilentPageBesideOneThatCloses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memstore.New()
		a, _ := start(t, store, track.Config{Node: "a"}), start(t, store, track.Config{Node: "b"})
		connect(t, a, track.ConnectOptions{Visitor: visitor("alice"), Beat: true}) // its machine falls asleep
		page := connect(t, a, track.ConnectOptions{Visitor: visitor("alice"), Beat: true})
		for range 2 {
			time.Sleep(15 * time.Second)
			page.Beat()
		}
		page.Close()
		if time.Sleep(17 * time.Second); onlineIn(t, store) {
			t.Error("47 s after the latest beat of the page that is left alice is online, want the TTL of 45 s")
		}
	})
}

// A page's beats came to another node than its stream. The node of the stream dies, the page connects there too, and closes. The
// visit ends with the dead node, and does not hold the user until its own lease ends.
func TestVisitEndsWithTheNodeOfItsConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memstore.New()
		dies := presencetest.NewFaults(store)
		a, b := start(t, dies, track.Config{Node: "a"}), start(t, store, track.Config{Node: "b"})
		page := connect(t, a, track.ConnectOptions{Visitor: visitor("alice"), Beat: true})
		if alive, err := b.Beat(t.Context(), page.Token(), visitor("alice"), track.Page{}); !alive || err != nil {
			t.Fatalf("got %v and %v, want a beat", alive, err)
		}
		dies.Break(presencetest.Fault{Err: errDown})
		again := connect(t, b, track.ConnectOptions{Visitor: visitor("alice"), Beat: true})
		time.Sleep(time.Second)
		again.Close()
		time.Sleep(a.Config().NodeTTL + 2*time.Second + a.Config().Grace)
		if onlineIn(t, store) {
			t.Error("alice is online, want that she left with the page that she closed")
		}
	})
}

// Node a stood still, was swept, and has gone on. The store loses its data, and node b hears once more, 20 s later, that node a
// was swept. A page whose stream is at node a beats at node b, and one beat is lost. Nobody leaves: node a has said since that it
// lives.
func TestProcessIsToldOnceMoreToHaveEnded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memstore.New()
		way := presencetest.NewFaults(store)
		a, b := start(t, way, track.Config{Node: "a"}), start(t, store, track.Config{Node: "b"})
		page := connect(t, a, track.ConnectOptions{Visitor: visitor("alice"), Beat: true})
		for range 2 {
			time.Sleep(15 * time.Second)
			if alive, err := b.Beat(t.Context(), page.Token(), visitor("alice"), track.Page{}); !alive || err != nil {
				t.Fatalf("got %v and %v, want a beat", alive, err)
			}
		}
		time.Sleep(22 * time.Second)
		way.Disturb(presencetest.Disturbance{Lose: 1})
		id, _, _ := strings.Cut(string(page.Token()), "~")
		noError(t, store.Publish(t.Context(), backend.Notice{Kind: backend.NoticeGone, Payload: presence.Holder(id).Process(), Ago: 20 * time.Second}))
		if time.Sleep(3 * time.Second); !onlineIn(t, store) {
			t.Error("25 s after a beat alice is not online, want a TTL of 45 s")
		}
	})
}
