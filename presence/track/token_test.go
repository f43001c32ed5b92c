package track_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rollcall-go/rollcall/presence"
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
