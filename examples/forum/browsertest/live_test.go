package browsertest_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"

	"github.com/rollcall-go/rollcall/examples/forum/internal/forumtest"
)

// TestTwoVisitors: each sees the other come, and go once the grace is over.
func TestTwoVisitors(t *testing.T) {
	t.Parallel()
	const grace = time.Second
	f, b := forumtest.Start(t, "-grace", grace.String(), "-sweep", "200ms"), newBrowser(t)
	alice, bob := b.profile(f), b.profile(f)
	alice.open("/online")
	alice.signIn("Alice")
	alice.sees(user("site", "alice"))
	alice.isLive()
	alice.note()

	bob.open("/")
	bob.sees(user("site", "alice")) // as the server rendered it
	bob.signIn("Bob")
	alice.sees(user("site", "bob"))
	bob.isLive()

	carol := b.profile(f)
	carol.open("/")
	carol.signIn("Carol")
	bob.sees(user("site", "carol")) // live
	carol.isLive()

	took := time.Hour // by the quicker one: a browser may have other things to do
	for id, tb := range map[string]*tab{"bob": bob, "carol": carol} {
		closed := time.Now()
		tb.close()
		alice.misses(user("site", id))
		if took = min(took, time.Since(closed)); took < grace {
			t.Errorf("%s was gone %v after the tab closed, want the grace of %v", id, took, grace)
		}
	}
	if took > 8*grace {
		t.Errorf("gone %v after the tab closed, want the grace of %v and little more", took, grace)
	}
	got := alice.noted()
	slices.Sort(got[min(len(got), 2):])
	if want := []string{"join site bob", "join site carol", "leave site bob", "leave site carol"}; !slices.Equal(got, want) {
		t.Errorf("alice's page told of %q, want %q", got, want)
	}
}

// TestNavigating: nobody sees anything of a user who goes from page to page, also
// where the grace is too short to help: each page view holds the user.
func TestNavigating(t *testing.T) {
	t.Parallel()
	f, b := forumtest.Start(t, "-grace", "100ms", "-sweep", "100ms"), newBrowser(t)
	alice, bob := b.profile(f), b.profile(f)
	alice.open("/online")
	alice.signIn("Alice")
	alice.isLive()
	bob.open("/")
	bob.signIn("Bob")
	bob.isLive()
	alice.sees(user("site", "bob"))
	alice.note()
	watching := f.Visitor(t).Stream("topic=site&observe=1")
	watching.Join("bob")

	// Whoever left before a passer-by left is gone before the passer-by is.
	passBy := func(name string) {
		passer := f.User(t, name).Stream("topic=site")
		alice.sees(user("site", name))
		passer.Close()
		alice.misses(user("site", name))
	}
	walk := func(live bool, links ...string) {
		for _, link := range links {
			bob.click("a[href='" + link + "']")
			if live {
				bob.isLive()
			}
		}
	}
	walk(true, "/online", "/", "/threads/1")
	walk(false, "/", "/threads/2", "/online", "/")
	passBy("carol")
	bob.scripts(false) // from here on no page has a stream
	walk(false, "/threads/3", "/online")
	passBy("dora")
	bob.scripts(true)
	walk(true, "/")
	passBy("emil")

	var want []string
	for _, name := range []string{"carol", "dora", "emil"} {
		want = append(want, "join site "+name, "leave site "+name)
	}
	if got := alice.noted(); !slices.Equal(got, want) {
		t.Errorf("alice's page told of %q, want %q", got, want)
	}
	for left := ""; left != "emil"; {
		e := watching.Until("a diff", func(e forumtest.Event) bool { return e.Type == "diff" })
		if got := len(e.Joins) + len(e.Leaves); got != 1 || forumtest.Has(e.Joins, "bob") || forumtest.Has(e.Leaves, "bob") {
			t.Errorf("got diff %+v, want one of a passer-by", e)
		}
		for left = range e.Leaves {
		}
	}
}

