package track_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
	"github.com/rollcall-go/rollcall/presence/memstore"
	"github.com/rollcall-go/rollcall/presence/presencetest"
	"github.com/rollcall-go/rollcall/presence/track"
)

// recentKinds have the site and threads remember names.
var recentKinds = map[string]presence.Kind{"site": {Recent: 1000}, "thread": {Recent: 1000}}

func recentIDs(page backend.RecentPage) (ids []string) {
	for _, u := range page.Users {
		ids = append(ids, fmt.Sprint(u.ID, " ", u.Online))
	}
	return ids
}

func TestRecentIsPaged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		faults := presencetest.NewFaults(memstore.New())
		tracker := start(t, faults, track.Config{Kinds: recentKinds})
		for i := range 5 {
			tracker.Seen(presence.Site, user(fmt.Sprint("u", i)), presence.Device{})
			time.Sleep(time.Second)
		}
		noError(t, tracker.SignOut(t.Context(), "u4"))
		var got []string
		q := backend.RecentQuery{Within: time.Hour, Limit: 2}
		before := faults.Calls(presencetest.CallRecent)
		for pages := 1; ; pages++ {
			page, err := tracker.Recent(t.Context(), presence.Site, q)
			if err != nil || page.Total != 5 {
				t.Fatalf("got %+v, %v, want a total of 5", page, err)
			}
			got = append(got, recentIDs(page)...)
			if q.After = page.Next; q.After == "" {
				if calls := faults.Calls(presencetest.CallRecent) - before; calls != pages || pages != 3 {
					t.Errorf("got %d calls for %d pages, want 3 of each", calls, pages)
				}
				break
			}
		}
		if want := []string{"u4 false", "u3 true", "u2 true", "u1 true", "u0 true"}; !slices.Equal(got, want) {
			t.Errorf("got %v, want %v", got, want)
		}
	})
}

func TestRecentRefusesWhatNoPageAsks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		faults := presencetest.NewFaults(memstore.New())
		tracker := start(t, faults, track.Config{Kinds: recentKinds})
		for _, q := range []backend.RecentQuery{
			{}, {Limit: 1001}, {Limit: -1}, {Limit: 1, Within: -1}, {Limit: 1, Within: backend.MaxWithin + 1}, {Limit: 1, After: "~"},
			{Limit: 1, Users: []presence.UserID{"bob"}},
		} {
			if _, err := tracker.Recent(t.Context(), presence.Site, q); !errors.Is(err, presence.ErrInvalidQuery) || errors.Is(err, presence.ErrStoreOut) {
				t.Errorf("%+v: got %v, want ErrInvalidQuery", q, err)
			}
		}
		if _, err := tracker.LatelyActive(t.Context(), presence.Site, 0, 0); !errors.Is(err, presence.ErrInvalidQuery) {
			t.Errorf("got %v of LatelyActive without a limit, want ErrInvalidQuery", err)
		}
		faults.Break(presencetest.Fault{Err: errors.New("out")}, presencetest.CallRecent)
		if _, err := tracker.Recent(t.Context(), presence.Site, backend.RecentQuery{Limit: 1}); !errors.Is(err, presence.ErrStoreOut) {
			t.Errorf("got %v, want ErrStoreOut", err)
		}
	})
}

// A topic whose kind remembers no names has the right total and nobody in it.
func TestRecentWithoutNames(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tracker := start(t, memstore.New(), track.Config{})
		tracker.Seen(presence.Site, user("alice"), presence.Device{})
		time.Sleep(time.Second)
		page, err := tracker.Recent(t.Context(), presence.Site, backend.RecentQuery{Limit: 10})
		if err != nil || page.Total != 1 || len(page.Users) != 0 {
			t.Errorf("got %+v, %v, want a total of 1 alone", page, err)
		}
	})
}

// Pages have the recently active from memory: renewed every 2 s while somebody asks, and
// forgotten a minute after. Whether each user is online is as the roster here has it.
func TestLatelyActiveComesFromMemory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		faults := presencetest.NewFaults(memstore.New())
		tracker := start(t, faults, track.Config{Kinds: recentKinds})
		openPage(t, tracker, track.ConnectOptions{}) // loads the site
		tracker.Seen(presence.Site, user("alice"), presence.Device{})
		bob := connect(t, tracker, track.ConnectOptions{Visitor: visitor("bob")})
		time.Sleep(time.Second)
		want := func(when string, calls int, users ...string) {
			t.Helper()
			synctest.Wait()
			page, err := tracker.LatelyActive(t.Context(), presence.Site, 0, 10)
			if err != nil || !slices.Equal(recentIDs(page), users) {
				t.Errorf("%s: got %v, %v, want %v", when, recentIDs(page), err, users)
			}
			if got := faults.Calls(presencetest.CallRecent); got != calls {
				t.Errorf("%s: got %d calls of the store, want %d", when, got, calls)
			}
		}
		want("at first", 1, "alice true")
		tracker.Seen(presence.Site, user("bob"), presence.Device{})
		time.Sleep(1900 * time.Millisecond)
		want("before 2 s", 1, "alice true")
		time.Sleep(200 * time.Millisecond)
		want("after 2 s", 2, "bob true", "alice true")
		bob.Drop()
		noError(t, tracker.SignOut(t.Context(), "bob"))
		time.Sleep(time.Second)
		want("signed out", 2, "bob false", "alice true")
		time.Sleep(2 * time.Minute) // nobody asks: it is renewed until a minute has passed
		synctest.Wait()
		quiet := faults.Calls(presencetest.CallRecent)
		if quiet < 30 || quiet > 34 {
			t.Errorf("got %d calls, want one every 2 s for a minute", quiet)
		}
		time.Sleep(time.Hour)
		want("much later", quiet+1)
	})
}

