package redisstore_test

import (
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/rollcall-go/rollcall/internal/need"
	"github.com/rollcall-go/rollcall/internal/redistest"
	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
	"github.com/rollcall-go/rollcall/presence/redisstore"
	"github.com/rollcall-go/rollcall/presence/redisstore/internal/storetest"
)

// Topics may have any name, also one that the store uses for keys of its own.
func TestTopicsNamedLikeTheStoresOwnKeys(t *testing.T) {
	server := redistest.Start(t)
	client, store := server.Client(), storetest.New(t, server)
	for _, topic := range []presence.Topic{"index", "notices", "check", "meta", "-meta"} {
		var diffs atomic.Int64
		stop, err := store.Watch(t.Context(), topic, backend.Watcher{Diff: func(backend.Diff) { diffs.Add(1) }})
		noError(t, err)
		defer stop()
		noError(t, store.Publish(t.Context(), backend.SignOutNotice("bob")))
		log := client.XLen(t.Context(), "presence:{~index}:notices").Val()
		for _, ops := range [][]backend.Op{
			{
				{Kind: backend.OpJoin, User: presence.User{ID: "alice"}, Holder: "a.1", For: time.Minute},
				{Kind: backend.OpSeen, User: presence.User{ID: "alice"}, For: time.Minute},
			},
			{{Kind: backend.OpSignOut, User: presence.User{ID: "alice"}}},
		} {
			if err := store.Apply(t.Context(), []backend.Batch{{Topic: topic, Ops: ops}})[0].Err; err != nil {
				t.Fatalf("%s: %v", topic, err)
			}
		}
		for end := time.Now().Add(patience); diffs.Load() < 2; time.Sleep(time.Millisecond) {
			if time.Now().After(end) {
				t.Fatalf("%s: got %d diffs, want the join and the leave", topic, diffs.Load())
			}
		}
		if _, err := store.Sweep(t.Context(), backend.SweepOptions{Limit: 100}); err != nil {
			t.Errorf("%s: sweep: %v", topic, err)
		}
		if got, err := store.Log(t.Context(), topic, backend.Origin); err != nil || len(got) != 2 {
			t.Errorf("%s: log: got %d diffs, %v, want 2", topic, len(got), err)
		}
		if got := client.XLen(t.Context(), "presence:{~index}:notices").Val(); got != log {
			t.Errorf("%s: the log of notices went from %d to %d entries, want no change", topic, log, got)
		}
	}
}

// What is published by another site on the same server reaches nobody here: Redis
// tells messages to all databases alike, and a copy has its original's keys.
func TestNeighboursAreNotHeard(t *testing.T) {
	server := redistest.Start(t)
	in := func(db int) (*redisstore.Store, *redis.Client) {
		client := redis.NewClient(&redis.Options{Network: "unix", Addr: server.Socket, DB: db})
		t.Cleanup(func() { client.Close() })
		store := redisstore.New(client, redisstore.Config{})
		t.Cleanup(func() { store.Close() })
		return store, client
	}
	ours, our := in(0)
	apply(t, ours, ops(backend.OpJoin, 0, 1, 0, time.Minute)...)
	noError(t, our.Copy(t.Context(), "presence:{~index}:fleet", "presence:{~index}:fleet", 2, false).Err())
	other, _ := in(1)
	copied, _ := in(2)
	var heard atomic.Int64
	for _, store := range []*redisstore.Store{other, copied} {
		stopWatch, err := store.Watch(t.Context(), presence.Site, backend.Watcher{Diff: func(backend.Diff) { heard.Add(1) }})
		noError(t, err)
		defer stopWatch()
		stopListen, err := store.Listen(t.Context(), func(backend.Notice) { heard.Add(1) })
		noError(t, err)
		defer stopListen()
	}
	followed := storetest.Watch(t, ours)
	followed("ours")
	for _, n := range []backend.Notice{backend.SignOutNotice("alice"), backend.LeaveNotice("alice", "a.1")} {
		noError(t, ours.Publish(t.Context(), n))
	}
	time.Sleep(200 * time.Millisecond)
	if n := heard.Load(); n > 0 {
		t.Errorf("sites in other databases heard %d messages of ours, want none", n)
	}
}

