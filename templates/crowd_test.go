package templates_test

import (
	"context"
	"fmt"

	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/rollcall-go/rollcall/handlers"
	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/memstore"
	"github.com/rollcall-go/rollcall/presence/track"
	"github.com/rollcall-go/rollcall/templates"
)

// A topic over the roster limit, with real handlers: whoever left is no longer shown
// soon, neither in the list nor by a dot, although no event says so.
func TestBrowserOverTheRosterLimit(t *testing.T) {
	tracker, err := track.New(memstore.New(), track.Config{MaxRoster: 10, MergeWindow: -1})
	noError(t, err)
	t.Cleanup(func() { tracker.Close(context.Background()) })
	total := func(want int) {
		t.Helper()
		waitFor(t, func() bool {
			v, err := tracker.View(context.Background(), presence.Site)
			return err == nil && v.Total == want
		})
	}
	total(0)
	for _, u := range crowd(10) {
		tracker.Seen(presence.Site, u, presence.Device{})
	}
	total(10)
	widgets := newWidgets(t, parse(`<!doctype html><html lang="en"><head><title>t</title>{{presenceHead}}</head><body>{{onlineDot "user-0003"}}{{onlineDot "user-0004"}}<div id="site">{{whosOnline "site"}}</div></body></html>`), tracker, templates.Config{})
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, r *http.Request) {
		if err := widgets.Execute(w, "page", nil, r); err != nil {
			t.Error(err)
		}
	})

	h := handlers.New(tracker, handlers.Config{Widget: widgets.Handler()})
	mux.Handle("/presence/", h)
	s := httptest.NewServer(mux)
	t.Cleanup(func() {
		tracker.Close(context.Background()) // ends the streams
		s.CloseClientConnections()
		s.Close()
	})

	b := newBrowser(t)
	b.do(chromedp.Navigate(s.URL))
	b.until(live, "on")
	const users = `[...document.querySelectorAll("#site [data-user]")].map((li) => li.dataset.user.slice(-1)).sort().join("")`
	b.until(users, "0123456789")
	b.until(dots, "online/online online/online")
	tracker.Seen(presence.Site, presence.User{ID: "user-000x"}, presence.Device{})
	b.until(online, "11")
	noError(t, tracker.SignOut(context.Background(), "user-0003"))
	b.until(online, "10")
	b.until(users, "0123456789") // nobody told
	b.do(chromedp.Evaluate[chromedp.Void](`{ const now = Date.now; Date.now = () => now() + 60_000 }`))
	tick := 0
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); tick++ {
		// Something changes, and every second one event says so.
		tracker.SeenGuest(presence.Site, fmt.Sprint("guest-", tick))
		time.Sleep(50 * time.Millisecond)
		got, err := chromedp.Run(b.ctx, chromedp.Evaluate[string](users+"+ ' ' +"+dots))
		if err == nil && strings.HasPrefix(got, "012456789x ") && strings.HasSuffix(got, " offline/offline online/online") {
			break
		}
	}
	b.until(users, "012456789x")
	b.until(dots, "offline/offline online/online")
	b.until(live, "on")
}
