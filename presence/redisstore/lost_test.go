package redisstore_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rollcall-go/rollcall/internal/redistest"
	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
	"github.com/rollcall-go/rollcall/presence/redisstore"
	"github.com/rollcall-go/rollcall/presence/redisstore/internal/storeclock"
)

// lostKeys are a topic's.
var lostKeys = []string{"leases", "users", "hidden", "current", "old", "guests", "before", "aged", "seen", "log", "head", "count", "lately", "names", "peak", "bots", "memory", "memory:old"}

// keepsAll keeps all that a topic can.
var keepsAll = presence.Keep{Names: 5, ForgetSignedOut: true, Active: true, Peak: true, PeakGuests: true}

// Whatever keys of a topic are evicted, or deleted by hand: two heartbeats later the
// roster is right, no call has failed, and in the end nobody is left behind.
func TestLostKeys(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	client := server.Client()
	for seed := range uint64(30) {
		rnd := rand.New(rand.NewPCG(seed, 1))
		var clock atomic.Int64
		clock.Store(time.Now().UnixMilli())
		prefix := fmt.Sprint("lost", seed)
		store := redisstore.New(storeclock.Client{UniversalClient: client, Now: func() time.Time { return time.UnixMilli(clock.Load()) }}, redisstore.Config{Prefix: prefix, Timeout: patience})
		do := func(ops ...backend.Op) []int {
			t.Helper()
			r := store.Apply(t.Context(), []backend.Batch{{Topic: presence.Site, Ops: ops, Keep: keepsAll}})[0]
			if r.Err != nil {
				t.Fatalf("seed %d: %v", seed, r.Err)
			}
			return r.Unknown
		}
		live := make(map[presence.UserID]backend.Op) // their joins
		beat := func() (unknown int) {
			var ops []backend.Op
			for _, op := range live {
				ops = append(ops, backend.Op{Kind: backend.OpHeartbeat, User: presence.User{ID: op.User.ID}, Holder: op.Holder, For: op.For})
			}
			gone := do(ops...)
			for _, k := range gone {
				do(live[ops[k].User.ID])
			}
			return len(gone)
		}
		for range 60 {
			id := presence.UserID(fmt.Sprint("u", rnd.IntN(12)))
			op, there := live[id]
			switch {
			case !there:
				op = backend.Op{Kind: backend.OpJoin, User: presence.User{ID: id, Name: string(id)}, Holder: presence.Holder("n." + string(id)), For: 30 * time.Second}
				op.User.Status = presence.Online
				if rnd.IntN(3) == 0 {
					op.User.Status = presence.Invisible
				}
				if live[id] = op; rnd.IntN(2) == 0 {
					do(backend.Op{Kind: backend.OpSeen, User: op.User, For: time.Minute})
				}
				do(op)
			case rnd.IntN(2) == 0:
				delete(live, id)
				do(backend.Op{Kind: backend.OpRelease, User: presence.User{ID: id}, Holder: op.Holder, For: time.Second})
			default:
				do(backend.Op{Kind: backend.OpUpdate, User: presence.User{ID: id, Status: op.User.Status}})
			}
		}
		var lost []string
		for _, name := range lostKeys {
			if rnd.IntN(3) == 0 {
				lost = append(lost, prefix+":{site}:"+name)
			}
		}
		client.Del(t.Context(), append(lost, "none")...)
		if rnd.IntN(2) == 0 { // somebody comes before the next heartbeat
			live["late"] = backend.Op{Kind: backend.OpJoin, User: presence.User{ID: "late", Status: presence.Online}, Holder: "n.late", For: 30 * time.Second}
			do(live["late"])
		}
		beat()
		if n := beat(); n > 0 {
			t.Errorf("seed %d: without %q: %d leases are unknown at the second heartbeat", seed, lost, n)
		}
		roster := func() (ids []presence.UserID) {
			snap, err := store.Snapshot(t.Context(), presence.Site)
			if err != nil {
				t.Fatalf("seed %d: without %q: %v", seed, lost, err)
			}
			for _, m := range snap.Members {
				ids = append(ids, m.ID)
			}
			slices.Sort(ids)
			return ids
		}
		sweep := func() {
			t.Helper()
			if _, err := store.Sweep(t.Context(), backend.SweepOptions{Limit: 1000}); err != nil {
				t.Fatalf("seed %d: without %q: sweep: %v", seed, lost, err)
			}
		}
		for range 14 { // those who left are gone, page views too
			sweep()
			clock.Add((10 * time.Second).Milliseconds())
			beat()
		}
		sweep()
		var want []presence.UserID
		for id, op := range live {
			if op.User.Status != presence.Invisible {
				want = append(want, id)
			}
		}
		slices.Sort(want)
		if got := roster(); !slices.Equal(got, want) {
			t.Errorf("seed %d: without %q: got %q, want %q", seed, lost, got, want)
		}
		for range 3 {
			clock.Add(time.Minute.Milliseconds())
			sweep()
		}
		if got := roster(); len(got) > 0 {
			t.Errorf("seed %d: without %q: %q are left after all leases ended", seed, lost, got)
		}
		store.Close()
	}
}

