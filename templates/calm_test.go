package templates_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"

	"github.com/rollcall-go/rollcall/presence/memstore"
	"github.com/rollcall-go/rollcall/presence/track"
	"github.com/rollcall-go/rollcall/templates"
)

// A crowdedPage is a live page from whose stream a test tells of comings and goings.
type crowdedPage struct {
	*browser
	s      *fakeServer
	cursor string
	n      int
}

// newCrowdedPage opens the page with alice, bob and carol shown, of four.
func newCrowdedPage(t *testing.T) *crowdedPage {
	b := newBrowser(t)
	page, cursor, assets := livePage(t)
	s := newFakeServer(t, page, assets)
	focus := emulation.SetFocusEmulationEnabledParams{Enabled: true} // as if its window were in front
	if _, err := chromedp.Call(b.ctx, emulation.SetFocusEmulationEnabled, focus); err != nil {
		t.Fatal(err)
	}
	b.do(chromedp.Navigate(s.URL))
	b.until(live, "on")
	b.until(shown, "alice:online bob:online carol:online")
	return &crowdedPage{browser: b, s: s, cursor: cursor}
}

// tell sends a diff after which so many are online, and waits until the page
// has taken it: counts never wait.
func (p *crowdedPage) tell(total int, joins string, leaves ...string) {
	p.Helper()
	p.n++
	cursor := fmt.Sprint("c.", p.n)
	var joined, left []string
	for _, id := range strings.Fields(joins) {
		joined = append(joined, fmt.Sprintf(`%q:{"name":"%s!","status":"online","since":"2099-01-01T00:00:%02dZ","url":"/u"}`, id, strings.ToTitle(id), p.n))
	}
	for _, id := range leaves {
		left = append(left, fmt.Sprintf("%q:{}", id))
	}
	p.s.send(p.T, "diff", fmt.Sprintf(`{"topic":"site","prev":%q,"cursor":%q,"total":%d,"joins":{%s},"leaves":{%s}}`,
		p.cursor, cursor, total, strings.Join(joined, ","), strings.Join(left, ",")))
	p.cursor = cursor
	p.until(online, fmt.Sprint(total))
}

// point moves the pointer to the middle of an element.
func (p *crowdedPage) point(selector string) {
	p.Helper()
	at := func(expression string) float64 {
		v, err := chromedp.Run(p.ctx, chromedp.Evaluate[float64](fmt.Sprintf("(r => %s)(document.querySelector(%q).getBoundingClientRect())", expression, selector)))
		if err != nil {
			p.Fatal(err)
		}
		return v
	}
	p.do(chromedp.MouseEvent(input.DispatchMouseEventTypeMouseMoved, at("r.x + r.width / 2"), at("r.y + r.height / 2")))
}

func (p *crowdedPage) eval(script string) {
	p.Helper()
	p.do(chromedp.Evaluate[chromedp.Void](script))
}

const focused = `document.activeElement.closest("li")?.dataset.user`

func TestListWaitsForThePointer(t *testing.T) {
	p := newCrowdedPage(t)
	p.point("#site [data-user=bob]")
	p.tell(5, "dora")
	p.tell(4, "", "alice")
	p.until(shown, "alice:online bob:online carol:online")
	p.point("#thread")
	p.until(shown, "dora:online bob:online carol:online")
	p.tell(5, "emil")
	p.until(shown, "emil:online dora:online bob:online")
}

func TestListWaitsForTheFocus(t *testing.T) {
	p := newCrowdedPage(t)
	p.eval(`document.querySelector("#site [data-user=bob] a").focus()`)
	p.tell(4, "dora", "bob")
	p.until(shown, "alice:online bob:online carol:online")
	p.until(focused, "bob")
	p.do(chromedp.KeyEvent("\t"))
	p.until(focused, "carol")
	p.until(shown, "alice:online bob:online carol:online") // the focus is still in the list
	p.do(chromedp.KeyEvent("\t"))
	p.until(shown, "dora:online alice:online carol:online")
}

