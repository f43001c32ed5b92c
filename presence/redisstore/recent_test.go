package redisstore_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
)

const day = backend.MaxWithin

// Nothing of names is left when their time is over, whether a step or a sweep noticed the leave.
func TestNamesComeAndGo(t *testing.T) {
	k := newKeeper(t, presence.Keep{Names: 100})
	k.does(seen("alice"), joins("bob"))
	k.passes(time.Second)
	k.does(of(backend.OpRelease, "bob"))
	k.passes(6 * time.Minute)
	k.sweeps(1)
	k.wants(k.recent(backend.RecentQuery{Within: day}), "2 bob- alice-")
	for _, key := range []string{"presence:{site}:lately", "presence:{site}:names"} {
		if ttl := k.client.PTTL(t.Context(), key).Val(); ttl <= 0 || ttl > day {
			t.Errorf("without a cron %s stays for %v, want a day", key, ttl)
		}
	}
	k.passes(day)
	if n, err := k.Trim(t.Context(), 2*day, 10); err != nil || n != 0 {
		t.Errorf("Trim: got %d, %v, want nothing but names forgotten, which do not count", n, err)
	}
	if left := k.keys("lately", "names"); len(left) > 0 {
		t.Errorf("got %q left of names that are forgotten", left)
	}
}

// sweeps sweeps until so many have left. A sweep of a busy machine may leave some to the next one.
func (k *keeper) sweeps(leaves int) {
	k.Helper()
	got := 0
	for tries := 0; got < leaves && tries < 20; tries++ {
		k.passes(2 * time.Second) // the topic is looked at once a second
		swept, err := k.Sweep(k.Context(), backend.SweepOptions{Limit: 10_000})
		if err != nil {
			k.Fatal(err)
		}
		got += swept.Leaves
	}
	if got != leaves {
		k.Fatalf("sweeps: got %d leaves, want %d", got, leaves)
	}
}

// Of the names that a bound evicts no profile is left, also where a sweep evicts them.
func TestNamesAreBounded(t *testing.T) {
	const most = 50
	k := newKeeper(t, presence.Keep{Names: most})
	for i := range 40 {
		var ops []backend.Op
		for j := range 10 {
			ops = append(ops, seen(fmt.Sprintf("u%03d", 10*i+j)))
		}
		k.does(ops...)
		k.passes(time.Second)
	}
	k.passes(10 * time.Minute)
	k.sweeps(400)
	k.wants(k.recent(backend.RecentQuery{Within: day, Limit: 2}), "50 u390- u391- …")
	if n, m := k.client.ZCard(t.Context(), "presence:{site}:lately").Val(), k.client.HLen(t.Context(), "presence:{site}:names").Val(); n != most || m != most+1 {
		t.Errorf("got %d users and %d fields, want %d and one more", n, m, most)
	}
	k.keep.Names = 0
	k.does(seen("another"))
	if left := k.keys("lately", "names"); len(left) > 0 {
		t.Errorf("got %q left where no names are kept any more", left)
	}
}

// Whatever of the keys is lost between two steps, no step fails, and nothing stays behind.
func TestLostNames(t *testing.T) {
	for _, lost := range [][]string{{"lately"}, {"names"}, {"lately", "names", "peak", "bots", "users"}, nil} {
		k := newKeeper(t, keepsAll)
		k.does(seen("alice"), joins("bob"), joins("carol"))
		k.passes(time.Second)
		k.does(of(backend.OpSignOff, "bob"), of(backend.OpRelease, "carol"))
		for _, name := range lost {
			k.client.Del(t.Context(), "presence:{site}:"+name)
		}
		if lost == nil {
			k.client.FlushAll(t.Context())
		}
		k.recent(backend.RecentQuery{})
		k.passes(time.Second)
		k.does(joins("dave"))
		k.passes(time.Second)
		k.does(of(backend.OpRelease, "dave"), joins("erin"))
		if got := k.recent(backend.RecentQuery{Within: day, Limit: 2}); !strings.Contains(got+" ", " dave- erin ") {
			t.Errorf("without %q: got %q, want dave and erin first", lost, got)
		}
		named := k.client.HKeys(t.Context(), "presence:{site}:names").Val()
		for _, id := range named {
			if id != "" && k.client.ZScore(t.Context(), "presence:{site}:lately", id).Err() != nil {
				t.Errorf("without %q: the profile of %q is left without its user", lost, id)
			}
		}
		if peak := k.counts().Peak; peak.Total == 0 {
			t.Errorf("without %q: got no peak", lost)
		}
	}
}

// A page passes over a thousand users at most, and says where the next one begins.
func TestAPageIsBounded(t *testing.T) {
	k := newKeeper(t, presence.Keep{Names: 10_000})
	k.does(seen("first"))
	k.passes(time.Second)
	for i := 0; i < 3000; i += 250 {
		var ops []backend.Op
		for j := range 250 {
			ops = append(ops, joins(fmt.Sprintf("u%04d", i+j)))
		}
		k.does(ops...)
	}
	pages, after := 0, ""
	for ; ; pages++ {
		page, err := k.Recent(t.Context(), presence.Site, backend.RecentQuery{After: after, Limit: 10})
		if err != nil || page.Total != 1 {
			t.Fatalf("got %+v, %v", page, err)
		}
		if after = page.Next; after == "" {
			if len(page.Users) != 1 || page.Users[0].ID != "first" {
				t.Errorf("got %+v, want the one who viewed a page", page.Users)
			}
			break
		}
	}
	if pages != 3 {
		t.Errorf("got %d short pages, want three: a thousand users each", pages)
	}
}

// The names of current and old are found behind those of users who came since without a page
// view; names from before are not looked at.
func TestNamesOfThePeriods(t *testing.T) {
	k := newKeeper(t, presence.Keep{Names: 10_000})
	turns := func() {
		t.Helper()
		k.passes(guestPeriod)
		if n, err := k.Age(t.Context(), guestPeriod); err != nil || n != 1 {
			t.Fatalf("Age: got %d, %v, want one turn", n, err)
		}
	}
	for i := 0; i < 3000; i += 250 {
		var ops []backend.Op
		for j := range 250 {
			ops = append(ops, seen(fmt.Sprintf("u%04d", i+j)))
		}
		k.does(ops...)
	}
	turns()
	k.does(seen("alice"))
	k.wants(k.recent(backend.RecentQuery{Limit: 2}), "3001 alice u0000 …")
	turns()
	k.does(seen("bob"), joins("carol"))
	k.wants(k.recent(backend.RecentQuery{Limit: 10}), "2 bob alice")
}
