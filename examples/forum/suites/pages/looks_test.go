package pages_test

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"image/png"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"

	"github.com/rollcall-go/rollcall/examples/forum/internal/forumtest"
	"github.com/rollcall-go/rollcall/examples/forum/suites/internal/forumtab"
)

// maxNameLen is how long the forum lets a name be.
const maxNameLen = 32

// TestLooks writes pictures of the pages into the directory that SCREENSHOTS
// names, and checks what can be: that no page is
// wider than its window, and that axe finds no fault.
func TestLooks(t *testing.T) {
	t.Parallel()
	axe := axeScript(t)
	f, b := forumtest.Start(t), forumtab.New(t)
	for i, name := range []string{"Bob", "Carol", "Dmitri", "Eun-ji", "Zoë", "Жанна", "Averylongnameofthirtytwoletters1", "Fred_the_Elder"} {
		v := f.User(t, name)
		v.Get("/")
		v.Stream([]string{"topic=site", "topic=site&topic=thread:1"}[i%2])
		if status := []string{"online", "away", "online", "online", "busy"}[i%5]; status != "online" {
			v.Do("PUT", "/presence/status", "application/json", fmt.Sprintf(`{"status":%q}`, status))
		}
	}
	for range 3 {
		guest := f.Visitor(t)
		guest.Get("/")
		guest.Get("/")
	}
	f.User(t, "Greta").Get("/")
	f.User(t, "Ivo").Get("/") // both are gone when their page views have lapsed
	f.User(t, "Nadia").Stream("topic=site&topic=rules")
	dir := cmp.Or(os.Getenv("SCREENSHOTS"), t.TempDir())
	if err := os.MkdirAll(dir, 0o777); err != nil {
		t.Fatal(err)
	}

	alice, guest := b.Profile(f), b.Profile(f)
	alice.Open("/")
	alice.SignIn("Alice")
	phone := f.User(t, "Alice") // without a screen: it fills her pages
	for do, names := range map[string][]string{
		"add": {"Bob", "Dmitri", "Жанна", "Averylongnameofthirtytwoletters1", "Nobody-there"}, "block": {"Fred_the_Elder"},
	} {
		for _, name := range names {
			phone.Post("/contacts", url.Values{"user": {name}, "do": {do}})
		}
	}
	phone.Stream("topic=site")
	for id, names := range map[string][]string{"1": {"Carol", "Averylongnameofthirtytwoletters1"}, "2": {"Zoë"}} {
		for _, name := range names {
			f.User(t, name).Post("/threads/"+id+"/replies", url.Values{"text": {"Rye:\n" + strings.Repeat("it stands, ", 20) + strings.Repeat("W", 300)}})
		}
	}
	phone.Post("/mutes", url.Values{"scope": {"about:thread:3"}, "how": {"all"}})
	f.User(t, "Zoë").Post("/settings", url.Values{"status": {"busy"}, "text": {"in the shed, mending the shelf that was to be a chair"}})
	for _, look := range []struct {
		name          string
		scheme        string
		width, height int64
		who           *forumtab.Tab
	}{
		{"light", "light", 1280, 860, alice},
		{"dark", "dark", 1280, 860, alice},
		{"phone", "light", 390, 844, guest},
		{"phone-dark", "dark", 390, 844, alice},
		{"phone-small", "dark", 320, 568, guest},
	} {
		for name, path := range map[string]string{"front": "/", "thread": "/threads/1", "online": "/online", "places": "/online/places", "rules": "/rules"} {
			emulate(t, look.who, look.scheme, look.width, look.height)
			look.who.Open(path)
			if name != "places" { // it has no widget
				look.who.IsLive()
			}
			fits(t, look.who, name+", "+look.name, look.width)
			if strings.HasPrefix(look.name, "phone") { // both schemes, a guest and a member
				hasNoFault(t, look.who, axe, name+", "+look.name)
			}
			picture(t, look.who, filepath.Join(dir, name+"-"+look.name+".png"))
		}
	}
	for _, look := range []struct {
		name, scheme string
		width        int64
	}{{"light", "light", 1280}, {"dark", "dark", 1280}, {"phone", "light", 390}, {"phone-small", "dark", 320}} {
		for name, path := range map[string]string{"settings": "/settings", "contacts": "/contacts", "sessions": "/sessions", "person": "/people/zoë", "notifications": "/notifications"} {
			emulate(t, alice, look.scheme, look.width, 844)
			alice.Open(path)
			fits(t, alice, name+", "+look.name, look.width)
			hasNoFault(t, alice, axe, name+", "+look.name)
			picture(t, alice, filepath.Join(dir, name+"-"+look.name+".png"))
		}
	}
	emulate(t, alice, "light", 1280, 860)
	alice.Open("/threads/1")
	alice.Do("open the menu", chromedp.Focus(chromedp.CSS(".status")), chromedp.KeyEvent("\r"))
	alice.Sees("#status-menu")
	hasNoFault(t, alice, axe, "menu")
	picture(t, alice, filepath.Join(dir, "menu.png"))

	wide := b.Profile(f)
	emulate(t, wide, "light", 390, 844)
	wide.Open("/")
	wide.SignIn(strings.Repeat("W", maxNameLen))
	wide.IsLive()
	fits(t, wide, "the longest name", 390)
	picture(t, wide, filepath.Join(dir, "front-phone-wide.png"))
}

// fits checks that the page is not wider than its window.
func fits(t *testing.T, tb *forumtab.Tab, what string, width int64) {
	t.Helper()
	if got := forumtab.Eval[int64](tb, "document.documentElement.scrollWidth"); got > width {
		t.Errorf("%s: got a page %d pixels wide, want at most %d", what, got, width)
	}
}

// emulate gives the tab a size and a colour scheme.
func emulate(t *testing.T, tb *forumtab.Tab, scheme string, width, height int64) {
	t.Helper()
	tb.Do("emulate "+scheme, chromedp.EmulateViewport(width, height),
		chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
			_, err := cdp.Call(ctx, target, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
				Features: []*emulation.MediaFeature{
					{Name: "prefers-color-scheme", Value: scheme},
					{Name: "prefers-reduced-motion", Value: "reduce"}, // nothing half faded in
				},
			})
			return err
		}))
}

// windowPicture writes a picture of what the tab's window shows.
func windowPicture(t *testing.T, tb *forumtab.Tab, file string) {
	t.Helper()
	var shown bytes.Buffer
	if err := png.Encode(&shown, window(t, tb)); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, shown.Bytes(), 0o666); err != nil {
		t.Fatal(err)
	}
}

// picture writes a picture of the whole page.
func picture(t *testing.T, tb *forumtab.Tab, file string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(tb.Ctx, forumtest.Patience)
	defer cancel()
	content, err := chromedp.Run(ctx, chromedp.FullScreenshot(100))
	if err != nil {
		t.Fatalf("picture %s: %v", file, err)
	}
	// Its pixels are Chromium's affair, and decoding them is slow.
	if _, err := png.DecodeConfig(bytes.NewReader(content)); err != nil || !bytes.Contains(content[max(0, len(content)-12):], []byte("IEND")) {
		t.Errorf("picture %s: got %d bytes, want a PNG with its end: %v", file, len(content), err)
	}
	if err := os.WriteFile(file, content, 0o666); err != nil {
		t.Fatal(err)
	}
}
