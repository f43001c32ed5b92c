package presence_test

import (
	"testing"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/memstore"
	"github.com/rollcall-go/rollcall/presence/presencetest"
)

// A user hides in every topic at once, also where the node that holds the user stands still: a node
// writes it that shows the user there.
func TestHidesWhileTheNodeOfAPageStandsStill(t *testing.T) {
	for _, shows := range []string{"the node that is told", "another one"} {
		bubble(t, shows, func(t *testing.T) {
			memory := memstore.New()
			still := presencetest.NewFaults(memory)
			a := start(t, still, presence.Config{Node: "a"})
			b := start(t, memory, presence.Config{Node: "b"})
			c := start(t, memory, presence.Config{Node: "c"})
			connect(t, a, presence.ConnectOptions{Visitor: visitor("alice"), Topics: []presence.Topic{presence.Site, "thread:1"}})
			looks := b
			if shows == "another one" {
				looks = c
			}
			w := openPage(t, looks, presence.ConnectOptions{Topics: []presence.Topic{"thread:1"}})
			w.want("state alice")
			still.Break(presencetest.Fault{Hang: true})
			time.Sleep(100 * time.Millisecond)
			choose(t, b, "alice", presence.Invisible)
			time.Sleep(100 * time.Millisecond)
			w.want("diff + -alice")
			still.Heal()
		})
	}
}
