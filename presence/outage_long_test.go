package presence_test

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/presencetest"
)

// An outage that is longer than the TTL ends with every lease expired in a store
// that forgot nothing. Nobody may be swept before the nodes have had time to say
// who is still there.
func TestOutageLongerThanTheTTL(t *testing.T) {
	for _, tc := range []struct {
		name  string
		fault presencetest.Fault
	}{
		{"refuses", presencetest.Fault{Err: errDown}},
		{"hangs", presencetest.Fault{Hang: true}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				faults := presencetest.NewFaults(presence.NewMemoryStore())
				a := start(t, faults, presence.Config{Node: "a"})
				b := start(t, faults, presence.Config{Node: "b"})
				w := openPage(t, a, presence.ConnectOptions{})
				w.want("state ")
				connect(t, a, presence.ConnectOptions{Visitor: visitor("here")})
				connect(t, b, presence.ConnectOptions{Visitor: visitor("there")})
				goes := connect(t, b, presence.ConnectOptions{Visitor: visitor("goes")})
				w.settle()
				w.read()
				before := len(w.lines)

				faults.Break(tc.fault)
				time.Sleep(time.Minute)
				goes.Close()
				start(t, faults, presence.Config{Node: "new"})
				time.Sleep(2 * time.Minute)
				faults.Heal()
				time.Sleep(40 * time.Second)
				w.read()
				if got, want := w.lines[before:], []string{"diff + -goes"}; !slices.Equal(got, want) {
					t.Errorf("got %q, want %q", got, want)
				}
			})
		})
	}
}
