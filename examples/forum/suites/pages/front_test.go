package pages_test

import (
	"cmp"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rollcall-go/rollcall/examples/forum/internal/forumtest"
	"github.com/rollcall-go/rollcall/examples/forum/suites/internal/forumtab"
)

// TestFrontLooks leaves the two pictures that the README shows, front.png and front-dark.png, where
// SCREENSHOTS names a directory: the forum's front page on a lively day.
func TestFrontLooks(t *testing.T) {
	t.Parallel()
	dir := cmp.Or(os.Getenv("SCREENSHOTS"), t.TempDir())
	f, b := forumtest.Start(t), forumtab.New(t)
	for _, name := range []string{"Greta", "Hana", "Ivo", "Jun", "Kofi", "Lena", "Milo"} {
		v := f.User(t, name)
		v.Get("/")
		v.Stream("topic=site") // returns once the user is online
		v.Post("/logout", nil)
	}
	for _, agent := range []string{"Mozilla/5.0 (compatible; bingbot/2.0)", "Mozilla/5.0 (compatible; Googlebot/2.1)"} {
		bot := f.Visitor(t)
		bot.Header = http.Header{"User-Agent": {agent}}
		bot.Get("/")
	}
	var guest *forumtest.Visitor
	for range 4 {
		guest = f.Visitor(t)
		guest.Get("/")
		guest.Get("/") // with its cookie
	}
	for _, is := range []struct{ name, topic string }{
		{"Bob", "thread:1"}, {"Carol", "thread:1"}, {"Dmitri", "thread:2"}, {"Eun-ji", "thread:1"},
		{"Fred_the_Elder", "thread:3"}, {"Zoë", "thread:2"}, {"Nadia", "thread:1"},
	} {
		v := f.User(t, is.name)
		v.Stream("topic=site&topic=" + is.topic)
		if is.name == "Dmitri" {
			v.Post("/settings", url.Values{"status": {"busy"}})
		}
		time.Sleep(20 * time.Millisecond) // the newest stands first
	}

	forumtest.Await(t, "the lists, which a page may have read a moment ago", func() bool {
		page := guest.Get("/").Body
		recent, places, _ := strings.Cut(page, "Where everybody is")
		return strings.Count(recent, "Milo") == 2 && strings.Contains(places, "Fred_the_Elder") && strings.Contains(places, "Nadia")
	})

	reader := b.Profile(f)
	reader.Open("/") // so that both pictures count this guest
	for name, scheme := range map[string]string{"front": "light", "front-dark": "dark"} {
		emulate(t, reader, scheme, 1200, 1000)
		reader.Open("/")
		reader.IsLive()
		reader.Sees(forumtab.User("site", "dmitri") + `[data-status="busy"]`)
		fits(t, reader, name, 1200)
		picture(t, reader, filepath.Join(dir, name+".png"))
	}
}