// A key of another type is its topic's trouble alone: the step fails as a whole, and
// other topics are written and swept.
func TestKeyOfAnotherType(t *testing.T) {
	t.Parallel()
	for _, name := range lostKeys {
		t.Run(name, func(t *testing.T) {
			client := redistest.Start(t).Client()
			store := redisstore.New(client, redisstore.Config{Timeout: patience})
			defer store.Close()
			key := "presence:{broken}:" + name
			if name == "head" || name == "aged" || name == "count" || name == "peak" {
				client.LPush(t.Context(), key, "x")
			} else {
				client.Set(t.Context(), key, "x", 0)
			}
			var diffs atomic.Int64
			stop, err := store.Watch(t.Context(), "broken", backend.Watcher{Diff: func(backend.Diff) { diffs.Add(1) }})
			noError(t, err)
			defer stop()
			ops := append(ops(backend.OpSeen, 0, 2, 0, time.Minute), ops(backend.OpJoin, 0, 2, 0, time.Minute)...)
			ops = append(ops, backend.Op{Kind: backend.OpBot, Guest: "bot", Bot: "Googlebot", For: time.Minute})
			r := store.Apply(t.Context(), []backend.Batch{{Topic: "broken", Ops: ops, Keep: keepsAll}, {Topic: "sound", Ops: ops, Keep: keepsAll}})
			if r[1].Err != nil {
				t.Errorf("another topic: got %v, want nil", r[1].Err)
			}
			if r[0].Err != nil && (!errors.Is(r[0].Err, presence.ErrRefused) || errors.Is(r[0].Err, presence.ErrStoreOut)) {
				t.Errorf("got %v, want ErrRefused alone", r[0].Err)
			}
			if n := client.HLen(t.Context(), "presence:{broken}:users").Val(); n > 0 && client.XLen(t.Context(), "presence:{broken}:log").Val() == 0 {
				t.Errorf("%d users are there, and their join is not told", n)
			}
			if slices.Contains([]string{"lately", "names", "peak", "bots"}, name) {
				if left := client.Keys(t.Context(), "presence:{broken}:*").Val(); len(left) > 1 || r[0].Err == nil {
					t.Errorf("got %v and keys %q, want a step that failed before it wrote", r[0].Err, left)
				}
			}
			there := func() (users, diffs int64) {
				return client.HLen(t.Context(), "presence:{broken}:users").Val(), client.XLen(t.Context(), "presence:{broken}:log").Val()
			}
			users, told := there()
			out := []backend.Op{{Kind: backend.OpSignOut, User: presence.User{ID: ops[0].User.ID}}}
			left := store.Apply(t.Context(), []backend.Batch{{Topic: "broken", Ops: out, Keep: keepsAll}})[0]
			if now, tells := there(); now != users && tells == told {
				t.Errorf("a sign-out: got %v, and the user left and that is not told", left.Err)
			}
			if _, err := store.Sweep(t.Context(), backend.SweepOptions{Limit: 100}); err != nil {
				t.Errorf("sweep: got %v, want nil", err)
			}
			for _, read := range []func() error{
				func() error {
					c, err := store.Counts(t.Context(), "sound", "broken")
					if err == nil && (c[0].Unknown || c[0].Bots["Googlebot"] != 1 || c[0].Peak.Total != 2 || c[1].Unknown && (name == "peak" || name == "bots")) {
						t.Errorf("got the figures %+v, want those of the other topic", c)
					}
					return err
				},
				func() error {
					_, err := store.Recent(t.Context(), "broken", backend.RecentQuery{Limit: 10})
					return err
				},
				func() error { _, err := store.Inspect(t.Context(), "broken", "", 10); return err },
				func() error { _, err := store.Age(t.Context(), time.Millisecond); return err },
				func() error { _, err := store.Trim(t.Context(), time.Hour, 10); return err },
			} {
				if err := read(); err != nil && (!errors.Is(err, presence.ErrRefused) || errors.Is(err, presence.ErrStoreOut)) {
					t.Errorf("got %v, want ErrRefused alone", err)
				}
			}
			if got := store.Stats(); got.Failed > 0 || got.BreakerOpen {
				t.Errorf("got %+v, want no failure of the server", got)
			}
		})
	}
}
