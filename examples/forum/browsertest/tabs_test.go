package browsertest_test

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
)

// TestTabs: ten tabs of a visitor have one stream between them; when the one that
// has it closes, another goes on within a second, and nobody misses anything.
func TestTabs(t *testing.T) {
	t.Parallel()
	f, b := forumtest.Start(t, "-grace", "5s", "-sweep", "200ms"), newBrowser(t)
	home := b.profile(f) // stays empty: with it all others would go
	first := home.another()
	first.open("/")
	first.signIn("Alice")
	first.isLive()
	tabs := []*tab{first}
	for i := range 9 {
		tb := home.another()
		tb.open([]string{"/threads/1", "/online", "/threads/2"}[i%3])
		tb.isLive()
		tb.note()
		tabs = append(tabs, tb)
	}
	f.WantConnections(t, "map[sse:1]")
	bob := f.User(t, "Bob").Stream("topic=site&topic=thread:1")
	for i, tb := range tabs {
		tb.sees(user("site", "bob"))
		if i%3 == 1 {
			tb.sees(user("thread:1", "bob"))
			tb.sees(user("thread:1", "alice")) // held there by another tab's stream
		}
	}

	bob.Close() // seen to leave five seconds later, by whoever leads then
	leader, tabs, took := closeLeader(t, first, tabs)
	carol := f.User(t, "Carol").Stream("topic=site")
	for _, tb := range tabs {
		tb.sees(user("site", "carol"))
	}
	f.WantConnections(t, "map[sse:2]") // and carol's
	carol.Leave("bob")
	for _, tb := range tabs {
		tb.misses(user("site", "bob"))
		told := slices.DeleteFunc(tb.noted(), func(what string) bool { return strings.Contains(what, " thread:") })
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
func closeLeader(t *testing.T, leader *tab, tabs []*tab) (next *tab, left []*tab, took time.Duration) {
	t.Helper()
	for _, tb := range tabs {
		if tb != leader {
			left = append(left, tb)
		}
	}
	closed := time.Now()
	leader.close()
	for time.Since(closed) < forumtest.Patience {
		for _, tb := range left {
			tb.mu.Lock()
			for i, at := range tb.at {
				if since := at.Sub(closed); strings.HasPrefix(tb.sent[i], "GET events") && since > 0 {
					next, took = tb, since
				}
			}
			tb.mu.Unlock()
			if next != nil {
				return next, left, took
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
	f, b := forumtest.Start(t), newBrowser(t)
	for _, name := range []string{"Alice", "Bob", "Bob"} {
		tb := b.profile(f)
		tb.open("/")
		tb.signIn(name)
		tb.isLive()
		second := tb.another()
		second.open("/")
		second.isLive()
	}
	f.WantConnections(t, "map[sse:3]")
}

// TestBackButton: pages with a widget may be kept for the back button, by
// Chromium's own account, and are up to date when they come back.
func TestBackButton(t *testing.T) {
	t.Parallel()
	f, b := forumtest.Start(t, "-grace", "1s", "-sweep", "200ms"), newBrowser(t)
	alice := b.profile(f)
	alice.open("/")
	alice.signIn("Alice")
	alice.isLive()
	other := alice.another() // which takes over, and lets go
	other.open("/threads/2")
	other.isLive()
	for range 2 {
		bob := f.User(t, "Bob").Stream("topic=site")
		alice.comesAbout(bobListed, "true")
		eval[string](alice, `window.kept = "yes", setTimeout(() => location = "/online"), ""`)
		alice.comesAbout("location.pathname", "/online")
		bob.Close()
		alice.comesAbout(bobListed+"+live", "falseon")
		eval[string](alice, `setTimeout(() => history.back()), ""`)
		alice.comesAbout("location.pathname", "/")
		alice.comesAbout(bobListed+"+live", "falseon")
		if got := eval[string](alice, `String(window.kept)`); got != "yes" {
			alice.mu.Lock()
			t.Errorf("the page was not kept: %q", alice.barred)
			alice.mu.Unlock()
		}
	}
	f.WantConnections(t, "map[sse:1]")
}

const bobListed = `(live = document.querySelector("whos-online").dataset.live, !!document.querySelector("[data-user=bob]"))`

// comesAbout waits until an expression has a value. It asks nothing but that of a
// page that the browser had kept, of which chromedp has no nodes.
func (tb *tab) comesAbout(expression, want string) {
	tb.t.Helper()
	var got string
	var err error // on the way from page to page
	for deadline := time.Now().Add(forumtest.Patience); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		if got, err = chromedp.Run(tb.ctx, chromedp.Evaluate[string]("String("+expression+")")); err == nil && got == want {
			return
		}
	}
	tb.t.Fatalf("%s: got %q and error %v, want %q", expression, got, err, want)
}

// TestOffline: the page says so, tries nothing, and is back at once.
func TestOffline(t *testing.T) {
	t.Parallel()
	f, b := forumtest.Start(t), newBrowser(t)
	alice := b.profile(f)
	alice.open("/")
	alice.signIn("Alice")
	alice.isLive()
	alice.breaks()
	offline := func(is bool) {
		t.Helper()
		alice.do("go offline or online", chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
			all := []*network.Conditions{{Offline: is, DownloadThroughput: -1, UploadThroughput: -1}}
			if _, err := cdp.Call(ctx, target, network.EmulateNetworkConditionsByRule, network.EmulateNetworkConditionsByRuleParams{MatchedNetworkConditions: all}); err != nil {
				return err
			}
			_, err := cdp.Call(ctx, target, network.OverrideNetworkState, network.OverrideNetworkStateParams{Offline: is, DownloadThroughput: -1, UploadThroughput: -1})
			return err
		}))
	}
	offline(true)
	alice.sees(`whos-online[data-live="off"]`)
	asked := len(alice.requests())
	bob := f.User(t, "Bob").Stream("topic=site")
	time.Sleep(2 * time.Second) // it would have tried
	if got := alice.requests()[asked:]; len(got) > 0 {
		t.Errorf("offline, the page asked for %q, want nothing", got)
	}
	offline(false)
	alice.sees(user("site", "bob"))
	alice.isLive()
	bob.Close()
}

// TestProxies: whatever stands before the forum, the page is live, and knows next
// time how.
func TestProxies(t *testing.T) {
	t.Parallel()
	browser := newBrowser(t)
	for name, tt := range map[string]struct{ buffering, want string }{
		"collects answers":    {"on; proxy_ignore_headers X-Accel-Buffering", "map[sse:1 websocket:1]"},
		"cuts what is silent": {"off; proxy_read_timeout 1s", "map[sse:2]"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := forumtest.Start(t, "-grace", "3s", "-sweep", "200ms")
			proxy := newRelay(t, behindNginx(tt.buffering)(t, f))
			alice := newTab(t, browser.ctx, proxy.url, chromedp.WithNewBrowserContext())
			alice.breaks()
			alice.open("/")
			alice.signIn("Alice")
			alice.isLive()
			watcher := f.Visitor(t).Stream("topic=site&observe=1")
			watcher.Join("alice")
			if tt.want == "map[sse:2]" {
				alice.asks("GET events", alice.asked("GET events")+2) // cut, and back
			}
			bob := f.User(t, "Bob").Stream("topic=site")
			alice.sees(user("site", "bob"))
			bob.Close()
			f.WantConnections(t, tt.want)
			asked := alice.asked("GET events")
			alice.click("a[href='/online']")
			alice.isLive()
			if got := alice.asked("GET events"); tt.want != "map[sse:2]" && got > asked {
				t.Error("the next page asked for what had not got through, want it to know what does")
			}
			watcher.Leave("bob")
			alice.misses(user("site", "bob"))
		})
	}
}
