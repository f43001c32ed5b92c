package templates_test

import (
	"cmp"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/memstore"
	"github.com/rollcall-go/rollcall/presence/track"
	"github.com/rollcall-go/rollcall/templates"
)

const signalsView = `<!doctype html><html lang="en" dir="{{.}}"><head><meta charset="utf-8"><title>Signals</title>
<meta name="viewport" content="width=device-width, initial-scale=1">{{presenceStyle}}<link rel="stylesheet" href="/gallery.css"></head><body><main><h1>Signals</h1>
<section><h2>typing</h2><form>{{typing "thread:1"}}<label>Reply <textarea></textarea></label></form></section>
<section><h2>one is typing</h2><form class="one">{{typing "thread:1"}}<label>Reply <textarea></textarea></label></form></section>
<section id="some"><h2>editors</h2>{{editors "edit:1:3"}}<p class="after">The form.</p></section>
<section id="many"><h2>many</h2>{{editors "edit:1:4" "label" "many"}}</section>
<section id="nobody"><h2>nobody</h2>{{editors "edit:1:5" "label" "nobody"}}</section>
<section id="unknown"><h2>not known</h2>{{editors "edit:1:6" "label" "not known"}}</section>
<section id="saved"><h2>saved</h2>{{editors "edit:1:7" "label" "saved"}}</section>
</main></body></html>`

// Nothing that shows signals is wider than its window, and axe finds no fault in it. Nothing
// moves when somebody types, or when a page learns that nobody else edits.
func TestLooksOfSignals(t *testing.T) {
	t.Parallel()
	b := newBrowser(t)
	axe := axeScript(t)
	folder := cmp.Or(os.Getenv("SCREENSHOTS"), t.TempDir())
	tracker, err := track.New(memstore.New(), track.Config{MergeWindow: -1})
	noError(t, err)
	t.Cleanup(func() { tracker.Close(context.Background()) })
	for topic, users := range map[presence.Topic][]presence.User{"edit:1:3": people[6:], "edit:1:4": append(crowd(12), people...), "edit:1:5": nil, "edit:1:6": nil, "edit:1:7": nil} {
		for _, u := range users {
			tracker.Seen(topic, u, presence.Device{})
		}
		waitFor(t, func() bool {
			v, err := tracker.View(context.Background(), topic)
			return err == nil && v.Total == len(users)
		})
	}
	dark := map[string]string{"prefers-color-scheme": "dark"}
	looks := []look{{"light", "ltr", nil, 1100}, {"phone-dark", "ltr", dark, 320}}
	if os.Getenv("SCREENSHOTS") != "" {
		looks = append(looks, look{"dark", "ltr", dark, 1100}, look{"phone", "ltr", nil, 320}, look{"rtl", "rtl", nil, 1100},
			look{"forced", "ltr", map[string]string{"forced-colors": "active"}, 1100})
	}
	widgets := newWidgets(t, parse(signalsView), tracker, templates.Config{})
	for _, l := range looks {
		var page strings.Builder
		noError(t, widgets.Execute(&page, "page", l.dir, requestOf(guest)))
		b.emulate(l.media, l.width, 700)
		b.do(chromedp.Navigate(newFakeServer(t, page.String(), widgets.Handler()).URL))
		b.do(chromedp.Evaluate[chromedp.Void](`
			window.places = () => [...document.querySelectorAll("textarea, .after, h2")].map((e) => e.getBoundingClientRect().top).join();
			window.was = places();
			document.querySelector(".one .presence-typists").textContent = "Wolfeschlegelsteinhausenbergerdorff the Elder and Donaudampfschifffahrt are typing…";
			document.querySelector("#nobody .presence-nobody").hidden = false; undefined`))
		b.until(`places() === was`, "true")
		b.do(chromedp.Evaluate[chromedp.Void](`
			const part = document.querySelector("#unknown .presence-editors");
			part.dataset.editors = "unknown";
			part.querySelector(".presence-unknown").hidden = false;
			const box = document.querySelector("#saved .presence-saved > div");
			box.querySelector(".presence-newer").textContent = "Alice saved a newer version. Yours is older.";
			box.hidden = false; undefined`))
		b.check(axe, l.name)
		b.holds()
		b.picture(filepath.Join(folder, "signals-"+l.name+".png"), l.width)
	}
}
