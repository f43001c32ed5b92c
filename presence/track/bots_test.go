package track_test

import (
	"fmt"
	"maps"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
	"github.com/rollcall-go/rollcall/presence/memstore"
	"github.com/rollcall-go/rollcall/presence/track"
)

// Bots are told by name, in the state and in a heartbeat when they change, at every node, and
// are no guests. Names that are none, and topics whose kind counts no bots, have none.
func TestBots(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &appliedStore{Store: memstore.New()}
		cfg := track.Config{Kinds: map[string]presence.Kind{"site": {Bots: true}}}
		a, b := start(t, store, cfg), start(t, store, cfg)
		watch := connect(t, b, track.ConnectOptions{Topics: []presence.Topic{presence.Site, "thread:1"}})
		watch.Events(nil)
		for _, bot := range []struct{ name, id string }{
			{"Googlebot", "1"}, {"Googlebot", "2"}, {"Googlebot", "2"}, {"Bing<bot>", "3"},
			{"", "1"}, {"no id", ""}, {strings.Repeat("x", 33), "1"}, {`quo"te`, "1"}, {"Zoë", "1"},
		} {
			a.SeenBot(presence.Site, bot.name, bot.id)
			a.SeenBot("thread:1", bot.name, bot.id)
		}
		time.Sleep(1100 * time.Millisecond)
		if sent, other := store.of(presence.Site, backend.OpBot), store.of("thread:1", backend.OpBot); len(sent) != 3 || len(other) != 0 {
			t.Errorf("got %v and %v sent to the store, want three bots of the site", sent, other)
		}
		var told []string
		for _, e := range watch.Events(nil) {
			told = append(told, string(e.Data))
		}
		if len(told) != 1 || !strings.Contains(told[0], `"guests":0`) || !strings.Contains(told[0], `"bots":{"Bing\u003cbot\u003e":1,"Googlebot":2}`) {
			t.Errorf("got %q, want one heartbeat with the bots", told)
		}
		v, err := b.View(t.Context(), presence.Site)
		if err != nil || !maps.Equal(v.Bots, map[string]int{"Googlebot": 2, "Bing<bot>": 1}) {
			t.Errorf("got bots %v, %v", v.Bots, err)
		}
		watch.WantState(presence.Site)
		if s := string(watch.Events(nil)[0].Data); !strings.Contains(s, `"bots":{"Bing`) {
			t.Errorf("got state %s, want the bots", s)
		}
		time.Sleep(11 * time.Minute) // two age periods
		if v, err = b.View(t.Context(), presence.Site); err != nil || len(v.Bots) != 0 {
			t.Errorf("got bots %v, %v long after, want none", v.Bots, err)
		}
	})
}

// A topic names the bots of which there are most, and says how many it does not name.
func TestBotsOfManyNames(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tracker := start(t, memstore.New(), track.Config{Kinds: map[string]presence.Kind{"site": {Bots: true}}})
		bots := func(name string, n int) {
			for i := range n {
				tracker.SeenBot(presence.Site, name, fmt.Sprint(name, i))
			}
		}
		bots(backend.OtherBots, 5)
		for i := range 4_000 {
			bots(fmt.Sprint("Bot", i), 1)
			if i%100 == 0 {
				time.Sleep(time.Second)
			}
		}
		bots("Googlebot", 50)
		time.Sleep(10 * time.Second)
		v, err := tracker.View(t.Context(), presence.Site)
		if err != nil || len(v.Bots) > 32 || v.Bots["Googlebot"] < 45 || v.Bots[backend.OtherBots] < 2_500 {
			t.Errorf("got bots %v, %v, want 32 names with 50 Googlebots among them, and many others", v.Bots, err)
		}
	})
}