// The keyspace's id and the fleet's secret come back after a wipe, and where another
// node has made others, all nodes take those.
func TestKeyspaceAfterAWipe(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	client := server.Client()
	a, b := storetest.New(t, server), storetest.New(t, server)
	for _, s := range []*redisstore.Store{a, b} {
		stop, err := s.Listen(t.Context(), func(backend.Notice) {})
		noError(t, err)
		t.Cleanup(stop)
		polls(t, s)
	}
	secret, err := a.Secret(t.Context(), []byte("the first offer"))
	if err != nil || string(secret) != "the first offer" {
		t.Fatalf("got secret %q, %v, want the offer", secret, err)
	}
	heard := storetest.Watch(t, b)
	heard("before")
	var gaps atomic.Int64
	stop, err := b.Watch(t.Context(), presence.Site, backend.Watcher{Diff: func(d backend.Diff) {
		if d.Prev == "unknown" { // no diff has it, so the reader looks into the log
			gaps.Add(1)
		}
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer stop()
	fleet := func() map[string]string { return client.HGetAll(t.Context(), "presence:{~index}:fleet").Val() }
	before := fleet()

	client.FlushAll(t.Context())
	for end := time.Now().Add(patience); fmt.Sprint(fleet()) != fmt.Sprint(before); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("after a wipe: got %v, want what was there: %v", fleet(), before)
		}
	}
	heard("after a wipe")

	client.FlushAll(t.Context())
	client.HSet(t.Context(), "presence:{~index}:fleet", "id", "another", "schema", 1, "reader", 1, "secret", "another secret")
	for end := time.Now().Add(patience); len(client.PubSubChannels(t.Context(), "presence:{site}:diffs:another.0").Val()) == 0; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("the keyspace has another id, and the watch did not move to its channel")
		}
	}
	heardByA := storetest.Watch(t, a)
	heardByA("under another id")
	for end := time.Now().Add(patience); gaps.Load() == 0; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("the watch has another channel, and its reader was told of no gap")
		}
	}
	heard("under another id")
	for end := time.Now().Add(patience); ; time.Sleep(10 * time.Millisecond) {
		got := client.PubSubChannels(t.Context(), "presence:*"+before["id"]+"*").Val()
		if len(got) == 0 {
			break
		}
		if time.Now().After(end) {
			t.Fatalf("channels %q of the old id are still heard", got)
		}
	}
	if secret, err := a.Secret(t.Context(), []byte("a later offer")); err != nil || string(secret) != "another secret" {
		t.Errorf("got secret %q, %v, want the one that is there", secret, err)
	}
}

// Nodes of the keyspace of before are refused: they look for the hash at its former place. Where none were, nothing is left there.
func TestFormerSchema(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	client := server.Client()
	const former = "presence:{~meta}:fleet"
	for _, there := range []bool{false, true} {
		if there {
			client.HSet(t.Context(), former, "id", "x", "schema", 3, "reader", 3)
		}
		apply(t, storetest.New(t, server), ops(backend.OpJoin, 0, 1, 0, time.Minute)...)
		if got := client.HGet(t.Context(), former, "reader").Val(); got != map[bool]string{true: "6"}[there] {
			t.Errorf("where former nodes were, %v: they read %q", there, got)
		}
	}
}

// A store that a newer version writes to in a form of its own is refused in words
// that help; one that it keeps readable is not.
func TestNewerSchema(t *testing.T) {
	need.Slow(t, "it waits for the next look at the schema")
	t.Parallel()
	server := redistest.Start(t)
	client := server.Client()
	set := func(reader int) {
		client.HSet(t.Context(), "presence:{~index}:fleet", "id", "x", "schema", 99, "reader", reader)
	}
	set(1)
	old := storetest.New(t, server)
	if err := old.Check(t.Context()); err != nil {
		t.Errorf("a newer version that older ones can read: Check: got %v, want nil", err)
	}
	apply(t, old, ops(backend.OpJoin, 0, 1, 0, time.Minute)...)
	stop, err := old.Listen(t.Context(), func(backend.Notice) {})
	noError(t, err)
	defer stop()
	polls(t, old)

	set(98)
	store := storetest.New(t, server)
	storetest.WantUnfit(t, "Check", store.Check(t.Context()), "update this node")
	_, err = store.Snapshot(t.Context(), presence.Site)
	storetest.WantUnfit(t, "Snapshot", err, "update this node")
	err = store.Apply(t.Context(), []backend.Batch{{Topic: presence.Site, Ops: ops(backend.OpHeartbeat, 0, 1, 0, time.Minute)}})[0].Err
	storetest.WantUnfit(t, "Apply", err, "update this node")
	if errors.Is(err, presence.ErrStoreOut) || errors.Is(err, presence.ErrRefused) {
		t.Errorf("Apply: got %v, which is not the store's outage and not this topic's alone", err)
	}
	for end := time.Now().Add(patience); ; time.Sleep(10 * time.Millisecond) { // who was there finds out
		if _, err = old.Snapshot(t.Context(), presence.Site); errors.Is(err, redisstore.ErrUnfit) {
			break
		}
		if time.Now().After(end) {
			t.Fatalf("a node that was there: got %v, want ErrUnfit", err)
		}
	}
	if got := client.HGet(t.Context(), "presence:{~index}:fleet", "schema").Val(); got != "99" {
		t.Errorf("the schema was set back to %s", got)
	}
}

