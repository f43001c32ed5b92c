package templates_test

import (
	"cmp"
	"context"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/memstore"
	"github.com/rollcall-go/rollcall/presence/presencetest"
	"github.com/rollcall-go/rollcall/presence/track"
	"github.com/rollcall-go/rollcall/templates"
)

const peopleView = `<!doctype html><html lang="en" dir="{{.}}"><head><meta charset="utf-8"><title>People</title>
<meta name="viewport" content="width=device-width, initial-scale=1">{{presenceHead}}<link rel="stylesheet" href="/gallery.css"></head><body><main><h1>People</h1>
<section><h2>contacts</h2>{{contacts}}</section>
<section><h2>two of them</h2>{{contacts "max" 2 "label" "two"}}</section>
<section><h2>profiles</h2><p>Bob {{person "bob"}}</p><p>Eve {{person "eve"}}</p><p>Nobody {{person "zoe"}}</p></section>
<section><h2>devices</h2>{{sessions}}</section>
<section><h2>settings</h2>{{settings "error" "The text has 120 bytes, and 100 are allowed."}}</section>
</main></body></html>`

// peopleGallery serves everything that shows people, to alice.
func peopleGallery(t *testing.T, dir string) *fakeServer {
	tracker, err := track.New(memstore.New(), track.Config{Directory: presencetest.NewMemoryDirectory()})
	noError(t, err)
	t.Cleanup(func() { tracker.Close(context.Background()) })
	names := map[presence.UserID]string{"eve": "Eve Online", "zoe": "Zoë Wolfeschlegelsteinhausenbergerdorff the Elder", "maryam": "مريم حسن", "bob": "Bob"}
	cfg := templates.Config{Users: func(_ context.Context, ids []presence.UserID) ([]presence.User, error) {
		users := make([]presence.User, len(ids))
		for i, id := range ids {
			users[i] = presence.User{ID: id, Name: names[id], URL: "/people/" + string(id)}
		}
		return users, nil
	}}
	widgets := newWidgets(t, parse(peopleView), tracker, cfg)
	widgets.PeopleFrom(&somePeople{
		people: []presence.Person{
			{ID: "alice", Name: "Alice Liddell", Avatar: "/alice.png", Online: true, Status: presence.Online},
			{ID: "bob", Name: "Bob", Online: true, Status: presence.Busy, Text: "in a call with quite a few people about the new thing that nobody has named yet, back at four", On: []string{"mobile"}},
			{ID: "tom", Name: "Tom", Online: true, Status: presence.Away, Text: "at lunch", On: []string{"tablet"}},
			{ID: "eve", LastSeen: time.Now().Add(-2 * time.Hour)},
			{ID: "maryam", Name: "مريم حسن", Online: true, Status: presence.Busy, Text: "في اجتماع"},
			{ID: "zoe"},
			{ID: "li", Name: "李小龍", Online: true, Status: presence.Online, On: []string{"mobile"}},
		},
		sessions: []presence.Session{
			{Device: presence.Device{ID: "1", Kind: "desktop", Label: "Firefox on Linux"}, Since: time.Now().Add(-time.Hour), Connections: 2},
			{Device: presence.Device{ID: "2", Kind: "mobile", Label: "Safari on iOS"}, Since: time.Now().Add(-50 * time.Hour), Connections: 1},
			{Device: presence.Device{}, Since: time.Now()},
		},
		settings: presence.Settings{Status: presence.Busy, Text: "in a call", Until: time.Now().Add(time.Hour), Online: presence.Contacts},
	})
	r := requestOf(user("alice"))
	r = r.WithContext(presence.ContextWithVisitor(r.Context(), presence.Visitor{User: user("alice"), Device: presence.Device{ID: "1"}}))
	var b strings.Builder
	noError(t, widgets.Execute(&b, "page", dir, r))
	return newFakeServer(t, b.String(), widgets.Handler())
}

// Nothing that shows people is wider than its window, and axe finds no fault in it: as
// rendered, live, and while the connection is lost.
func TestLooksOfPeople(t *testing.T) {
	t.Parallel()
	b := newBrowser(t)
	axe := axeScript(t)
	folder := cmp.Or(os.Getenv("SCREENSHOTS"), t.TempDir())
	dark := map[string]string{"prefers-color-scheme": "dark"}
	looks := []look{{"light", "ltr", nil, 1100}, {"phone-dark", "ltr", dark, 390}}
	if os.Getenv("SCREENSHOTS") != "" {
		looks = append(looks, look{"dark", "ltr", dark, 1100}, look{"phone", "ltr", nil, 390}, look{"rtl", "rtl", nil, 1100},
			look{"forced", "ltr", map[string]string{"forced-colors": "active"}, 1100})
	}
	for _, l := range looks {
		g := peopleGallery(t, l.dir)
		b.emulate(l.media, l.width, 700)
		b.do(chromedp.Navigate(g.URL))
		b.until(`document.querySelector(".presence-contacts").dataset.live`, "on")
		b.check(axe, l.name)
		b.holds()
		b.picture(filepath.Join(folder, "people-"+l.name+".png"), l.width)

		g.refusing(http.StatusServiceUnavailable)
		g.frames <- "" // the stream ends, and does not come back
		b.until(`document.querySelector(".presence-lost").textContent !== ""`, "true")
		b.check(axe, l.name+", lost")
		b.picture(filepath.Join(folder, "people-"+l.name+"-lost.png"), l.width)
	}
}
