package redisstore_test

import (
	"testing"
	"time"

	"github.com/rollcall-go/rollcall/internal/redistest"
	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
	"github.com/rollcall-go/rollcall/presence/redisstore/internal/storetest"
)

// A node that nobody uses asks seldom whether it missed a notice. It hears a message at once all the same, and
// asks at once when it is used again, or when it has lost its connection.
func TestNodeThatNobodyUses(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	a, b := storetest.New(t, server), storetest.New(t, server)
	heard := make(chan backend.Notice, 10)
	stop, err := b.Listen(t.Context(), func(n backend.Notice) { heard <- n })
	noError(t, err)
	defer stop()
	hear := func(want presence.UserID) {
		t.Helper()
		select {
		case n := <-heard:
			if signedOut(n) != want {
				t.Errorf("heard %+v, want that %s signed out", n, want)
			}
		case <-time.After(patience):
			t.Fatalf("%s was not heard", want)
		}
	}
	b.Rest()
	time.Sleep(2 * time.Second) // the round that had begun
	before := b.Stats().Commands
	time.Sleep(4 * time.Second)
	if got := b.Stats().Commands - before; got > 2 {
		t.Errorf("sent %d commands in 4 s, want 2 at most", got)
	}
	noError(t, a.Publish(t.Context(), backend.SignOutNotice("alice")))
	hear("alice")
	if !b.Rests() {
		t.Error("a message of another node woke the node")
	}

	polls(t, b)
	noError(t, server.Client().Do(t.Context(), "CLIENT", "KILL", "TYPE", "pubsub").Err())
	noError(t, a.Publish(t.Context(), backend.SignOutNotice("bob")))
	hear("bob")
	if b.Rests() {
		t.Error("the node lost a connection, and goes on resting")
	}

	b.Rest()
	stopWatch, err := b.Watch(t.Context(), presence.Site, backend.Watcher{Diff: func(backend.Diff) {}})
	noError(t, err)
	defer stopWatch()
	b.Rest() // as if a minute had passed
	time.Sleep(2 * time.Second)
	if b.Rests() {
		t.Error("a node that follows a topic rests")
	}
}
