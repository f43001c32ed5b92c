package main

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

func TestStatusForm(t *testing.T) {
	t.Parallel()
	f := start(t)
	watcher := f.visitor(t).stream("topic=site")
	alice := f.user(t, "Alice")
	alice.get("/")
	watcher.join("alice")
	for _, tt := range []struct {
		status   string
		code     int
		location string
	}{
		{"away", 303, "/threads/1"},
		{"invisible", 303, "/threads/1"},
		{"asleep", 400, ""},
		{"", 400, ""},
	} {
		res := alice.post("/status", url.Values{"status": {tt.status}, "next": {"/threads/1"}})
		if got := res.header.Get("Location"); res.status != tt.code || got != tt.location {
			t.Errorf("%q: got %d to %q, want %d to %q", tt.status, res.status, got, tt.code, tt.location)
		}
	}
	watcher.leave("alice") // invisible to others, who is not to herself
	page := alice.get("/online")
	if !strings.Contains(page.body, `value="invisible" aria-current="true"`) || strings.Contains(page.body, `data-user="alice"`) {
		t.Errorf("want a menu that says invisible, and nobody called alice in the list\n%s", page.body)
	}
	if res := f.visitor(t).post("/status", url.Values{"status": {"away"}}); res.status != http.StatusUnauthorized {
		t.Errorf("of a guest: got %d, want 401", res.status)
	}
}

// TestStatusMenu: it opens, closes and chooses by the keyboard, without script.
func TestStatusMenu(t *testing.T) {
	t.Parallel()
	f, b := start(t), newBrowser(t)
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
