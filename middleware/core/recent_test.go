package core_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/rollcall-go/rollcall/middleware/core"
	"github.com/rollcall-go/rollcall/presence"
)

func TestRecentIsBoundedHoweverManyCome(t *testing.T) {
	r := core.NewRecent(time.Minute)
	const now = 1_000_000
	most := 0
	for i := range 200_000 {
		r.Record(presence.UserID(fmt.Sprint("user", i)), now)
		most = max(most, r.Len())
	}
	if most != 64<<10 {
		t.Errorf("got %d entries at most, want %d", most, 64<<10)
	}
	for i := 200_000 - 32<<10; i < 200_000; i++ {
		if got := r.Last(presence.UserID(fmt.Sprint("user", i))); got != now {
			t.Fatalf("got %d for user%d, one of the latest, want %d", got, i, now)
		}
	}
}

func TestRecentRemembersForAThrottleAtLeast(t *testing.T) {
	r := core.NewRecent(time.Minute)
	r.Record("early", 1_000_000)
	r.Record("alice", 1_059_000)
	r.Record("bob", 1_060_000) // turns
	if got := r.Last("alice"); got != 1_059_000 {
		t.Errorf("got %d for alice after a turn, want 1059000", got)
	}
	r.Remove("alice")
	if got := r.Last("alice"); got != 0 {
		t.Errorf("got %d for alice, who was forgotten, want 0", got)
	}
	r.Record("carol", 1_120_000)
	if got := r.Len(); got != 2 {
		t.Errorf("got %d entries after two turns, want those of bob and carol", got)
	}
	r.Remove("carol")
	if got := r.Last("carol"); got != 0 {
		t.Errorf("got %d for carol, who was forgotten, want 0", got)
	}
}
