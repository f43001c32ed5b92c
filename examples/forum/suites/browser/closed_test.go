package browser_test

import (
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/rollcall-go/rollcall/examples/forum/internal/forumtest"
	"github.com/rollcall-go/rollcall/examples/forum/suites/internal/forumtab"
)

// TestClosedBrowser: two tabs have one stream between them, and the view of the second
// is later than that. Whoever closes the whole browser is gone after the grace all the
// same, and not when that view has lasted its age period.
func TestClosedBrowser(t *testing.T) {
	t.Parallel()
	f, b := forumtest.Start(t, "-grace", "1s", "-sweep", "200ms", "-age", "10m"), forumtab.NewOwn(t)
	watcher := f.Visitor(t).Stream("topic=site&observe=1")
	first := b.Profile(f)
	first.Open("/")
	first.SignIn("Alice")
	first.IsLive()
	watcher.Join("alice")
	for range 2 { // the second view is throttled unless the word of the first lifts that
		second := first.Another()
		second.Open("/")
		second.IsLive()
		for asked := time.Now(); second.Asked("POST beat?joined=1") == 0 && time.Since(asked) < 5*time.Second; {
			time.Sleep(10 * time.Millisecond)
		}
	}
	f.WantConnections(t, "map[sse:2]")                                           // one is the watcher's
	time.Sleep(100 * time.Millisecond)                                           // the word arrives
	if err := chromedp.FromContext(b.Ctx).Browser.Process().Kill(); err != nil { // all at once, without a word
		t.Fatal("close Chromium: ", err)
	}
	watcher.Leave("alice") // long before ten minutes are over
}
