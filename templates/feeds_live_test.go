package templates_test

import (
	"cmp"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/rollcall-go/rollcall/presence/feed"
)

// The list in the popover of a bell is as wide as its window allows, and axe finds no fault in
// it.
func TestLooksOfPopover(t *testing.T) {
	t.Parallel()
	b := newBrowser(t)
	axe := axeScript(t)
	folder := cmp.Or(os.Getenv("SCREENSHOTS"), t.TempDir())
	view := strings.NewReplacer("{{presenceStyle}}", "{{presenceHead}}", `{{notifications "mute" true}}`, "", `{{bell}} {{bell "label" "Inbox"}}`, `{{bell "popover" true}}`).Replace(feedsView)
	for _, l := range []look{{"light", "ltr", nil, 1100}, {"phone-dark", "rtl", map[string]string{"prefers-color-scheme": "dark"}, 320}} {
		g := feedsGalleryOf(t, view, &someFeeds{head: feed.Head{Rev: 7, Unread: 1}, items: items()}, l.dir)
		b.emulate(l.media, l.width, 700)
		b.do(chromedp.Navigate(g.URL))
		b.until(`document.querySelector(".presence-inbox").dataset.live`, "on")
		const state = `{"topic":"inbox","cursor":"1","unread":120,"unseen":1,"more":false,"items":[{"id":"m8","pos":42,"type":"reply","v":1,"at":"2026-11-22T06:57:00.000Z","actors":["bob"],"names":["Bob"],"n":1,"about":"thread:1","text":"Bob <b>replied","url":"/threads/1","state":"unread"}]}`
		g.mu.Lock()
		g.pages = []string{state}
		g.mu.Unlock()
		g.send(t, "state", state)
		b.until(`document.querySelector(".presence-badge").textContent`, "99+")
		b.do(chromedp.Evaluate[chromedp.Void](`document.querySelector(".presence-bell").click()`))
		b.until(`document.querySelector(".presence-popover .presence-text")?.textContent`, "Bob <b>replied")
		b.until(`document.querySelector(".presence-popover .presence-figure").innerText`, "120 unread")
		b.check(axe, l.name)
		b.picture(filepath.Join(folder, "popover-"+l.name+".png"), l.width)
	}
}
