package browser_test

import (
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"

	"github.com/rollcall-go/rollcall/examples/forum/internal/forumtest"
	"github.com/rollcall-go/rollcall/examples/forum/suites/internal/forumtab"
)

// TestInbox: a reply reaches the bell of an open page, its list, and the open thread, where it
// is read once it is shown. No page is loaded for that.
func TestInbox(t *testing.T) {
	t.Parallel()
	f, b := forumtest.Start(t), forumtab.New(t)
	alice, bob := b.Profile(f), b.Profile(f)
	reply := func(tb *forumtab.Tab, text string) {
		t.Helper()
		tb.Open("/threads/1")
		tb.Do("reply", chromedp.SetValue("#text", text))
		tb.Click("form.reply button")
	}
	alice.Open("/")
	alice.SignIn("Alice")
	reply(alice, "I am here.")
	alice.Open("/")
	alice.IsLive()
	alice.ComesAbout(`(window.loaded = 1, document.querySelector("presence-bell").dataset.unread)`, "0")
	bob.Open("/")
	bob.SignIn("Bob")
	reply(bob, "So am I.")
	const unread = `document.querySelector("presence-bell").dataset.unread + document.querySelector(".presence-bell .presence-said").textContent`
	alice.ComesAbout(unread, "1Notifications, 1 unread")

	const list = `[...document.querySelectorAll(".presence-popover li")].map((li) => li.dataset.state + " " + li.querySelector("a").textContent.replace(/“.*”/, "it")).join()`
	alice.Do("open the list", chromedp.Click("a.presence-bell"))
	alice.ComesAbout(list, "unread Bob replied in it")
	alice.Do("mark as read", chromedp.Click(".presence-popover [value=read]"))
	alice.ComesAbout(list, "read Bob replied in it")
	alice.ComesAbout(unread, "0Notifications")
	alice.ComesAbout("window.loaded", "1")

	alice.Open("/threads/1")
	alice.Sees(`[data-show=room][data-live=on]`)
	if _, err := chromedp.Call(alice.Ctx, emulation.SetFocusEmulationEnabled, emulation.SetFocusEmulationEnabledParams{Enabled: true}); err != nil {
		t.Fatal(err)
	}
	alice.ComesAbout(`(window.loaded = 2, window.most = 0, new MutationObserver(() => (most = Math.max(most, +document.querySelector("presence-bell").dataset.unread))).observe(document.querySelector("presence-bell"), { attributes: true }), 1)`, "1")
	posts := forumtab.Eval[int](alice, `document.querySelectorAll("#posts > article").length`)
	reply(bob, "<b>Bold</b>\nlines\n\nand a paragraph.")
	alice.ComesAbout(`document.querySelector("#posts > article:last-child .prose").innerHTML`, "<p>&lt;b&gt;Bold&lt;/b&gt;<br>lines</p><p>and a paragraph.</p>")
	if got := forumtab.Eval[int](alice, `document.querySelectorAll("#posts > article").length`); got != posts+1 {
		t.Errorf("got %d posts, want %d and the new one", got, posts)
	}
	alice.ComesAbout(`window.most + document.querySelector("presence-bell").dataset.unread`, "10") // the item came, and was read, since its post is shown
}
