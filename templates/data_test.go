package templates_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/memstore"
	"github.com/rollcall-go/rollcall/presence/track"
	"github.com/rollcall-go/rollcall/templates"
)

// dataPage returns a fake site whose page has a widget with one user, who has data,
// and the cursor of its roster.
func dataPage(t *testing.T) (s *fakeServer, cursor string) {
	tracker, err := track.New(memstore.New(), track.Config{MergeWindow: -1})
	noError(t, err)
	t.Cleanup(func() { tracker.Close(context.Background()) })
	tracker.Seen(presence.Site, withData, presence.Device{})
	waitFor(t, func() bool {
		v, err := tracker.View(context.Background(), presence.Site)
		if err != nil || v.Total != 1 {
			return false
		}
		cursor = string(v.PageCursor(100))
		return true
	})
	var b strings.Builder
	view := `<!doctype html><html lang="en"><head><meta charset="utf-8"><title>t</title>{{presenceHead}}</head><body><div id="site">{{whosOnline "site"}}</div></body></html>`
	widgets := newWidgets(t, parse(view), tracker, templates.Config{})
	noError(t, widgets.Execute(&b, "page", nil, requestOf(guest)))
	return newFakeServer(t, b.String(), widgets.Handler()), cursor
}

// A site's own script beside a widget shares its roster, and so gets the data of users
// whom the server rendered. The script writes it as the server does, and leaves the
// user's item alone.
func TestBrowserDataBesideAWidget(t *testing.T) {
	s, cursor := dataPage(t)
	b := newBrowser(t)
	b.do(chromedp.Navigate(s.URL))
	b.until(live, "on")
	b.do(chromedp.Evaluate[chromedp.Void](`card = document.querySelector("[data-user=dana] a");
		import("/presence/assets/connect.js").then(({ connect }) => (own = connect()).on("join", (id, { data }) => (told = JSON.stringify(data))))`))
	want, err := json.Marshal(json.RawMessage(withData.Data))
	noError(t, err)
	const plain = `{"karma":[1,2.5],"b":"<i> & \"q\" 'é' 😀"}`
	b.until(`window.told`, plain)
	s.send(t, "diff", fmt.Sprintf(`{"topic":"site","prev":%q,"cursor":"c.1","total":2,"joins":{"emil":{"name":"Emil","status":"online","since":"2099-01-01T00:00:00Z","data":%s}},"leaves":{}}`, cursor, want))
	b.until(shown, "emil:online dana:online")
	b.until(`[...document.querySelectorAll("[data-user]")].map((li) => li.dataset.json).join()`, plain+","+plain)
	b.until(`card.isConnected`, "true")
}

// A page of one version may load a script of another during a deploy, beside its own.
func TestBrowserScriptsOfTwoVersions(t *testing.T) {
	s, _ := dataPage(t)
	b := newBrowser(t)
	b.do(chromedp.Navigate(s.URL))
	b.until(live, "on")
	b.do(chromedp.Evaluate[chromedp.Void](`import("/presence/assets/presence.0123abcd.js").then(({ connect }) => (second = typeof connect), (why) => (second = why))`))
	b.until(`window.second`, "function")
	b.until(live, "on")
}
