package track_test

import (
	"testing"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/memstore"
	"github.com/rollcall-go/rollcall/presence/track"
)

// Whoever signs out was last seen then, as whoever turns invisible: the two look alike.
func TestSignOutIsAProofOfLife(t *testing.T) {
	for name, leave := range map[string]func(*town) error{
		"SignOut":              func(d *town) error { return d.a.SignOut(d.t.Context(), "alice") },
		"SignOut elsewhere":    func(d *town) error { return d.b.SignOut(d.t.Context(), "alice") },
		"SignOff":              func(d *town) error { return d.a.SignOff(d.t.Context(), "alice", "firefox") },
		"SignOff elsewhere":    func(d *town) error { return d.b.SignOff(d.t.Context(), "alice", "firefox") },
		"EndSession":           func(d *town) error { return d.a.People().EndSession(d.t.Context(), "alice", "laptop") },
		"EndSession elsewhere": func(d *town) error { return d.b.People().EndSession(d.t.Context(), "alice", "laptop") },
		"invisible": func(d *town) error {
			d.choose(d.a, "alice", presence.Settings{Status: presence.Invisible})
			return nil
		},
	} {
		bubble(t, name, func(t *testing.T) {
			d := newTownOn(t, memstore.New())
			v := on("alice", "laptop")
			v.Browser = "firefox"
			connect(t, d.a, track.ConnectOptions{Visitor: v, Topics: []presence.Topic{presence.Site, "thread:1"}})
			time.Sleep(time.Second)
			pages := map[string]*page{
				"site":     openPage(t, d.b, track.ConnectOptions{}),
				"thread:1": openPage(t, d.b, track.ConnectOptions{Topics: []presence.Topic{"thread:1"}}),
				"people":   openPage(t, d.b, peopleOptions("bob", "alice")),
			}
			time.Sleep(5 * time.Second)
			for _, p := range pages {
				p.read()
			}
			at := time.Now()
			noError(t, leave(d))
			time.Sleep(time.Second)
			for topic, p := range pages {
				p.read()
				seen, err := time.Parse(time.RFC3339Nano, p.lastSeen["alice"])
				if err != nil || seen.Sub(at).Abs() > 500*time.Millisecond {
					t.Errorf("%s: last seen %q, want about %v", topic, p.lastSeen["alice"], at.UTC())
				}
			}
		})
	}
}
