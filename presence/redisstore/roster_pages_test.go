package redisstore_test

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/rollcall-go/rollcall/internal/redistest"
	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
	"github.com/rollcall-go/rollcall/presence/redisstore"
	"github.com/rollcall-go/rollcall/presence/track"
)

// The pages of a large topic name everybody once at a node that starts where the log has updates
// alone: its sample is a page of HSCAN, in no order.
func TestPagesOfALargeTopic(t *testing.T) {
	store := redisstore.New(redistest.Start(t).Client(), redisstore.Config{Timeout: patience, LogSize: 8})
	defer store.Close()
	const users, batch, most = 6000, 250, 500
	apply := func(from, to int, kind backend.OpKind) {
		var ops []backend.Op
		for i := from; i < to; i++ {
			id := fmt.Sprintf("u%04d", i)
			ops = append(ops, backend.Op{Kind: kind, User: presence.User{ID: presence.UserID(id)}, Holder: presence.Holder("b.q." + id), For: time.Hour, Idle: kind == backend.OpAttend})
		}
		noError(t, store.Apply(t.Context(), []backend.Batch{{Topic: presence.Site, Ops: ops}})[0].Err)
	}
	for from := 0; from < users; from += batch {
		apply(from, from+batch, backend.OpJoin)
		time.Sleep(2 * time.Millisecond)
	}
	for i := range 200 {
		apply(i, i+1, backend.OpAttend)
	}
	tracker, err := track.New(store, track.Config{MaxRoster: 50, LogSize: 8})
	noError(t, err)
	defer tracker.Close(t.Context())
	named := make(map[presence.UserID]int)
	for after, pages := "", 0; ; pages++ {
		view, err := tracker.View(t.Context(), presence.Site)
		for tries := 0; errors.Is(err, presence.ErrStoreOut) && tries < 100; tries++ { // it is still being read
			time.Sleep(50 * time.Millisecond)
			view, err = tracker.View(t.Context(), presence.Site)
		}
		noError(t, err)
		page, next, err := tracker.RosterPage(t.Context(), view, "", after, most)
		if err != nil || len(page) > most || pages > users {
			t.Fatalf("page %d: got %d users, %v", pages, len(page), err)
		}
		for _, m := range page {
			named[m.ID]++
		}
		if pages == 1 {
			apply(users, users+batch, backend.OpJoin) // users who come meanwhile
		}
		if after = next; after == "" {
			break
		}
	}
	for i := range users {
		if id := presence.UserID(fmt.Sprintf("u%04d", i)); named[id] == 0 {
			t.Fatalf("the pages name %d of %d users, and not %s", len(named), users, id)
		} else if named[id] > 2 {
			t.Errorf("the pages name %s %d times", id, named[id])
		}
	}
}

// Pages of any size name everybody who stays, whatever Redis keeps the roster in and whoever
// leaves or comes between two pages: users who were just named, and users who were not. A page
// that ended within a step of HSCAN must not take those for named whom the step has more when
// it is repeated.
func TestPagesWhileOthersLeave(t *testing.T) {
	for _, kept := range []struct {
		name    string
		listed  int // Redis keeps rosters of so many users in a list, which HSCAN returns whole
		users   int
		limits  []int
		comings int // between two pages
	}{
		{"in a table", 0, 6000, []int{50, 100, 500, 1000}, 0},
		{"in a table, a few users a page", 0, 400, []int{1, 2, 3, 7}, 0},
		{"in a table that grows", 0, 400, []int{2, 50}, 20},
		{"in a list", 1000, 400, []int{7, 50}, 1},
		{"in a list that becomes a table", 450, 400, []int{7, 50}, 10},
	} {
		t.Run(kept.name, func(t *testing.T) {
			client := redistest.Start(t).Client()
			for name, value := range map[string]int{"hash-max-ziplist-entries": kept.listed, "hash-max-ziplist-value": 1000} {
				noError(t, client.ConfigSet(t.Context(), name, fmt.Sprint(value)).Err())
			}
			store := redisstore.New(client, redisstore.Config{Timeout: patience})
			defer store.Close()
			for _, limit := range kept.limits {
				pagesWhileOthersLeave(t, store, presence.Topic(fmt.Sprintf("thread:%d", limit)), kept.users, limit, kept.comings)
			}
		})
	}
}

func pagesWhileOthersLeave(t *testing.T, store *redisstore.Store, topic presence.Topic, users, limit, comings int) {
	apply := func(kind backend.OpKind, ids []presence.UserID) {
		t.Helper()
		for ids := range slices.Chunk(ids, 200) {
			var ops []backend.Op
			for _, id := range ids {
				ops = append(ops, backend.Op{Kind: kind, User: presence.User{ID: id}, Holder: presence.Holder("b.q." + id), For: time.Hour})
			}
			noError(t, store.Apply(t.Context(), []backend.Batch{{Topic: topic, Ops: ops}})[0].Err)
		}
	}
	ids := func(from, to int) (ids []presence.UserID) {
		for i := from; i < to; i++ {
			ids = append(ids, presence.UserID(fmt.Sprintf("u%05d", i)))
		}
		return ids
	}
	apply(backend.OpJoin, ids(0, users))
	stay := make(map[presence.UserID]bool)
	for _, id := range ids(0, users) {
		stay[id] = true
	}
	rng := rand.New(rand.NewPCG(1, uint64(limit)))
	named := make(map[presence.UserID]bool)
	q := backend.RosterQuery{Limit: limit}
	for pages := 1; ; pages++ {
		page, err := store.Roster(t.Context(), topic, q)
		if err != nil || len(page.Members) > limit || pages > 10*users {
			t.Fatalf("page %d of %d: got %d users, %v", pages, limit, len(page.Members), err)
		}
		for _, m := range page.Members {
			named[m.ID] = true
		}
		if q.After = page.Next; q.After == "" {
			break
		}
		// Five leave of those on a large page, and of small pages now and then all of it and of the
		// next one, so that a step begins with nobody whom it had. And anybody leaves.
		var leave []presence.UserID
		switch {
		case limit >= 10:
			for _, m := range page.Members[:min(5, len(page.Members))] {
				leave = append(leave, m.ID)
			}
		case pages%5 == 0:
			next, err := store.Roster(t.Context(), topic, q)
			noError(t, err)
			for _, m := range slices.Concat(page.Members, next.Members) {
				leave = append(leave, m.ID)
			}
		}
		leave = append(leave, ids(0, users)[rng.IntN(users)])
		for _, id := range leave {
			delete(stay, id)
		}
		apply(backend.OpDrop, leave)
		if comings > 0 && pages < 50 {
			apply(backend.OpJoin, ids(users+pages*comings, users+(pages+1)*comings))
		}
	}
	missing := slices.DeleteFunc(slices.Sorted(maps.Keys(stay)), func(id presence.UserID) bool { return named[id] })
	if len(missing) > 0 || len(stay) < 10 || len(stay) == users {
		t.Errorf("pages of %d: %d users stayed, and no page names %d of them: %s", limit, len(stay), len(missing), missing[:min(len(missing), 5)])
	}
}
