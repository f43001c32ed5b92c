package browser_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"

	"github.com/rollcall-go/rollcall/examples/forum/internal/forumtest"
	"github.com/rollcall-go/rollcall/examples/forum/suites/internal/forumtab"
)

// TestTabs: ten tabs of a visitor have one stream between them; when the one that
// has it closes, another goes on within a second, and nobody misses anything.
func TestTabs(t *testing.T) {
	t.Parallel()
	f, b := forumtest.Start(t, "-grace", "5s", "-sweep", "200ms"), forumtab.New(t)
	home := b.Profile(f) // stays empty: with it all others would go
	first := home.Another()
	first.Open("/")
	first.SignIn("Alice")
	first.IsLive()
	tabs := []*forumtab.Tab{first}
	for i := range 9 {
		tb := home.Another()
		tb.Open([]string{"/threads/1", "/online", "/threads/2"}[i%3])
		tb.IsLive()
		tb.Note()
		tabs = append(tabs, tb)
	}
	f.WantConnections(t, "map[sse:1]")
	bob := f.User(t, "Bob").Stream("topic=site&topic=thread:1")
	for i, tb := range tabs {
		tb.Sees(forumtab.User("site", "bob"))
		if i%3 == 1 {
			tb.Sees(forumtab.User("thread:1", "bob"))
			tb.Sees(forumtab.User("thread:1", "alice")) // held there by another tab's stream
		}
	}

	passerBy := f.Visitor(t).Stream("topic=site&observe=1")
	passerBy.Join("bob")
	bob.Close() // seen to leave five seconds later, by whoever leads then
	leader, tabs, took := closeLeader(t, first, tabs)
	f.User(t, "Carol").Stream("topic=site")
	for _, tb := range tabs {
		tb.Sees(forumtab.User("site", "carol"))
	}
	f.WantConnections(t, "map[sse:3]") // and carol's and the passer-by's
	passerBy.Leave("bob")
	for _, tb := range tabs {
		tb.Misses(forumtab.User("site", "bob"))
		told := slices.DeleteFunc(tb.Noted(), func(what string) bool { return strings.Contains(what, " thread:") })
		if len(told) > 1 { // on a busy machine bob may be gone before carol has come
			slices.Sort(told[1:])
		}
		if want := []string{"join site bob", "join site carol", "leave site bob"}; !slices.Equal(told, want) {
			t.Errorf("a tab told of %q, want %q", told, want)
		}
	}

	for took > time.Second && len(tabs) > 6 { // once may be too little on a machine that has much to do
		var again time.Duration
		leader, tabs, again = closeLeader(t, leader, tabs)
		took = min(took, again)
	}
	if took > time.Second {
		t.Errorf("the next stream was asked for %v after its tab had closed, want within a second", took)
	}
	t.Logf("taken over after %v", took)
}

// closeLeader closes the tab that has the stream. It returns the one that goes on,
// all that are left, and how long it took until the next stream was asked for.
func closeLeader(t *testing.T, leader *forumtab.Tab, tabs []*forumtab.Tab) (next *forumtab.Tab, left []*forumtab.Tab, took time.Duration) {
	t.Helper()
	for _, tb := range tabs {
		if tb != leader {
			left = append(left, tb)
		}
	}
	closed := time.Now()
	leader.Close()
	for time.Since(closed) < forumtest.Patience {
		for _, tb := range left {
			if at := tb.AskedSince("GET events", closed); !at.IsZero() {
				return tb, left, at.Sub(closed)
			}
		}
		time.Sleep(20 * time.Millisecond)
	}
	t.Fatal("no tab went on when the one with the stream had closed")
	return nil, nil, 0
}

// TestTwoProfiles: tabs of two users, or of two profiles of one, share nothing.
func TestTwoProfiles(t *testing.T) {
	t.Parallel()
	f, b := forumtest.Start(t), forumtab.New(t)
	for _, name := range []string{"Alice", "Bob", "Bob"} {
		tb := b.Profile(f)
		tb.Open("/")
		tb.SignIn(name)
		tb.IsLive()
		second := tb.Another()
		second.Open("/")
		second.IsLive()
	}
	f.WantConnections(t, "map[sse:3]")
}

