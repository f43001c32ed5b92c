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

// TestEditorsLooks leaves the pictures of a page that three edit, and of somebody who types,
// where SCREENSHOTS names a directory: who edits is seen, who saves is heard, the form stays
// where it is, and axe finds no fault.
func TestEditorsLooks(t *testing.T) {
	t.Parallel()
	axe := axeScript(t)
	dir := cmp.Or(os.Getenv("SCREENSHOTS"), t.TempDir())
	f, b := forumtest.Start(t), forumtab.New(t)
	alice, bob := b.Profile(f), b.Profile(f)
	for name, tb := range map[string]*forumtab.Tab{"Alice": alice, "Bob": bob} {
		tb.Open("/threads/1")
		tb.SignIn(name)
	}
	bob.Open("/threads/1/posts/1/edit")
	alice.Open("/threads/1/posts/1/edit")
	alice.Sees(`[data-editor="bob"]`)
	bob.Sees(`[data-editor="alice"]`)
	f.User(t, "Eun-ji").Stream("topic=edit:1:1")
	alice.Sees(`[data-editor="eun-ji"]`)

	const place = `scrollY + document.querySelector("#text").getBoundingClientRect().y`
	f.User(t, "Carol").Post("/threads/1/posts/1/edit", url.Values{"revision": {"1"}, "text": {"Field beans, says Carol."}})
	alice.Sees(`.presence-saved > :not([hidden])`)
	for _, look := range []struct {
		name, scheme string
		width        int64
	}{{"edit", "light", 1100}, {"edit-dark", "dark", 1100}, {"edit-phone", "dark", 390}, {"edit-phone-small", "light", 320}} {
		if look.name == "edit-phone" {
			f.User(t, "Averylongnameofthirtytwoletters1").Stream("topic=edit:1:1")
			alice.Sees(`[data-editor="averylongnameofthirtytwoletters1"]`)
		}
		emulate(t, alice, look.scheme, look.width, 844)
		fits(t, alice, look.name, look.width)
		hasNoFault(t, alice, axe, look.name)
		picture(t, alice, filepath.Join(dir, look.name+".png"))
	}
	alice.Breaks() // a browser says so of each 409
	alice.Click(`form.reply button`)
	alice.Sees(`.prose.now`)
	alice.Sees(`[data-editor="bob"]`)

	guest := b.Profile(f)
	guest.Open("/threads/1")
	alice.Open("/threads/1")
	bob.Open("/threads/1")
	for _, tb := range []*forumtab.Tab{alice, bob, guest} {
		tb.IsLive()
	}
	before := forumtab.Eval[float64](alice, place)
	bob.Do("type", chromedp.SendKeys(chromedp.CSS("#text"), "I have rye, and"))
	for _, tb := range []*forumtab.Tab{alice, guest} {
		tb.ComesAbout(`document.querySelector('[data-typing="thread:1"]').innerText`, "Bob is typing…")
	}
	if got := forumtab.Eval[string](bob, `document.querySelector('[data-typing="thread:1"]').innerText`); got != "" {
		t.Errorf("got %q for the typist, want nothing", got)
	}
	if after := forumtab.Eval[float64](alice, place); after != before {
		t.Errorf("the form moved by %v pixels when somebody typed, want 0", after-before)
	}
	for _, look := range []struct {
		name, scheme  string
		width, height int64
	}{{"typing", "light", 1100, 560}, {"typing-dark", "dark", 1100, 560}, {"typing-phone", "light", 390, 844}} {
		emulate(t, alice, look.scheme, look.width, look.height)
		bob.Do("type", chromedp.SendKeys(chromedp.CSS("#text"), " more"))
		alice.ComesAbout(`document.querySelector('[data-typing="thread:1"]').innerText`, "Bob is typing…")
		fits(t, alice, look.name, look.width)
		alice.Do("scroll", chromedp.ScrollIntoView(chromedp.CSS("form.reply")))
		windowPicture(t, alice, filepath.Join(dir, look.name+".png"))
	}
	hasNoFault(t, alice, axe, "typing")
}
