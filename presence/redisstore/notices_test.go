package redisstore_test

import (
	"sync"
	"testing"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/redisstore"
	"github.com/rollcall-go/rollcall/presence/redisstore/redistest"
)

// A notice reaches a node whose subscription was broken when it was told, once,
// and says how late it is; and no notice from before the node listened does.
func TestNoticesThatNobodyPublishes(t *testing.T) {
	server := redistest.Start(t)
	client := server.Client()
	a, b := redisstore.New(client, redisstore.Config{}), redisstore.New(client, redisstore.Config{})
	t.Cleanup(func() { a.Close(); b.Close() })
	if err := a.Notify(t.Context(), presence.Notice{SignedOut: "before"}); err != nil {
		t.Fatal(err)
	}
	heard := make(chan presence.Notice, 10)
	var once sync.Once
	stop, err := b.Listen(t.Context(), func(n presence.Notice) {
		once.Do(func() { time.Sleep(1500 * time.Millisecond) }) // what comes meanwhile is late
		heard <- n
	})
	if err != nil {
		t.Fatal(err)
	}
	defer stop()
	for _, user := range []presence.UserID{"first", "second"} {
		if err := a.Notify(t.Context(), presence.Notice{SignedOut: user}); err != nil {
			t.Fatal(err)
		}
		if err := client.Do(t.Context(), "CLIENT", "KILL", "TYPE", "pubsub").Err(); err != nil {
			t.Fatal(err)
		}
	}
	for _, want := range []struct {
		user presence.UserID
		late bool
	}{{"first", false}, {"second", true}} {
		select {
		case n := <-heard:
			if late := n.Ago > time.Second; n.SignedOut != want.user || late != want.late {
				t.Errorf("heard %+v, want %s, late %v", n, want.user, want.late)
			}
		case <-time.After(10 * time.Second):
			t.Fatalf("%s was not heard", want.user)
		}
	}
	select {
	case n := <-heard:
		t.Errorf("heard %+v too, want no more", n)
	case <-time.After(1500 * time.Millisecond):
	}
}