// A focus that rests for long does not hold the list for ever. It is put near
// where it was when its item goes.
func TestFocusIsNotLost(t *testing.T) {
	p := newCrowdedPage(t)
	p.eval(`document.querySelector("#site [data-user=bob] a").focus()`)
	p.tell(5, "yan zoe", "bob")
	p.until(shown, "alice:online bob:online carol:online")
	p.eval(`{ const now = Date.now; Date.now = () => now() + 60_000 }`)
	p.tell(4, "", "carol")
	p.until(shown, "yan:online zoe:online alice:online")
	p.until(focused, "zoe") // who stands where bob stood
	p.eval(`{ const now = Date.now; Date.now = () => now() + 60_000 }`)
	p.tell(0, "", "yan", "zoe", "alice")
	p.until(shown, "")
	p.until("document.activeElement.className", "presence-users")
}

// Nobody who stays is touched, so that nothing flickers and no focus is lost.
func TestListTouchesOnlyWhatChanges(t *testing.T) {
	p := newCrowdedPage(t)
	p.noted("touched", "")
	p.tell(3, "", "alice")
	p.noted("touched", "alice")
	p.tell(4, "dora")
	p.noted("touched", "dora")
	p.eval(`items = [...document.querySelectorAll("#site [data-user]")]`)
	p.tell(4, "bob")
	p.until(`document.querySelector("#site [data-user=bob] .presence-name").textContent`, "BOB!")
	p.until(`items.every((item) => item.isConnected)`, "true")
}

func TestSummariesAreSpoken(t *testing.T) {
	p := newCrowdedPage(t)
	const said = `document.querySelector("#site [role=status].presence-said").textContent`
	p.until(said, "")
	p.tell(7, "dora emil fred")
	p.tell(6, "", "alice")
	p.until(said, "DORA! and 2 others came online. ALICE went offline.")
}

// However many dots there are, a page has one stream, which names their users. None is asked for.
func TestTwoHundredDots(t *testing.T) {
	var view strings.Builder
	view.WriteString(`<!doctype html><html lang="en"><head><title>t</title>{{presenceHead}}</head><body>`)
	for i := range 200 {
		fmt.Fprintf(&view, `{{onlineDot "user-%d"}}`, i%150)
	}
	page, assets := emptySite(t, view.String())
	s := newFakeServer(t, page, assets)
	b := newBrowser(t)
	b.do(chromedp.Navigate(s.URL))
	waitFor(t, func() bool { return s.open.Load() == 1 })
	dots := func(status string) string {
		return fmt.Sprintf(`document.querySelectorAll("[data-presence-dot][data-status=%[1]s][title=%[1]s][aria-label=%[1]s]").length`, status)
	}
	b.until(dots("offline"), "200")
	s.send(t, "state", `{"topic":"site","cursor":"c.1","total":500,"window":1,"order":["zoe"],"truncated":true,"users":{"zoe":{"name":"Z","status":"online","since":"2026-11-21T06:57:10Z"},"user-0":{"name":"A","status":"busy","since":"2026-11-21T06:57:00Z"},"user-149":{"name":"B","status":"away","since":"2026-11-21T06:57:00Z"}}}`)
	b.until(dots("busy"), "2")
	b.until(dots("away"), "1")
	s.send(t, "diff", `{"topic":"site","prev":"c.1","cursor":"c.2","total":499,"joins":{"user-7":{"name":"C","status":"away","since":"2026-11-21T06:57:20Z"}},"leaves":{"user-0":{}},"out":["zoe"]}`)
	b.until(dots("away"), "3")
	b.until(dots("offline"), "197")
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.asked) > 0 || len(s.queries) != 1 || s.also != 150 {
		t.Errorf("got requests for %v users, and %d streams, the last with %d dots, want none and one with 150", s.asked, len(s.queries), s.also)
	}
}

// emptySite renders a view of a site where nobody is, and returns what serves
// its script, too.
func emptySite(t *testing.T, view string) (page string, assets http.Handler) {
	t.Helper()
	tracker, err := track.New(memstore.New(), track.Config{})
	noError(t, err)
	t.Cleanup(func() { tracker.Close(context.Background()) })
	var b strings.Builder
	widgets := newWidgets(t, parse(view), tracker, templates.Config{})
	noError(t, widgets.Execute(&b, "page", nil, requestOf(guest)))
	return b.String(), widgets.Handler()
}
