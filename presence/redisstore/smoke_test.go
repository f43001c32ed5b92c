package redisstore_test

import (
	"testing"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/redisstore"
	"github.com/rollcall-go/rollcall/presence/redisstore/redistest"
)

func TestSmoke(t *testing.T) {
	srv := redistest.Start(t)
	s := redisstore.New(srv.Client(), redisstore.Config{})
	defer s.Close()
	ctx := t.Context()
	ch := make(chan presence.Diff, 100)
	stop, err := s.Watch(ctx, "site", func(d presence.Diff) { ch <- d })
	if err != nil {
		t.Fatal(err)
	}
	defer stop()
	u := presence.User{ID: "alice", Name: "Alice"}
	ap := func(ops ...presence.Op) {
		for _, r := range s.Apply(ctx, []presence.Batch{{Topic: "site", Ops: ops}}) {
			t.Logf("%+v", r)
		}
	}
	ap(presence.Op{Kind: presence.OpSeen, User: u, For: time.Second}, presence.Op{Kind: presence.OpGuest, Guest: "g", For: time.Second})
	ap(presence.Op{Kind: presence.OpJoin, User: u, For: time.Second, Holder: "a.1"})
	ap(presence.Op{Kind: presence.OpHeartbeat, User: u, For: time.Second, Holder: "a.1"}, presence.Op{Kind: presence.OpHeartbeat, User: u, For: time.Second, Holder: "a.2"})
	ap(presence.Op{Kind: presence.OpRelease, User: u, For: 100 * time.Millisecond, Holder: "a.1"})
	time.Sleep(200 * time.Millisecond)
	t.Log(s.Counts(ctx, "site", "other"))
	t.Log(s.Sweep(ctx, 100))
	t.Log(s.Sightings(ctx, "site", "alice", "bob"))
	t.Log(s.Log(ctx, "site", ""))
	t.Log(s.Snapshot(ctx, "site"))
	t.Log(s.Age(ctx, time.Second))
	t.Log(s.Trim(ctx, time.Hour, 1))
	for len(ch) > 0 {
		t.Logf("%+v", <-ch)
	}
	t.Log(srv.Client().Keys(ctx, "*").Val())
}
