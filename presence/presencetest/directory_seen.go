package presencetest

import (
	"slices"
	"sync"
	"time"

	"github.com/rollcall-go/rollcall/presence"
)

func lastSeenCases() []directoryCase {
	return []directoryCase{
		{"rule D5", "the later of two moments stays (rule P12)", func(t *directoryTrial) {
			early, late := t.moment(-time.Hour), t.moment(-time.Minute)
			t.saw("alice", early)
			t.wantSeen("alice", early)
			t.saw("alice", late)
			t.saw("alice", early)
			t.saw("alice", late)
			t.wantSeen("alice", late)
			t.must(t.Saw(t.Context(), map[presence.UserID]time.Time{"alice": early, "bob": early}))
			t.wantSeen("alice", late)
			t.wantSeen("bob", early)
			t.wantSeen("carol", time.Time{})
		}},
		{"rule D5", "no settings are changed", func(t *directoryTrial) {
			t.set("alice", t.chosen())
			t.must(t.Block("alice", "bob", true))
			t.saw("alice", t.moment(-time.Hour))
			want := t.chosen()
			want.Except = true
			t.wantSettings("alice", want)
		}},
		{"rule D5", "500 users at once, by several nodes", func(t *directoryTrial) {
			users := userIDs("user", 500)
			const nodes = 4
			var wg sync.WaitGroup
			for node := range nodes {
				at := make(map[presence.UserID]time.Time)
				for i, user := range users {
					at[user] = t.moment(-time.Hour + time.Duration((i+node)%nodes)*time.Minute)
				}
				wg.Go(func() {
					for range 3 {
						if err := t.Saw(t.Context(), at); err != nil {
							t.Errorf("node %d: %v", node, err)
						}
					}
				})
			}
			wg.Wait()
			for i, got := range t.lastSeen(users...) {
				if want := t.moment(-time.Hour + (nodes-1)*time.Minute); !sameMoment(got.At, want) {
					t.Errorf("user %d: got %v, want %v", i, got.At, want)
				}
			}
			t.must(t.Saw(t.Context(), nil))
		}},
		{"rule D6", "the moment and the settings of one user", func(t *directoryTrial) {
			t.set("alice", t.chosen())
			t.saw("alice", t.moment(-time.Hour))
			t.set("bob", presence.Settings{Seen: presence.Nobody})
			t.saw("carol", t.moment(-2*time.Hour))
			want := []presence.Seen{
				{At: t.moment(-2 * time.Hour)},
				{Settings: presence.Settings{Seen: presence.Nobody}},
				{},
				{At: t.moment(-time.Hour), Settings: t.chosen()},
			}
			for i, got := range t.lastSeen("carol", "bob", "dave", "alice") {
				if !sameMoment(got.At, want[i].At) || !sameSettings(got.Settings, want[i].Settings) {
					t.Errorf("answer %d: got %+v, want %+v", i, got, want[i])
				}
			}
		}},
		{"rule D6", "a thousand users", func(t *directoryTrial) {
			users := userIDs("user", 1_000)
			base := t.moment(-100 * time.Hour)
			for half := range slices.Chunk(users, 500) {
				at := make(map[presence.UserID]time.Time)
				for _, user := range half {
					at[user] = base.Add(time.Duration(slices.Index(users, user)) * time.Minute)
				}
				t.must(t.Saw(t.Context(), at))
			}
			for i, got := range t.lastSeen(users...) {
				if want := base.Add(time.Duration(i) * time.Minute); !sameMoment(got.At, want) {
					t.Errorf("answer %d: got %v, want %v", i, got.At, want)
				}
			}
			if got := t.lastSeen(); len(got) != 0 {
				t.Errorf("of nobody: got %v, want nothing", got)
			}
		}},
		{"rule D6", "the answer is the same each time", func(t *directoryTrial) {
			t.set("alice", t.chosen())
			t.saw("alice", time.Now().Add(-time.Hour))
			first := t.lastSeen("alice")[0]
			for range 20 {
				if got := t.lastSeen("alice")[0]; got != first {
					t.Errorf("got %v and then %v", first, got)
				}
			}
		}},
	}
}
