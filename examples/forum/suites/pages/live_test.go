package pages_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/rollcall-go/rollcall/examples/forum/internal/forumtest"
	"github.com/rollcall-go/rollcall/examples/forum/suites/internal/forumtab"
)

// TestTwoVisitors: each sees the other come, and go once the grace is over. The grace is longer than the three
// seconds after which a page drops a stream that a busy machine is late with, so a page may open a second one.
func TestTwoVisitors(t *testing.T) {
	t.Parallel()
	const grace = 4 * time.Second
	f, b := forumtest.Start(t, "-grace", grace.String(), "-sweep", "200ms"), forumtab.New(t)
	alice, bob := b.Profile(f), b.Profile(f)
	alice.Open("/online")
	alice.SignIn("Alice")
	alice.Sees(forumtab.User("site", "alice"))
	alice.IsLive()
	alice.Note()

	bob.Open("/")
	bob.Sees(forumtab.User("site", "alice")) // as the server rendered it
	bob.SignIn("Bob")
	alice.Sees(forumtab.User("site", "bob"))
	bob.IsLive()

	carol := b.Profile(f)
	carol.Open("/")
	carol.SignIn("Carol")
	bob.Sees(forumtab.User("site", "carol")) // live
	carol.IsLive()

	took := time.Hour // by the quicker one: a browser may have other things to do
	for id, tb := range map[string]*forumtab.Tab{"bob": bob, "carol": carol} {
		closed := time.Now()
		tb.Close()
		alice.Misses(forumtab.User("site", id))
		if took = min(took, time.Since(closed)); took < grace {
			t.Errorf("%s was gone %v after the tab closed, want the grace of %v", id, took, grace)
		}
	}
	if took > grace+7*time.Second {
		t.Errorf("gone %v after the tab closed, want the grace of %v and little more", took, grace)
	}
	got := alice.Noted()
	slices.Sort(got[min(len(got), 2):])
	if want := []string{"join site bob", "join site carol", "leave site bob", "leave site carol"}; !slices.Equal(got, want) {
		t.Errorf("alice's page told of %q, want %q", got, want)
	}
}

// TestNavigating: nobody sees anything of a user who goes from page to page, also
// where the grace is too short to help: each page view holds the user. Only a user who
// leaves pages before they are live may need a grace, since requests overtake one another. So may the user
// of a page that a busy machine is three seconds late with: it drops its stream for another one. Then the test
// plays again.
func TestNavigating(t *testing.T) {
	t.Parallel()
	for name, grace := range map[string]string{"live": "100ms", "hasty": "2s"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for range 3 {
				if !navigating(t, name == "live", grace) {
					return
				}
			}
			t.Error("a page of Bob was three seconds late each time")
		})
	}
}

