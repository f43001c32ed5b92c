package templates_test

import (
	"context"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/track"
)

// Two tabs of a browser show five and twenty users of a crowd over one stream, and each is right: as the crowd
// changes, when a user signs in in one of them, and when the other is closed.
func TestBrowserTabsOfACrowd(t *testing.T) {
	t.Parallel()
	s := newCrowdedSite(t, track.Config{Grace: 300 * time.Millisecond}, 60, `{{onlineDot "user-0000"}}<div id="site">{{whosOnline "site" "max" .}}</div>`)
	small := newBrowser(t)
	small.do(chromedp.Navigate(s.URL + "/?most=5"))
	small.until(live, "on")
	large := newTab(t, small.ctx)
	large.do(chromedp.Navigate(s.URL + "/?most=20"))
	large.until(live, "on")
	waitFor(t, func() bool { return s.requests("/presence/events?", "window=20") == 1 }) // for both
	come := func(id string) {
		t.Helper()
		s.tracker.Seen(presence.Site, presence.User{ID: presence.UserID(id), Name: id}, presence.Device{})
	}
	leave := func(id presence.UserID) {
		t.Helper()
		noError(t, s.tracker.SignOut(context.Background(), id))
	}
	check := func(total int) {
		t.Helper()
		s.total(t, total)
		s.shownIn(small, 5, 1)
		s.shownIn(large, 20, 1)
	}
	come("eve")
	leave("user-0003") // of both windows
	leave("user-0012") // of the larger
	leave("user-0000") // of the dot
	check(58)

	come("user-0000")
	small.do(chromedp.Navigate(s.URL + "/login?name=zoe&most=5"))
	small.until(live, "on")
	large.until(live, "on")
	check(60)
	leave("user-0001")
	check(59)
	large.do(chromedp.Navigate(s.URL + "/?most=20"))
	large.until(live, "on")
	small.do(chromedp.Navigate("about:blank"))
	come("fay")
	s.total(t, 60)
	s.shownIn(large, 20, 1)
	large.until(live, "on")
	if n := s.requests("/presence/roster?"); n != 0 {
		t.Errorf("the tabs asked %d times for rosters, want 0", n)
	}
	// A page asks for the users of its dots once, if anything happened between its list's script and that of its dots.
	const pages = 4
	if n := s.requests("/presence/users?"); n > pages {
		t.Errorf("the tabs asked %d times for users, want at most once a page: %d", n, pages)
	}
}
