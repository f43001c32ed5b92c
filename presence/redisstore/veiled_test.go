package redisstore_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
)

// older writes what a node of an older version wrote of a user who turned invisible: the record
// stays in the roster, and a diff tells of it.
func (k *keeper) older(id string) {
	k.Helper()
	record, err := k.client.HGet(k.Context(), "presence:{site}:users", id).Result()
	noError(k.T, err)
	record = strings.Replace(record, " online ", " invisible- ", 1)
	noError(k.T, k.client.HSet(k.Context(), "presence:{site}:users", id, record).Err())
	line := strings.SplitN(record, " ", 3)[2]
	head := k.client.Get(k.Context(), "presence:{site}:head").Val()
	total := k.client.HLen(k.Context(), "presence:{site}:users").Val()
	next := fmt.Sprintf("%d-7", k.now().UnixMilli()+1)
	diff := fmt.Sprintf("%s %d 0\n~%s\x1f%s", head, total, id, line)
	noError(k.T, k.client.XAdd(k.Context(), &redis.XAddArgs{Stream: "presence:{site}:log", ID: next, Values: []any{"d", diff, "v", "1"}}).Err())
	noError(k.T, k.client.Set(k.Context(), "presence:{site}:head", next, 0).Err())
	k.passes(2 * time.Millisecond)
}

// shown returns all that the store shows of the site and its users alice and bob.
func (k *keeper) shown() string {
	k.Helper()
	snap, err := k.Snapshot(k.Context(), presence.Site)
	noError(k.T, err)
	page, err := k.Roster(k.Context(), presence.Site, backend.RosterQuery{Limit: 10})
	noError(k.T, err)
	members, err := k.Members(k.Context(), presence.Site, "alice", "bob")
	noError(k.T, err)
	sightings, err := k.Sightings(k.Context(), presence.Site, "alice", "bob")
	noError(k.T, err)
	var words []string
	for _, all := range [][]presence.Member{snap.Members, page.Members, members} {
		for _, m := range all {
			words = append(words, string(m.ID))
		}
		words = append(words, "/")
	}
	for _, s := range sightings {
		words = append(words, fmt.Sprint(s.Online))
	}
	return strings.Join(words, " ") + " / " + k.recent(backend.RecentQuery{Within: time.Hour})
}

// A node of an older version does not know the status "invisible-", and writes its user into the
// roster. No reader shows the user, and the topic hides the user at once.
func TestInvisibleInRoster(t *testing.T) {
	k := newKeeper(t, presence.Keep{Names: 10})
	k.does(joins("alice"), joins("bob"))
	before, err := k.Snapshot(t.Context(), presence.Site)
	noError(t, err)
	k.older("bob")
	if got, want := k.shown(), "alice / alice / alice  / true false / "; !strings.HasPrefix(got, want) || strings.Contains(got, "bob") {
		t.Errorf("got %q, want %q and no bob", got, want)
	}
	deadline := time.Now().Add(patience)
	for k.client.HExists(t.Context(), "presence:{site}:users", "bob").Val() && time.Now().Before(deadline) {
		time.Sleep(5 * time.Millisecond)
	}
	counts, err := k.Counts(t.Context(), presence.Site)
	noError(t, err)
	if counts[0].Total != 1 {
		t.Errorf("got %d users in the roster, want 1", counts[0].Total)
	}
	k.wants(strings.Join(k.client.HKeys(t.Context(), "presence:{site}:hidden").Val(), " "), "bob")
	k.wants(k.recent(backend.RecentQuery{Within: time.Hour}), "1 alice")
	if n := k.client.ZCard(t.Context(), "presence:{site}:leases").Val(); n != 2 {
		t.Errorf("got %d leases, want 2", n)
	}
	diffs, err := k.Store.Log(t.Context(), presence.Site, before.ID)
	noError(t, err)
	for _, d := range diffs {
		if len(d.Joins)+len(d.Updates) > 0 || len(d.Leaves) != 1 || d.Leaves[0].ID != "bob" || !d.Leaves[0].LastSeen.IsZero() {
			t.Errorf("got diff %+v, want bob to leave, without last seen", d)
		}
	}

	// The fleet still knows the user, and so a choice to be seen shows the user.
	busy := of(backend.OpUpdate, "bob")
	busy.User.Status = presence.Busy
	k.does(busy)
	if got := strings.Fields(k.shown()); !strings.Contains(strings.Join(got[:2], " "), "bob") {
		t.Errorf("got %q, want bob too", got)
	}
}

// A user who is in the roster although invisible leaves it by any step, and without last seen.
func TestInvisibleInRosterSteps(t *testing.T) {
	for name, step := range map[string]func(k *keeper){
		"page view": func(k *keeper) {
			k.does(seen("alice"), backend.Op{Kind: backend.OpSeen, User: presence.User{ID: "bob"}, For: time.Minute})
		},
		"follow":   func(k *keeper) { op := of(backend.OpFollow, "bob"); op.For = 10 * time.Minute; k.does(op) },
		"release":  func(k *keeper) { k.does(of(backend.OpRelease, "bob")) },
		"sign-out": func(k *keeper) { k.does(of(backend.OpSignOut, "bob")) },
		"sweep": func(k *keeper) {
			k.passes(11 * time.Minute)
			for range 2 {
				_, err := k.Sweep(k.Context(), backend.SweepOptions{Limit: 100})
				noError(k.T, err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			k := newKeeper(t, presence.Keep{Names: 10})
			k.does(joins("bob"))
			k.older("bob")
			head := presence.DiffID(k.client.Get(t.Context(), "presence:{site}:head").Val())
			step(k)
			diffs, err := k.Store.Log(t.Context(), presence.Site, head)
			noError(t, err)
			var left []backend.Departure
			for _, d := range diffs {
				left = append(left, d.Leaves...)
				for _, m := range append(d.Joins, d.Updates...) {
					if m.ID == "bob" {
						t.Errorf("bob is told: %+v", m)
					}
				}
			}
			if len(left) != 1 || !left[0].LastSeen.IsZero() {
				t.Errorf("got leaves %v, want one of bob without last seen", left)
			}
			if k.client.HExists(t.Context(), "presence:{site}:users", "bob").Val() {
				t.Error("bob is in the roster")
			}
		})
	}
}
