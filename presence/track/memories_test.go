package track_test

import (
	"fmt"
	"log/slog"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/memstore"
	"github.com/rollcall-go/rollcall/presence/track"
)

// What a node remembers of users is bounded, and forgets the oldest: at least the latest
// half is still known. Of the others the store knows, so that a
// user who chose to be invisible first of all is not announced.
func TestMemoriesForgetTheOldest(t *testing.T) {
	const bound = 2_000
	const many = bound + 1
	synctest.Test(t, func(t *testing.T) {
		store := memstore.New()
		a := start(t, store, track.Config{Logger: slog.New(slog.DiscardHandler)})
		a.RememberAtMost(bound)
		w := watch(t, a)
		choose(t, a, "alice", presence.Invisible)
		id := func(i int) presence.UserID { return presence.UserID(fmt.Sprint("u", i)) }
		for i := range many {
			noError(t, store.Publish(t.Context(), keeps(t, store, id(i), presence.Busy)))
		}
		known := 0
		for i := range many {
			if a.Status(id(i)) == presence.Busy {
				known++
			}
		}
		if known < bound/2 || known > bound || a.Status(id(many-bound/2)) != presence.Busy || a.Status("alice") != "" {
			t.Errorf("got %d statuses known, want %d to %d, the latest", known, bound/2, bound)
		}
		if got := a.Stats().Forgotten; got != many+1-uint64(known) {
			t.Errorf("got %d forgotten, want %d", got, many+1-known)
		}
		a.Seen(presence.Site, user("alice"), presence.Device{})
		w.want()
	})
}

// What is remembered of a user is the user's own bytes, and not the header that they
// were cut out of.
func TestMemoriesKeepNoHeaders(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := start(t, memstore.New(), track.Config{})
		synctest.Wait()
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		const users, header = 1000, 30_000
		for i := range users {
			cookie := fmt.Sprintf("name=u%04d; pad=%s", i, strings.Repeat("x", header))
			id := cookie[5:10]
			a.Seen(presence.Site, presence.User{ID: presence.UserID(id), Name: id}, presence.Device{})
			_ = a.SetStatus(t.Context(), presence.UserID(id), presence.Busy)
			_ = a.SignOut(t.Context(), presence.UserID(id))
		}
		time.Sleep(time.Minute)
		runtime.GC()
		runtime.ReadMemStats(&after)
		if grown := int64(after.HeapAlloc) - int64(before.HeapAlloc); grown > users*header/3 {
			t.Errorf("the heap grew by %d KB, want less than a third of the %d KB of headers", grown>>10, users*header>>10)
		}
	})
}

// A topic that a node looks at is kept, and not the request that it was cut out of.
func TestTopicsKeepNoRequests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := start(t, memstore.New(), track.Config{Kinds: recentKinds})
		synctest.Wait()
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		const topics, request = 200, 100_000
		for i := range topics {
			query := fmt.Sprintf("topic=thread:%03d&pad=%s", i, strings.Repeat("x", request))
			topic := presence.Topic(query[6:16])
			if _, err := a.View(t.Context(), topic); err != nil {
				t.Fatal(err)
			}
			if _, err := a.LatelyActive(t.Context(), topic, 0, 10); err != nil {
				t.Fatal(err)
			}
		}
		runtime.GC()
		runtime.ReadMemStats(&after)
		if grown := int64(after.HeapAlloc) - int64(before.HeapAlloc); grown > topics*request/3 {
			t.Errorf("the heap grew by %d KB, want less than a third of the %d KB of requests", grown>>10, topics*request>>10)
		}
	})
}
