package browsertest_test

import (
	"fmt"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/rollcall-go/rollcall/examples/forum/internal/forumtest"
)

// TestStatusMenu: it opens, closes and chooses by the keyboard, without script.
func TestStatusMenu(t *testing.T) {
	t.Parallel()
	f, b := forumtest.Start(t), newBrowser(t)
	alice := b.profile(f)
	alice.scripts(false)
	alice.open("/online")
	alice.signIn("Alice")
	const open = `document.querySelector("#status-menu").matches(":popover-open")`
	press := func(keys ...string) {
		t.Helper()
		for _, key := range keys {
			alice.do(fmt.Sprintf("press %q", key), chromedp.KeyEvent(key))
		}
	}
	alice.do("focus", chromedp.Focus(chromedp.CSS(".status")))
	press("\r")
	if !eval[bool](alice, open) {
		t.Error("the menu is closed after Enter")
	}
	press("\x1b")
	if eval[bool](alice, open) || !eval[bool](alice, `document.activeElement.matches(".status")`) {
		t.Error("after Escape the menu is open, or the focus elsewhere than on its button")
	}
	press("\r", "\t", "\t") // to the second, which is away
	alice.click(`:focus`)
	alice.sees(`whos-online [data-user="alice"][data-status="away"]`)
	alice.sees(`.status [data-status="away"]`)
}
