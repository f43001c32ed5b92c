package pages_test

import (
	"fmt"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/rollcall-go/rollcall/examples/forum/internal/forumtest"
	"github.com/rollcall-go/rollcall/examples/forum/suites/internal/forumtab"
)

// TestStatusMenu: it opens, closes and chooses by the keyboard, without script.
func TestStatusMenu(t *testing.T) {
	t.Parallel()
	f, b := forumtest.Start(t), forumtab.New(t)
	alice := b.Profile(f)
	alice.Scripts(false)
	alice.Open("/online")
	alice.SignIn("Alice")
	const open = `document.querySelector("#status-menu").matches(":popover-open")`
	press := func(keys ...string) {
		t.Helper()
		for _, key := range keys {
			alice.Do(fmt.Sprintf("press %q", key), chromedp.KeyEvent(key))
		}
	}
	alice.Do("focus", chromedp.Focus(chromedp.CSS(".status")))
	press("\r")
	if !forumtab.Eval[bool](alice, open) {
		t.Error("the menu is closed after Enter")
	}
	press("\x1b")
	if forumtab.Eval[bool](alice, open) || !forumtab.Eval[bool](alice, `document.activeElement.matches(".status")`) {
		t.Error("after Escape the menu is open, or the focus elsewhere than on its button")
	}
	press("\r", "\t", "\t") // to the second, which is away
	alice.Click(`:focus`)
	alice.Sees(`whos-online [data-user="alice"][data-status="away"]`)
	alice.Sees(`.status [data-status="away"]`)
}
