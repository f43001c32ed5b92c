package track_test

import (
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
	"github.com/rollcall-go/rollcall/presence/memstore"
	"github.com/rollcall-go/rollcall/presence/track"
)

func TestBeatAndLeaveOnAnyNode(t *testing.T) {
	for _, other := range []string{"", "b", "a"} { // the node itself, another one, and another process of its name
		synctest.Test(t, func(t *testing.T) {
			store := memstore.New()
			a := start(t, store, track.Config{Node: "a"})
			b := a
			if other != "" {
				time.Sleep(time.Millisecond) // names of processes of one node differ in that, and in six random bits
				b = start(t, store, track.Config{Node: other})
			}
			w := watch(t, a)
			c := connect(t, a, track.ConnectOptions{Visitor: visitor("alice"), Beat: true, Topics: []presence.Topic{"site", "thread:1"}})
			w.want("diff +alice -")
			beat := func(token presence.Token, user string) bool {
				t.Helper()
				alive, err := b.Beat(t.Context(), token, visitor(user), track.Page{})
				if err != nil && !errors.Is(err, presence.ErrForeignToken) {
					t.Fatal(err)
				}
				return alive
			}
			for range 10 {
				time.Sleep(20 * time.Second)
				if !beat(c.Token(), "alice") {
					t.Error("got false for a connection that is alive, want true")
				}
			}
			for _, bad := range []presence.Token{"", "x", "a.", "a.1~", "a.1~../x", "a.zz~site", "c.1~site", c.Token() + "~x y"} {
				if beat(bad, "alice") {
					t.Errorf("Beat(%q): got true, want false", bad)
				}
			}
			if beat(c.Token(), "mallory") {
				t.Error("got true for somebody else's connection, want false")
			}
			if !beat(w.conn.Token(), "") || !beat(connect(t, a, track.ConnectOptions{Visitor: visitor("bob"), Observe: true}).Token(), "bob") {
				t.Error("got false for a guest or an observer who is there, want true")
			}
			_ = b.Leave(t.Context(), c.Token(), visitor("mallory"))
			w.want()
			noError(t, b.Leave(t.Context(), c.Token(), visitor("alice")))
			<-c.Done()
			_ = b.Leave(t.Context(), c.Token(), visitor("alice"))
			time.Sleep(8 * time.Second)
			w.want()
			if beat(c.Token(), "alice") {
				t.Error("got true after the page left, want false")
			}
			time.Sleep(3 * time.Second)
			w.want("diff + -alice")
		})
	}
}

// A node renews no lease of another node's connection whose user is known to have signed out since, also
// where the store has the lease again.
func TestBeatAtAnotherNodeAfterASignOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		memory := memstore.New()
		deaf := &deafStore{Store: memory}
		a, b := start(t, deaf, track.Config{Node: "a"}), start(t, memory, track.Config{Node: "b"})
		page := func() *track.Connection {
			return connect(t, a, track.ConnectOptions{Visitor: visitor("alice"), Beat: true})
		}
		before := page()
		time.Sleep(time.Second)
		deaf.setDeaf(true)
		noError(t, b.SignOut(t.Context(), "alice"))
		time.Sleep(time.Second)
		since := page()
		memory.Apply(t.Context(), []backend.Batch{{Topic: presence.Site, Ops: []backend.Op{
			{Kind: backend.OpJoin, User: user("alice"), Holder: before.ID(), For: time.Minute}, // as a failover does
		}}})
		for c, want := range map[*track.Connection]bool{before: false, since: true} {
			alive, err := b.Beat(t.Context(), c.Token(), visitor("alice"), track.Page{})
			if noError(t, err); alive != want {
				t.Errorf("identified since the sign-out %v: got alive %v, want %v", c == since, alive, want)
			}
		}
	})
}

// A token names the topics of internal use too: only the devices' topic is named by its member.
func TestTokenOfReservedTopic(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tracker := start(t, memstore.New(), track.Config{})
		c := connect(t, tracker, track.ConnectOptions{Visitor: visitor("alice"), Topics: []presence.Topic{"site", "@site:3"}})
		if got := track.TopicsOf(c.Token()); !slices.Equal(got, []presence.Topic{"@site:3", "site"}) {
			t.Errorf("the token names %q, want site and @site:3", got)
		}
	})
}
