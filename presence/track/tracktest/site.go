package tracktest

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/rollcall-go/rollcall/jobs"
	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/memstore"
	"github.com/rollcall-go/rollcall/presence/track"
)

// siteWait is how long PageView waits for the roster.
const siteWait = 5 * time.Second

// Site returns a tracker for the test of a site, with a store in memory and some users
// online. Each of them has a page with an open stream in [presence.Site], which stays open
// until the test ends. The roster has the last user first, as the newest. The jobs of the
// package jobs run with their defaults, so users leave as time passes.
//
// Site works in a bubble of [testing/synctest] and outside of one. In a bubble a test
// skips time with time.Sleep. The tracker and the jobs end with the test.
func Site(t testing.TB, online ...presence.User) *track.Tracker {
	t.Helper()
	return SiteWithConfig(t, track.Config{}, online...)
}

// SiteWithConfig is [Site] for a tracker with a Config. Without a Logger the tracker logs
// to the test.
func SiteWithConfig(t testing.TB, cfg track.Config, online ...presence.User) *track.Tracker {
	t.Helper()
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.NewTextHandler(t.Output(), nil))
	}
	tracker, err := track.New(memstore.New(), cfg)
	if err != nil {
		t.Fatal("presencetest: ", err)
	}
	t.Cleanup(func() { _ = tracker.Close(context.Background()) })
	runner, err := jobs.Start(tracker, jobs.Config{})
	if err != nil {
		t.Fatal("presencetest: ", err)
	}
	t.Cleanup(runner.Stop)
	for _, user := range online {
		Stream(t, tracker, user)
	}
	return tracker
}

// Stream opens a stream of a user in some topics, as the script of an open page does, and
// returns once the rosters have the user. Without topics the stream is in
// [presence.Site]. Close the connection to see the user leave after the grace. Otherwise
// it is closed when the test ends.
func Stream(t testing.TB, tracker *track.Tracker, user presence.User, topics ...presence.Topic) *track.Connection {
	t.Helper()
	c, err := tracker.Connect(t.Context(), track.ConnectOptions{
		Visitor: presence.Visitor{User: user}, Topics: orSite(topics),
	})
	if err != nil {
		t.Fatalf("presencetest: a stream of %q: %v", user.ID, err)
	}
	t.Cleanup(c.Close)
	return c
}

// PageView records a page view of a user in some topics, as the middleware does, and
// returns once the rosters have the user. Without topics the view is of [presence.Site].
// It holds the user online for [track.Config].Age. It is a no-op for a hidden user.
func PageView(t testing.TB, tracker *track.Tracker, user presence.User, topics ...presence.Topic) {
	t.Helper()
	if err := user.Validate(); err != nil {
		t.Fatal("presencetest: a page view: ", err)
	}
	time.Sleep(time.Millisecond) // so that the user is newer than those who came before, also in a bubble
	for _, topic := range orSite(topics) {
		tracker.Seen(topic, user, presence.Device{})
		if !user.Hidden && user.Status != presence.Invisible {
			awaitMember(t, tracker, topic, user.ID)
		}
	}
}

// awaitMember waits until the roster of a topic has a user.
func awaitMember(t testing.TB, tracker *track.Tracker, topic presence.Topic, id presence.UserID) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), siteWait)
	defer cancel()
	for ctx.Err() == nil {
		if view, err := tracker.View(ctx, topic); err != nil {
			t.Fatalf("presencetest: a page view of %q in %s: %v", id, topic, err)
		} else if _, here := view.Member(id); here {
			return
		}
		time.Sleep(time.Millisecond)
	}
	t.Fatalf("presencetest: %s has no %q after %v", topic, id, siteWait)
}

func orSite(topics []presence.Topic) []presence.Topic {
	if len(topics) == 0 {
		return []presence.Topic{presence.Site}
	}
	return topics
}