// A keyspace of an older version, whose nodes cannot read what this one writes, refuses these from now on.
func TestOlderSchemaIsRaised(t *testing.T) {
	server := redistest.Start(t)
	client := server.Client()
	client.HSet(t.Context(), "presence:{~index}:fleet", "id", "x", "schema", 1, "reader", 1)
	apply(t, storetest.New(t, server), ops(backend.OpJoin, 0, 1, 0, time.Minute)...)
	if got := client.HMGet(t.Context(), "presence:{~index}:fleet", "id", "schema", "reader").Val(); fmt.Sprint(got) != "[x 6 6]" {
		t.Errorf("got id, schema and reader %v, want [x 6 6]", got)
	}
}

// What a newer version says in a form of its own counts as lost: the roster is read
// instead, which older versions can read for as long as they are allowed to.
func TestMessagesOfANewerVersion(t *testing.T) {
	server := redistest.Start(t)
	client, store := server.Client(), storetest.New(t, server)
	apply(t, store, ops(backend.OpJoin, 0, 1, 0, time.Minute)...)
	first := client.Get(t.Context(), "presence:{site}:head").Val()
	client.XAdd(t.Context(), &redis.XAddArgs{Stream: "presence:{site}:log", Values: []any{"d", first + " 2 0", "v", 2}})
	time.Sleep(2 * time.Millisecond) // the next diff is of a later moment
	apply(t, store, ops(backend.OpJoin, 1, 2, 0, time.Minute)...)
	if diffs, err := store.Log(t.Context(), presence.Site, presence.DiffID(first)); !errors.Is(err, presence.ErrGap) {
		t.Errorf("from before it: got %d diffs, %v, want a gap", len(diffs), err)
	}
	if diffs, err := store.Log(t.Context(), presence.Site, ""); err != nil || len(diffs) != 1 {
		t.Errorf("all: got %d diffs, %v, want the one behind it", len(diffs), err)
	}

	var heard atomic.Int64
	stop, err := store.Watch(t.Context(), presence.Site, backend.Watcher{Diff: func(backend.Diff) { heard.Add(1) }})
	noError(t, err)
	defer stop()
	had := store.Stats().Invalid
	id := client.HGet(t.Context(), "presence:{~index}:fleet", "id").Val()
	head := client.Get(t.Context(), "presence:{site}:head").Val()
	for _, message := range []string{
		"2 9-9 " + head + " 1 0", head + " 9-9 1 0", "1 9-9 <script> 1 0", "1 <b>-9 " + head + " 1 0", "1 " + strings.Repeat("9", 41) + " " + head + " 1 0",
		"1 9-9 " + head + " 1 1\n1\n\x01", "1 9-9 " + head + " 1 0\n+x\x1f1 dancing {}", "1 9-9 " + head + " 1 0\n!x\x1f1 online {}", "",
	} {
		client.Publish(t.Context(), "presence:{site}:diffs:"+id+".0", message)
		had++
		for end := time.Now().Add(patience); store.Stats().Invalid != had; time.Sleep(time.Millisecond) {
			if time.Now().After(end) {
				t.Fatalf("%q: got %+v, want it counted as invalid", message, store.Stats())
			}
		}
	}
	if n := heard.Load(); n > 0 {
		t.Errorf("got %d diffs out of messages that are none", n)
	}

	for _, version := range []string{"2", "", "1"} {
		client.XAdd(t.Context(), &redis.XAddArgs{Stream: "presence:{~index}:notices", Values: []any{"n", `{"kind":"signed_out","user":"of` + version + `","lasting":true}`, "v", version}})
	}
	var notices []backend.Notice
	stopListening, err := store.Listen(t.Context(), func(n backend.Notice) { notices = append(notices, n) })
	if err != nil {
		t.Fatal(err)
	}
	if err := store.Hear(t.Context()); err != nil {
		t.Fatal(err)
	}
	stopListening()
	if len(notices) != 1 || notices[0].User != "of1" || store.Stats().Invalid != had+2 {
		t.Errorf("got the notices %+v and %+v, want the one of this version, and the others counted as invalid", notices, store.Stats())
	}
}
