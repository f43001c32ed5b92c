package track_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/track"
)

// A user views a page, and signs out, or one browser does. Some time later the store goes back to data of before, in which the
// page view holds the user. A node that knows of the sign-out tells the store once more. Readers never see the user again.
func TestViewOfAnOldCopyEndsOnceMore(t *testing.T) {
	for name, signOut := range map[string]func(ctx context.Context, a *track.Tracker) error{
		"sign-out": func(ctx context.Context, a *track.Tracker) error { return a.SignOut(ctx, "alice") },
		"sign-off": func(ctx context.Context, a *track.Tracker) error { return a.SignOff(ctx, "alice", "firefox") },
	} {
		for _, after := range []time.Duration{30 * time.Second, 2 * time.Minute} {
			bubble(t, fmt.Sprint(name, " ", after), func(t *testing.T) {
				store := newLaggingStore()
				a := start(t, store, track.Config{Node: "a"})
				w := watch(t, a)
				a.Seen(presence.Site, user("alice"), presence.Device{})
				time.Sleep(time.Second)
				w.want("diff +alice -")
				store.lag()
				noError(t, signOut(t.Context(), a))
				time.Sleep(after)
				w.want("diff + -alice")
				store.failover()
				time.Sleep(30 * time.Second)
				for _, e := range w.read() {
					if strings.Contains(e, "alice") {
						t.Errorf("got %s after the loss, want nothing of alice", e)
					}
				}
				if got := stored(t, store, presence.Site); got != "" {
					t.Errorf("got %q, want nobody", got)
				}
			})
		}
	}
}
