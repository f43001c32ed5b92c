package pages_test

import (
	"cmp"
	"net/url"
	"os"
	"path/filepath"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/rollcall-go/rollcall/examples/forum/internal/forumtest"
	"github.com/rollcall-go/rollcall/examples/forum/suites/internal/forumtab"
)

// TestInboxWithoutScript: replies, notifications and mutes are forms, and their pages are
// right as the server wrote them.
func TestInboxWithoutScript(t *testing.T) {
	t.Parallel()
	f, b := forumtest.Start(t), forumtab.New(t)
	f.User(t, "Alice").Post("/threads/1/replies", url.Values{"text": {"Rye."}})
	bob := b.Profile(f)
	bob.Scripts(false)
	bob.Open("/")
	bob.SignIn("Bob")
	forumtest.Await(t, "the notification", func() bool { // the page does not change by itself
		bob.Open("/")
		return forumtab.Eval[bool](bob, `!!document.querySelector('presence-bell[data-unread="1"]')`)
	})
	bob.Click(`presence-bell a`)
	bob.Sees(`[data-item][data-state="unread"]`)
	bob.Click(`[data-item] button[value="read"]`)
	bob.Sees(`[data-item][data-state="read"]`)
	bob.Click(`[data-item] button[value="unread"]`)
	bob.Sees(`presence-bell[data-unread="1"] a`)
	bob.Click(`[data-item] a`)
	bob.Sees(`#post-5:target`)
	bob.Sees(`presence-bell[data-unread="0"] a`)

	fill(bob, `#text`, "And oats.")
	bob.Click(`form.reply button`)
	bob.Sees(`#post-6:target`)
	if got, want := forumtab.Eval[string](bob, `document.querySelector("#post-6 .prose").innerText`), "And oats."; got != want {
		t.Errorf("the reply: got %q, want %q", got, want)
	}
	bob.Click(`[action="/mutes"] button`)
	bob.Click(`presence-bell a`)
	bob.Click(`[action="/mutes"] button[value="nothing"]`)
	bob.Misses(`[value="about:thread:1"] ~ [value="nothing"]`)
	if got := bob.Requests(); len(got) > 0 {
		t.Errorf("without script: the pages asked for %q, want nothing", got)
	}
}

// TestBellLooks leaves the picture of the bell that docs show where SCREENSHOTS names a
// directory. The list opens below the bell, also where the masthead has several lines; a
// button that is pressed keeps the focus; nothing moves when the button for new posts appears;
// and axe finds no fault.
func TestBellLooks(t *testing.T) {
	t.Parallel()
	axe := axeScript(t)
	dir := cmp.Or(os.Getenv("SCREENSHOTS"), t.TempDir())
	f, b := forumtest.Start(t), forumtab.New(t)
	reply := func(name, thread, text string) {
		f.User(t, name).Post("/threads/"+thread+"/replies", url.Values{"text": {text}})
	}
	reply("Eun-ji", "2", "A shredder, in the end.")
	alice := b.Profile(f)
	alice.Open("/")
	alice.SignIn("Alice")
	alice.Sees(`presence-bell[data-unread="1"]`)
	f.User(t, "Alice").Post("/notifications", url.Values{"do": {"read"}, "pos": {"1"}})
	for _, name := range []string{"Carol", "Bob", "Dmitri"} {
		reply(name, "1", "Rye.")
	}
	alice.Sees(`presence-bell[data-unread="1"]`)
	for _, look := range []struct {
		name, scheme  string
		width, height int64
	}{{"inbox", "light", 1100, 640}, {"inbox-dark", "dark", 1280, 860}, {"inbox-phone", "dark", 390, 844}} {
		emulate(t, alice, look.scheme, look.width, look.height)
		alice.Open("/threads/3")
		alice.IsLive()
		alice.Do("open the list", chromedp.Click(chromedp.CSS("presence-bell a")))
		alice.Sees(`.presence-popover [data-state="unread"]`)
		alice.Sees(`.presence-popover [data-state="read"]`)
		fits(t, alice, look.name, look.width)
		hasNoFault(t, alice, axe, look.name)
		if !forumtab.Eval[bool](alice, `(() => {
			const [bell, list] = ["presence-bell a", ".presence-popover"].map((s) => document.querySelector(s).getBoundingClientRect());
			return list.top >= bell.bottom && list.left >= 0 && list.right <= innerWidth;
		})()`) {
			t.Errorf("%s: the list is not below its bell", look.name)
		}
		windowPicture(t, alice, filepath.Join(dir, look.name+".png"))
	}

	const read = `.presence-popover [data-state="unread"] button[value="read"]`
	alice.Do("mark by keyboard", chromedp.Focus(chromedp.CSS(read)), chromedp.KeyEvent("\r"))
	alice.Misses(read)
	alice.ComesAbout(`document.activeElement.value ?? ""`, "unread") // it stands in the place of the other button

	const place = `document.querySelector("#text").getBoundingClientRect().y`
	alice.Open("/threads/1")
	alice.IsLive()
	fill(alice, "#text", "I am")
	before := forumtab.Eval[float64](alice, "scrollY + "+place)
	reply("Carol", "1", "Rye.")
	alice.Sees(`.presence-room .presence-fresh:not([hidden])`)
	if after := forumtab.Eval[float64](alice, "scrollY + "+place); after != before {
		t.Errorf("the form moved by %v pixels when there was a new post, want 0", after-before)
	}
}

// TestInboxLive: with script the bell counts what comes, the list of notifications grows, and
// a thread shows new posts to members and guests, each once.
func TestInboxLive(t *testing.T) {
	t.Parallel()
	f, b := forumtest.Start(t), forumtab.New(t)
	alice := f.User(t, "Alice")
	bob := b.Profile(f)
	bob.Open("/")
	bob.SignIn("Bob")
	bob.IsLive()
	list := bob.Another()
	list.Open("/notifications")
	guest := b.Profile(f)
	guest.Open("/threads/1")
	guest.IsLive()
	bob.Sees(`presence-bell[data-unread="0"] a`)
	for _, n := range []string{"5", "6"} {
		alice.Post("/threads/1/replies", url.Values{"text": {"Rye.\n\n<b>Rye</b>"}})
		bob.Sees(`presence-bell[data-unread="1"] a`)
		list.Sees(`[data-item][data-state="unread"] a[href="/threads/1#post-` + n + `"]`)
		guest.Sees(`#posts > #post-` + n + ` .prose p + p`)
	}
	if got := forumtab.Eval[int](guest, `document.querySelectorAll("#post-5, #post-6").length`); got != 2 {
		t.Errorf("got the two new posts as %d elements, want 2", got)
	}
	if got := forumtab.Eval[int](guest, `document.querySelectorAll("#posts b b, #posts .prose b").length`); got != 0 {
		t.Errorf("got %d elements of a post's making, want none", got)
	}
}