// TestThread: who views a thread is seen in that thread, and the dots beside the
// posts follow their authors.
func TestThread(t *testing.T) {
	t.Parallel()
	f, b := forumtest.Start(t, "-grace", "500ms", "-sweep", "200ms"), newBrowser(t)
	carol := b.profile(f)
	carol.open("/threads/1")
	carol.isLive()
	carol.sees(`[data-presence-dot="alice"][data-status="offline"]`)

	alice := b.profile(f)
	alice.open("/threads/1")
	alice.signIn("Alice")
	carol.sees(user("thread:1", "alice"))
	carol.sees(user("site", "alice"))
	carol.sees(`[data-presence-dot="alice"][data-status="online"]`)

	alice.click("a[href='/online']")
	carol.misses(user("thread:1", "alice"))
	carol.sees(user("site", "alice"))

	alice.close()
	carol.misses(user("site", "alice"))
	carol.sees(`[data-presence-dot="alice"][data-status="offline"]`)
}

// TestSigningOut: it ends the user's other tabs too, and they come back as a
// guest's.
func TestSigningOut(t *testing.T) {
	t.Parallel()
	f, b := forumtest.Start(t), newBrowser(t)
	alice, guest := b.profile(f), b.profile(f)
	alice.open("/")
	alice.signIn("Alice")
	alice.isLive()
	second := alice.another()
	second.open("/threads/2")
	second.isLive()
	guest.open("/online")
	guest.sees(user("site", "alice"))
	guest.isLive()
	guest.note()

	alice.click("form[action='/logout'] button")
	alice.sees("form[action='/login']")
	guest.misses(user("site", "alice"))
	second.misses(user("site", "alice"))

	// Nothing else comes after it, before the next one comes.
	second.isLive()
	f.User(t, "Bob").Stream("topic=site")
	guest.sees(user("site", "bob"))
	if got, want := guest.noted(), []string{"leave site alice", "join site bob"}; !slices.Equal(got, want) {
		t.Errorf("the guest's page told of %q, want %q", got, want)
	}
}

// TestWithoutScript: the list that the server renders is right by itself.
func TestWithoutScript(t *testing.T) {
	t.Parallel()
	f, b := forumtest.Start(t), newBrowser(t)
	f.User(t, "Bob").Get("/")
	f.User(t, "Carol").Stream("topic=site&topic=thread:1").Join("bob")

	reader := b.profile(f)
	reader.scripts(false)
	reader.open("/online")
	reader.signIn("__proto__")
	for _, tt := range []struct {
		path, topic string
		want        []string
	}{
		{"/online", "site", []string{"__proto__", "bob", "carol"}},
		{"/threads/1", "thread:1", []string{"carol"}},
		{"/threads/2", "thread:2", nil},
	} {
		reader.open(tt.path)
		if got := reader.listed(tt.topic); !slices.Equal(got, tt.want) {
			t.Errorf("%s without script: got %q, want %q", tt.path, got, tt.want)
		}
	}
	if got := reader.requests(); len(got) > 0 {
		t.Errorf("without script: the pages asked for %q, want nothing", got)
	}
}

// scripts turns the scripts of the tab's next pages on or off.
func (tb *tab) scripts(on bool) {
	tb.t.Helper()
	tb.do("turn scripts on or off", chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
		_, err := cdp.Call(ctx, target, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: !on})
		return err
	}))
}

// listed returns the ids of the users in the list of a topic, in their order.
func (tb *tab) listed(topic string) []string {
	tb.t.Helper()
	ctx, cancel := context.WithTimeout(tb.ctx, forumtest.Patience)
	defer cancel()
	var ids []string
	html, err := chromedp.Run(ctx, chromedp.OuterHTML(chromedp.CSS(`whos-online[topic="`+topic+`"]`)))
	if err != nil {
		tb.t.Fatal(err)
	}
	for _, after := range strings.Split(html, `data-user="`)[1:] {
		id, _, _ := strings.Cut(after, `"`)
		ids = append(ids, id)
	}
	slices.Sort(ids)
	return ids
}