// A page waits 50 ms for the first answer, and never for a later one.
func TestLatelyActiveWaitsAsAPageMay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		faults := presencetest.NewFaults(memstore.New())
		tracker := start(t, faults, track.Config{Kinds: recentKinds})
		tracker.Seen(presence.Site, user("alice"), presence.Device{})
		time.Sleep(time.Second)
		faults.Break(presencetest.Fault{Delay: 200 * time.Millisecond}, presencetest.CallRecent)
		lately := func(ctx context.Context) (users int, took time.Duration, err error) {
			began := time.Now()
			page, err := tracker.LatelyActive(ctx, presence.Site, 0, 10)
			return len(page.Users), time.Since(began), err
		}
		if _, took, err := lately(t.Context()); !errors.Is(err, presence.ErrStoreOut) || took != 50*time.Millisecond {
			t.Errorf("got %v after %v, want ErrStoreOut after 50ms", err, took)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if users, took, err := lately(ctx); users != 1 || err != nil || took != 150*time.Millisecond {
			t.Errorf("got %d users, %v after %v, want alice after 150ms", users, err, took)
		}
		faults.Break(presencetest.Fault{Err: errors.New("out")}, presencetest.CallRecent)
		time.Sleep(30 * time.Second)
		if users, took, err := lately(t.Context()); users != 1 || err != nil || took != 0 {
			t.Errorf("got %d users, %v after %v while the store is out, want alice at once", users, err, took)
		}
		if users, _, err := lately(t.Context()); users != 1 || err != nil {
			t.Errorf("got %d users, %v", users, err)
		}
		began := time.Now()
		if _, err := tracker.LatelyActive(t.Context(), "thread:1", 0, 10); !errors.Is(err, presence.ErrStoreOut) || time.Since(began) != 0 {
			t.Errorf("got %v after %v, want ErrStoreOut at once", err, time.Since(began))
		}
		faults.Heal()
		time.Sleep(3 * time.Second) // an answer that is not known is asked for more often
		if _, err := tracker.LatelyActive(t.Context(), "thread:1", 0, 10); err != nil {
			t.Errorf("got %v when the store was back", err)
		}
	})
}

// The memory of the recently active holds 1,000 topics, and 100 users of each. It forgets the
// topic that was asked about longest ago.
func TestLatelyActiveIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		faults := presencetest.NewFaults(memstore.New())
		tracker := start(t, faults, track.Config{Kinds: recentKinds})
		for i := range 150 {
			tracker.Seen("thread:0", user(fmt.Sprint("u", i)), presence.Device{})
		}
		time.Sleep(time.Second)
		for i := range 1001 {
			page, err := tracker.LatelyActive(t.Context(), presence.Topic(fmt.Sprint("thread:", i)), 0, 1000)
			if err != nil || i == 0 && (len(page.Users) != 100 || page.Total != 150) {
				t.Fatalf("got %d users of %d, %v, want 100", len(page.Users), page.Total, err)
			}
			time.Sleep(time.Millisecond)
		}
		if got := tracker.LatelyKept(); got != 1000 {
			t.Errorf("got %d topics, want 1000", got)
		}
		calls := faults.Calls(presencetest.CallRecent)
		for _, tc := range []struct {
			topic presence.Topic
			more  int
		}{{"thread:1", 0}, {"thread:1000", 0}, {"thread:0", 1}} {
			if _, err := tracker.LatelyActive(t.Context(), tc.topic, 0, 10); err != nil {
				t.Fatal(err)
			}
			if got := faults.Calls(presencetest.CallRecent) - calls; got != tc.more {
				t.Errorf("%s: got %d calls, want %d", tc.topic, got, tc.more)
			}
		}
	})
}

// Who turns invisible is one who left from then on, on every node, although the memory still
// says that the user is online; and is online again once visible.
func TestLatelyActiveHasTheInvisibleLeave(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memstore.New()
		nodes := []*track.Tracker{
			start(t, store, track.Config{Node: "a", Kinds: recentKinds}), start(t, store, track.Config{Node: "b", Kinds: recentKinds}),
		}
		openPage(t, nodes[0], track.ConnectOptions{}) // the other node has no roster of the site
		nodes[0].Seen(presence.Site, user("alice"), presence.Device{})
		nodes[0].Seen(presence.Site, user("bob"), presence.Device{})
		want := func(when string, limit int, users ...string) {
			t.Helper()
			time.Sleep(time.Second)
			for i, tracker := range nodes {
				page, err := tracker.LatelyActive(t.Context(), presence.Site, 0, limit)
				if err != nil || !slices.Equal(recentIDs(page), users) {
					t.Errorf("%s: node %d: got %v, %v, want %v", when, i, recentIDs(page), err, users)
				}
			}
		}
		want("at first", 10, "alice true", "bob true")
		noError(t, nodes[0].SetStatus(t.Context(), "alice", presence.Invisible))
		want("invisible", 10, "alice false", "bob true")
		for i, tracker := range nodes {
			if page, err := tracker.LatelyActive(t.Context(), presence.Site, 0, 10); err != nil || page.Total != 2 {
				t.Errorf("node %d: got a total of %d, %v, want 2", i, page.Total, err)
			}
		}
		noError(t, nodes[1].SetStatus(t.Context(), "alice", presence.Online))
		nodes[0].Seen(presence.Site, user("alice"), presence.Device{})
		time.Sleep(15 * time.Second)
		want("visible again", 10, "alice true", "bob true")
	})
}