// TestBackButton: pages with a widget may be kept for the back button, by
// Chromium's own account, and are up to date when they come back.
func TestBackButton(t *testing.T) {
	t.Parallel()
	f, b := forumtest.Start(t, "-grace", "1s", "-sweep", "200ms"), forumtab.NewWindowed(t)
	alice := b.Profile(f)
	alice.Open("/")
	alice.SignIn("Alice")
	alice.IsLive()
	other := alice.Another() // takes the lead, and gives it up
	other.Open("/threads/2")
	other.IsLive()
	for kept, tries := 0, 0; kept < 2; tries++ {
		bob := f.User(t, "Bob").Stream("topic=site")
		alice.ComesAbout(bobListed, "true")
		forumtab.Eval[string](alice, `window.kept = "yes", setTimeout(() => location = "/online"), ""`)
		alice.ComesAbout("location.pathname", "/online")
		bob.Close()
		alice.ComesAbout(bobListed+"+live", "falseon")
		forumtab.Eval[string](alice, `setTimeout(() => history.back()), ""`)
		alice.ComesAbout("location.pathname", "/")
		alice.ComesAbout(bobListed+"+live", "falseon")
		if forumtab.Eval[string](alice, `String(window.kept)`) == "yes" {
			kept++
			continue
		}
		// Chromium keeps no page that takes long to freeze, as on a busy machine.
		ours := func(why string) bool { return !strings.HasPrefix(why, "Circumstantial ") }
		if why := alice.Barred(); tries == 5 || len(why) == 0 || slices.ContainsFunc(why, ours) {
			t.Fatalf("the page was not kept: %q", why)
		}
	}
	f.WantConnections(t, "map[sse:1]")
}

const bobListed = `(live = document.querySelector("whos-online").dataset.live, !!document.querySelector("[data-user=bob]"))`

// TestOffline: the page says so, and is back at once.
func TestOffline(t *testing.T) {
	t.Parallel()
	f, b := forumtest.Start(t), forumtab.New(t)
	alice := b.Profile(f)
	alice.Open("/")
	alice.SignIn("Alice")
	alice.IsLive()
	alice.Breaks()
	offline := func(is bool) {
		t.Helper()
		alice.Do("go offline or online", chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
			all := []*network.Conditions{{Offline: is, DownloadThroughput: -1, UploadThroughput: -1}}
			if _, err := cdp.Call(ctx, target, network.EmulateNetworkConditionsByRule, network.EmulateNetworkConditionsByRuleParams{MatchedNetworkConditions: all}); err != nil {
				return err
			}
			_, err := cdp.Call(ctx, target, network.OverrideNetworkState, network.OverrideNetworkStateParams{Offline: is, DownloadThroughput: -1, UploadThroughput: -1})
			return err
		}))
	}
	offline(true)
	alice.Sees(`whos-online[data-live="off"]`)
	bob := f.User(t, "Bob").Stream("topic=site")
	offline(false)
	alice.Sees(forumtab.User("site", "bob"))
	alice.IsLive()
	bob.Close()
}

// TestProxies: whatever stands before the forum, the page is live, and knows next
// time how.
func TestProxies(t *testing.T) {
	t.Parallel()
	browser := forumtab.New(t)
	for name, tt := range map[string]struct{ buffering, want string }{
		"collects answers":    {"on; proxy_ignore_headers X-Accel-Buffering", "map[sse:1 websocket:1]"},
		"cuts what is silent": {"off; proxy_read_timeout 1s", "map[sse:2]"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := forumtest.Start(t, "-grace", "3s", "-sweep", "200ms")
			proxy := newRelay(t, behindNginx(tt.buffering)(t, f))
			alice := forumtab.NewTab(t, browser.Ctx, proxy.url, chromedp.WithNewBrowserContext())
			alice.Breaks()
			alice.Open("/")
			alice.SignIn("Alice")
			alice.IsLive()
			watcher := f.Visitor(t).Stream("topic=site&observe=1")
			watcher.Join("alice")
			if tt.want == "map[sse:2]" {
				alice.Asks("GET events", alice.Asked("GET events")+2) // cut, and back
			}
			bob := f.User(t, "Bob").Stream("topic=site")
			alice.Sees(forumtab.User("site", "bob"))
			bob.Close()
			f.WantConnections(t, tt.want)
			asked := alice.Asked("GET events")
			alice.Click("a[href='/online']")
			alice.IsLive()
			if got := alice.Asked("GET events"); tt.want != "map[sse:2]" && got > asked {
				t.Error("the next page asked for what had not got through, want it to know what does")
			}
			watcher.Leave("bob")
			alice.Misses(forumtab.User("site", "bob"))
		})
	}
}
