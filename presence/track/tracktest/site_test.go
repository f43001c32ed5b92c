package tracktest_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/track"
	"github.com/rollcall-go/rollcall/presence/track/tracktest"
)

var (
	alice = presence.User{ID: "alice", Name: "Alice"}
	bob   = presence.User{ID: "bob", Name: "Bob"}
)

// wantOnline fails the test unless these users, the newest first, are online in a topic.
func wantOnline(t *testing.T, tracker *track.Tracker, topic presence.Topic, want ...string) {
	t.Helper()
	view, err := tracker.View(t.Context(), topic)
	if err != nil {
		t.Fatal(err)
	}
	got := []string{}
	for _, m := range view.Newest(10) {
		got = append(got, string(m.ID))
	}
	if !slices.Equal(got, want) {
		t.Errorf("online in %s: got %v, want %v", topic, got, want)
	}
}

func TestSiteHasItsUsersOnlineAtOnce(t *testing.T) {
	site := func(t *testing.T) {
		tracker := tracktest.Site(t, alice, bob)
		wantOnline(t, tracker, presence.Site, "bob", "alice")
		tracktest.PageView(t, tracker, presence.User{ID: "carol"}, presence.Site, "thread:42")
		wantOnline(t, tracker, presence.Site, "carol", "bob", "alice")
		wantOnline(t, tracker, "thread:42", "carol")
		tracktest.Stream(t, tracker, alice, "thread:42")
		wantOnline(t, tracker, "thread:42", "alice", "carol")
	}
	t.Run("outside of a bubble", site)
	t.Run("in a bubble", func(t *testing.T) { synctest.Test(t, site) })
}

func TestSiteLetsTimePass(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tracker := tracktest.Site(t, alice)
		tracktest.PageView(t, tracker, bob)
		page := tracktest.Stream(t, tracker, presence.User{ID: "carol"})
		wantOnline(t, tracker, presence.Site, "carol", "bob", "alice")

		page.Close()
		time.Sleep(9 * time.Second)
		wantOnline(t, tracker, presence.Site, "carol", "bob", "alice")
		time.Sleep(3 * time.Second) // the grace of 10 s, and a sweep
		wantOnline(t, tracker, presence.Site, "bob", "alice")

		time.Sleep(5 * time.Minute) // the age of a page view
		wantOnline(t, tracker, presence.Site, "alice")
		time.Sleep(time.Hour)
		wantOnline(t, tracker, presence.Site, "alice")
	})
}

func TestSiteWithConfig(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tracker := tracktest.SiteWithConfig(t, track.Config{Grace: -1, Age: 20 * time.Second})
		tracktest.PageView(t, tracker, bob)
		tracktest.Stream(t, tracker, alice).Close()
		time.Sleep(time.Second + time.Millisecond)
		wantOnline(t, tracker, presence.Site, "bob")
		time.Sleep(22 * time.Second)
		wantOnline(t, tracker, presence.Site)
	})
}

// A Hidden or Invisible user is in no roster, so that nobody waits for one.
func TestPageViewOfAnUnseenUser(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tracker := tracktest.Site(t)
		for _, user := range []presence.User{{ID: "staff", Hidden: true}, {ID: "shy", Status: presence.Invisible}} {
			tracktest.PageView(t, tracker, user)
		}
		time.Sleep(time.Second)
		wantOnline(t, tracker, presence.Site)
	})
}

// failure is a testing.TB that notes what it was told and ends the goroutine.
type failure struct {
	testing.TB
	said string
}

func (f *failure) Fatal(args ...any)                 { f.said = fmt.Sprint(args...); panic(f) }
func (f *failure) Fatalf(format string, args ...any) { f.Fatal(fmt.Sprintf(format, args...)) }

func TestSiteSaysWhatIsWrong(t *testing.T) {
	for want, do := range map[string]func(testing.TB){
		"TTL is 1ns":    func(t testing.TB) { tracktest.SiteWithConfig(t, track.Config{TTL: 1}) },
		"page view: ":   func(t testing.TB) { tracktest.PageView(t, tracktest.Site(t), presence.User{}) },
		`stream of "a"`: func(t testing.TB) { tracktest.Site(t, presence.User{ID: "a", Status: "gone"}) },
	} {
		f := &failure{TB: t}
		func() {
			defer func() { _ = recover() }()
			do(f)
		}()
		if !strings.Contains(f.said, want) {
			t.Errorf("got %q, want %q in it", f.said, want)
		}
	}
}

func TestExampleSite(t *testing.T) { testHome(t) }
