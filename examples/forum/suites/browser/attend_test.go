package browser_test

import (
	"context"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	cdppage "github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"

	"github.com/rollcall-go/rollcall/examples/forum/internal/forumtest"
	"github.com/rollcall-go/rollcall/examples/forum/suites/internal/forumtab"
)

// TestHiddenAndAsleep: a page none of whose timers fires, which is more than a browser does
// to a hidden one, stays by its beats; a page that does nothing at all any more, as on a
// machine that sleeps, is gone after the ttl, although its stream is open.
func TestHiddenAndAsleep(t *testing.T) {
	t.Parallel()
	const ttl = 9 * time.Second // in which a browser without timers beats every 6 s
	f, b := forumtest.Start(t, "-ttl", ttl.String(), "-grace", "200ms", "-sweep", "100ms"), forumtab.New(t)
	alice := b.Profile(f)
	watcher := f.Visitor(t).Stream("topic=site&observe=1")
	hidden(t, f, alice, watcher, ttl)
	if alice.Asked("POST beat") == 0 {
		t.Errorf("the page sent no beat; all: %q", alice.Requests())
	}

	alice.ComesAbout(`(fetch = () => new Promise(() => {}), 1)`, "1")
	asleep(t, watcher, ttl)
}

// hidden has alice come, and then no timer of her page fire for two ttls: she stays.
func hidden(t *testing.T, f *forumtest.Forum, alice *forumtab.Tab, watcher *forumtest.Stream, ttl time.Duration) {
	t.Helper()
	alice.Open("/")
	alice.SignIn("Alice")
	alice.IsLive()
	watcher.Join("alice")
	alice.ComesAbout(`(setTimeout = () => 0, 1)`, "1")
	time.Sleep(2 * ttl)
	f.User(t, "Bob").Stream("topic=site")
	if e := watcher.Until("a join or a leave", func(e forumtest.Event) bool { return len(e.Joins)+len(e.Leaves) > 0 }); !forumtest.Has(e.Joins, "bob") {
		t.Errorf("got %+v, want bob's join after %v in which no timer fired", e, 2*ttl)
	}
}

// asleep waits until alice is gone, whose machine has just fallen asleep.
func asleep(t *testing.T, watcher *forumtest.Stream, ttl time.Duration) {
	t.Helper()
	begin := time.Now()
	watcher.Leave("alice")
	if took := time.Since(begin); took > 2*ttl {
		t.Errorf("alice was gone %v after her machine went to sleep, want the ttl of %v and little more", took, ttl)
	}
}

// TestAway: who does nothing for five minutes is away, and back with the first
// input; unless there is input on another device.
func TestAway(t *testing.T) {
	t.Parallel()
	f, b := forumtest.Start(t, "-ttl", "6s"), forumtab.New(t)
	status := func(want string) string { return `[data-user="alice"][data-status="` + want + `"]` }
	desk, phone, bob := b.Profile(f), b.Profile(f), b.Profile(f)
	for _, device := range []*forumtab.Tab{desk, phone} {
		device.Open("/")
		device.SignIn("Alice")
		device.IsLive()
	}
	bob.Open("/")
	bob.Sees(status("online"))
	bob.Note()
	// Five minutes pass at one device, then at the other.
	const later = `(now = Date.now, Date.now = () => now() + 301000, 1)`
	beats := desk.Asked("POST beat")
	desk.ComesAbout(later, "1")
	desk.Asks("POST beat", beats+2)     // the first may be of before
	time.Sleep(1500 * time.Millisecond) // others have a second to say that they are attended
	bob.Sees(status("online"))
	phone.ComesAbout(later, "1")
	bob.Sees(status("away"))
	desk.Do("press a key", chromedp.KeyEvent("a"))
	bob.Sees(status("online"))
	if got := bob.Noted(); len(got) > 0 {
		t.Errorf("bob's page told of %q, want nothing", got)
	}
}

// TestFrozen: a tab that the browser freezes hands the stream over.
func TestFrozen(t *testing.T) {
	t.Parallel()
	f, b := forumtest.Start(t), forumtab.New(t)
	first := b.Profile(f)
	first.Open("/")
	first.SignIn("Alice")
	first.IsLive()
	second := first.Another()
	second.Open("/")
	second.IsLive()
	if got := second.Asked("GET events"); got != 0 {
		t.Fatalf("the second tab asked for %d streams, want none", got)
	}
	lifecycle := func(state string) {
		t.Helper()
		first.Do(state, chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
			_, err := cdp.Call(ctx, target, cdppage.SetWebLifecycleState, cdppage.SetWebLifecycleStateParams{State: cdppage.SetWebLifecycleStateState(state)})
			return err
		}))
	}
	lifecycle("frozen")
	second.Asks("GET events", 1) // it takes over from the frozen tab
	second.IsLive()
	lifecycle("active")
	first.ComesAbout(`document.querySelector("whos-online").dataset.live`, "on")
	f.WantConnections(t, "map[sse:1]")
}