// navigating reports whether a page of Bob was too late to tell anything.
func navigating(t *testing.T, live bool, grace string) (late bool) {
	f, b := forumtest.Start(t, "-grace", grace, "-sweep", "100ms"), forumtab.New(t)
	alice, bob := b.Profile(f), b.Profile(f)
	alice.Open("/online")
	alice.SignIn("Alice")
	alice.IsLive()
	bob.Open("/")
	bob.SignIn("Bob")
	bob.IsLive()
	alice.Sees(forumtab.User("site", "bob"))
	alice.Note()
	watching := f.Visitor(t).Stream("topic=site&observe=1")
	watching.Join("bob")

	// Whoever left before a passer-by left is gone before the passer-by is.
	passBy := func(name string) {
		passer := f.User(t, name).Stream("topic=site")
		alice.Sees(forumtab.User("site", name))
		passer.Close()
		alice.Misses(forumtab.User("site", name))
	}
	walk := func(live bool, links ...string) {
		for _, link := range links {
			bob.Click("a[href='" + link + "']")
			if live {
				bob.IsLive()
			}
		}
	}
	walk(true, "/online", "/", "/threads/1")
	walk(live, "/", "/threads/2", "/online", "/")
	passBy("carol")
	bob.Scripts(false) // from here on no page has a stream
	walk(false, "/threads/3", "/online")
	passBy("dora")
	bob.Scripts(true)
	walk(true, "/")
	passBy("emil")

	if late = forumtab.Eval[bool](bob, `sessionStorage.getItem("presence") !== null`); late {
		return late
	}
	var want []string
	for _, name := range []string{"carol", "dora", "emil"} {
		want = append(want, "join site "+name, "leave site "+name)
	}
	if got := alice.Noted(); !slices.Equal(got, want) {
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
	return false
}

// TestThread: who views a thread is seen in that thread, and the dots beside the
// posts follow their authors.
func TestThread(t *testing.T) {
	t.Parallel()
	f, b := forumtest.Start(t, "-grace", "500ms", "-sweep", "200ms"), forumtab.New(t)
	carol := b.Profile(f)
	carol.Open("/threads/1")
	carol.IsLive()
	carol.Sees(`[data-presence-dot="alice"][data-status="offline"]`)

	alice := b.Profile(f)
	alice.Open("/threads/1")
	alice.SignIn("Alice")
	carol.Sees(forumtab.User("thread:1", "alice"))
	carol.Sees(forumtab.User("site", "alice"))
	carol.Sees(`[data-presence-dot="alice"][data-status="online"]`)

	alice.Click("a[href='/online']")
	alice.IsLive() // or the view of the page would hold her, for an age period
	carol.Misses(forumtab.User("thread:1", "alice"))
	carol.Sees(forumtab.User("site", "alice"))

	alice.Close()
	carol.Misses(forumtab.User("site", "alice"))
	carol.Sees(`[data-presence-dot="alice"][data-status="offline"]`)
}

// TestSigningOut: it ends the user's other tabs too, and they come back as a
// guest's.
func TestSigningOut(t *testing.T) {
	t.Parallel()
	f, b := forumtest.Start(t), forumtab.New(t)
	alice, guest := b.Profile(f), b.Profile(f)
	alice.Open("/")
	alice.SignIn("Alice")
	alice.IsLive()
	second := alice.Another()
	second.Open("/threads/2")
	second.IsLive()
	guest.Open("/online")
	guest.Sees(forumtab.User("site", "alice"))
	guest.IsLive()
	guest.Note()

	alice.Click("form[action='/logout'] button")
	alice.Sees("form[action='/login']")
	guest.Misses(forumtab.User("site", "alice"))
	second.Misses(forumtab.User("site", "alice"))

	// Nothing else comes after it, before the next one comes.
	second.IsLive()
	f.User(t, "Bob").Stream("topic=site")
	guest.Sees(forumtab.User("site", "bob"))
	if got, want := guest.Noted(), []string{"leave site alice", "join site bob"}; !slices.Equal(got, want) {
		t.Errorf("the guest's page told of %q, want %q", got, want)
	}
}

// TestWithoutScript: the list that the server renders is right by itself.
func TestWithoutScript(t *testing.T) {
	t.Parallel()
	f, b := forumtest.Start(t), forumtab.New(t)
	f.User(t, "Bob").Get("/")
	f.User(t, "Carol").Stream("topic=site&topic=thread:1").Join("bob")

	reader := b.Profile(f)
	reader.Scripts(false)
	reader.Open("/online")
	reader.SignIn("__proto__")
	for _, tt := range []struct {
		path, topic string
		want        []string
	}{
		{"/online", "site", []string{"__proto__", "bob", "carol"}},
		{"/threads/1", "thread:1", []string{"carol"}},
		{"/threads/2", "thread:2", nil},
	} {
		reader.Open(tt.path)
		if got := listed(t, reader, tt.topic); !slices.Equal(got, tt.want) {
			t.Errorf("%s without script: got %q, want %q", tt.path, got, tt.want)
		}
	}
	if got := reader.Requests(); len(got) > 0 {
		t.Errorf("without script: the pages asked for %q, want nothing", got)
	}
}

// listed returns the ids of the users in the list of a topic, in their order.
func listed(t *testing.T, tb *forumtab.Tab, topic string) []string {
	t.Helper()
	ctx, cancel := context.WithTimeout(tb.Ctx, forumtest.Patience)
	defer cancel()
	var ids []string
	html, err := chromedp.Run(ctx, chromedp.OuterHTML(chromedp.CSS(`whos-online[topic="`+topic+`"]`)))
	if err != nil {
		t.Fatal(err)
	}
	for _, after := range strings.Split(html, `data-user="`)[1:] {
		id, _, _ := strings.Cut(after, `"`)
		ids = append(ids, id)
	}
	slices.Sort(ids)
	return ids
}
