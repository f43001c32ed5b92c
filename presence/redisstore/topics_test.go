package redisstore_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
	"github.com/rollcall-go/rollcall/presence/redisstore"
	"github.com/rollcall-go/rollcall/presence/redisstore/internal/storeclock"
	"github.com/rollcall-go/rollcall/presence/redisstore/internal/storetest"
)

// pagesOf returns all topics, in pages of a size.
func pagesOf(t *testing.T, store *redisstore.Store, size int) (all []presence.Topic) {
	t.Helper()
	for after := presence.Topic(""); ; {
		page, err := store.Topics(t.Context(), after, size)
		noError(t, err)
		if all = append(all, page...); len(page) == 0 {
			return all
		}
		after = page[len(page)-1]
	}
}

// Topics with users, guests or bots are found by their names, also on a cluster; a while
// after the last one has gone, and all data are lost, nothing is left of them.
func TestTopics(t *testing.T) {
	for _, server := range []storetest.ServerKind{storetest.Standalone, storetest.Cluster} {
		t.Run(server.Name, func(t *testing.T) {
			t.Parallel()
			client := server.Start(t)
			clock := time.Now()
			store := redisstore.New(storeclock.Client{UniversalClient: client, Now: func() time.Time { return clock }}, redisstore.Config{Timeout: patience})
			defer store.Close()
			var batches []backend.Batch
			var want []presence.Topic
			for i := range 1200 {
				topic, op := presence.Topic(fmt.Sprintf("thread:%04d", i)), joins("alice")
				switch i % 3 {
				case 1:
					op = guest(backend.OpGuest, "g")
				case 2:
					op = backend.Op{Kind: backend.OpBot, Guest: "b", Bot: "Googlebot", For: guestPeriod}
				}
				batches, want = append(batches, backend.Batch{Topic: topic, Ops: []backend.Op{op}}), append(want, topic)
			}
			slices.Reverse(batches)
			for _, r := range store.Apply(t.Context(), batches) {
				if r.Err != nil {
					t.Fatal(r.Err)
				}
			}
			for _, size := range []int{7, 500, 5000} {
				if got := pagesOf(t, store, size); !slices.Equal(got, want) {
					t.Fatalf("by %d: got %d topics from %v, want %d", size, len(got), got[:min(len(got), 3)], len(want))
				}
			}

			for range 4 { // of more than two minutes
				clock = clock.Add(2 * guestPeriod)
				if _, err := store.Sweep(t.Context(), backend.SweepOptions{Limit: 5000}); err != nil {
					t.Fatal(err)
				}
				if _, err := store.Age(t.Context(), guestPeriod); err != nil {
					t.Fatal(err)
				}
			}
			if n := client.Exists(t.Context(), "presence:{~index}:topics").Val(); n != 0 {
				t.Error("the index of topics by name is left")
			}
			if got := pagesOf(t, store, 1000); len(got) > 0 {
				t.Errorf("got %d topics, such as %s, long after all left", len(got), got[0])
			}
		})
	}
}

// Inspect shows who holds a lease, invisible users too, with the pages and what is left of each lease.
func TestInspect(t *testing.T) {
	k := newKeeper(t, presence.Keep{Active: true})
	veiled := joins("bob")
	veiled.User.Status, veiled.Pages = presence.Invisible, 12
	alice := joins("alice")
	alice.Joined = time.Millisecond // before the page view, which lasts then
	k.does(alice, seen("alice"), veiled, joins("carol"))
	k.passes(6 * time.Minute)
	got, err := k.Inspect(t.Context(), presence.Site, "", 10)
	noError(t, err)
	text := ""
	for _, u := range got {
		text += fmt.Sprintf("%s %s %v: %v; ", u.ID, u.Status, u.Since.IsZero(), u.Leases)
	}
	k.wants(text, "alice online false: [{n.1 0 4m0s} {web 0 -1m0s}]; bob invisible true: [{n.1 12 4m0s}]; carol online false: [{n.1 0 4m0s}]; ")

	for i := 0; i < 5000; i += 250 {
		var ops []backend.Op
		for j := range 250 {
			op := joins(fmt.Sprintf("u%04d", (7*(i+j))%5000))
			if j%10 == 0 {
				op.User.Status = presence.Invisible
			}
			ops = append(ops, op)
		}
		k.does(ops...)
	}
	want := 0
	for after := presence.UserID("d"); ; {
		page, err := k.Inspect(t.Context(), presence.Site, after, 300)
		noError(t, err)
		if len(page) == 0 {
			break
		}
		for _, u := range page {
			if u.ID != presence.UserID(fmt.Sprintf("u%04d", want)) || len(u.Leases) != 1 {
				t.Fatalf("got %+v, want u%04d with a lease", u, want)
			}
			want++
		}
		after = page[len(page)-1].ID
	}
	if want != 5000 {
		t.Errorf("got %d users, want 5,000", want)
	}
}
