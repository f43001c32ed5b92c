package track_test

import (
	"testing"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/memstore"
	"github.com/rollcall-go/rollcall/presence/track"
)

// Alice's phone has vanished, and a proxy keeps its stream open. Nobody is at her desk. She is
// idle a second after the phone's lease has expired, and the phone counts again when it is heard.
func TestIdleBesideAVanishedPage(t *testing.T) {
	for name, deskBeats := range map[string]bool{"a desk that beats": true, "a desk that need not beat": false} {
		bubble(t, name, func(t *testing.T) {
			a := start(t, memstore.New(), track.Config{})
			desk := connect(t, a, track.ConnectOptions{Visitor: visitor("alice"), Topics: []presence.Topic{"thread:1"}, Beat: deskBeats, Idle: true})
			phone := connect(t, a, track.ConnectOptions{Visitor: visitor("alice"), Beat: true})
			wait := func(d time.Duration) {
				for ; d > 0; d -= 11 * time.Second {
					if deskBeats {
						beatAt(t, a, desk, true)
					}
					time.Sleep(min(d, 11*time.Second))
				}
			}
			for range 3 {
				wait(44 * time.Second)
				wantStatus(t, "the phone may be there", a, "thread:1", presence.Online)
				wait(4 * time.Second)
				wantStatus(t, "the phone is silent", a, "thread:1", presence.Idle)
				wait(5 * time.Minute)
				wantStatus(t, "the phone is silent for long", a, "thread:1", presence.Idle)
				phone.Beat()
				time.Sleep(time.Millisecond * 100)
				wantStatus(t, "the phone is heard", a, "thread:1", presence.Online)
			}
		})
	}
}
