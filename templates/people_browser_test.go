package templates_test

import (
	"context"
	"encoding/json"
	"net/http"
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

// peoplePage serves a page to alice, with people of a source, and a stream that a test plays.
func peoplePage(t *testing.T, view string, from *somePeople) *fakeServer {
	tracker, err := track.New(memstore.New(), track.Config{Directory: presencetest.NewMemoryDirectory()})
	noError(t, err)
	t.Cleanup(func() { tracker.Close(context.Background()) })
	waitFor(t, func() bool { _, err := tracker.View(context.Background(), presence.Site); return err == nil })
	widgets := newWidgets(t, parse(`<!doctype html><html lang="en"><head><title>t</title>{{presenceHead}}</head><body>`+view+`</body></html>`), tracker, templates.Config{})
	widgets.PeopleFrom(from)
	var b strings.Builder
	noError(t, widgets.Execute(&b, "page", nil, requestOf(user("alice"))))
	return newFakeServer(t, b.String(), widgets.Handler())
}

const (
	peopleShown = `[...document.querySelectorAll("li[data-person]")].map((li) => li.dataset.person + ": " + li.querySelector(".presence-note").textContent.replace(/\s+/g, " ").trim()).join(", ")`
	peopleCount = `document.querySelector(".presence-figure").textContent`
)

// A list of contacts changes in place: no item is moved, added or removed.
func TestBrowserContacts(t *testing.T) {
	t.Parallel()
	b := newBrowser(t)
	s := peoplePage(t, `{{contacts}}`, &somePeople{people: []presence.Person{
		{ID: "eve", LastSeen: time.Now().Add(-2 * time.Hour)},
		{ID: "bob", Name: "Bob", Online: true, Status: presence.Busy, Text: "in a call", On: []string{"mobile"}},
		{ID: "zoe", Name: "Zoe", Online: true},
	}})
	b.do(chromedp.Navigate(s.URL), chromedp.Evaluate[chromedp.Void](`
		window.fired = [];
		for (const name of ["state", "join", "leave", "live"]) addEventListener("presence:" + name, ({ detail }) => fired.push([name, detail.id ?? detail.live ?? Object.keys(detail.users), detail.last_seen].filter(Boolean).join(" ")));
		window.moved = 0;
		new MutationObserver((all) => (moved += all.length)).observe(document.querySelector(".presence-people"), { childList: true });`))
	b.until(`document.querySelector(".presence-contacts").dataset.live`, "on")
	b.until(peopleShown, "eve: offline last seen 2 hours ago, bob: busy in a call on a phone, zoe: online")
	b.do(chromedp.Evaluate[chromedp.Void](`fired.length = 0`))

	// What was rendered is no news; who is gone by now is. mallory is of another tab.
	s.send(t, "state", `{"topic":"people","cursor":"1","total":2,"truncated":false,"users":{"bob":{"name":"Bob","status":"away","since":"2026-11-21T06:57:00Z","on":["desktop","mobile"]},"mallory":{"name":"M","status":"online"}}}`)
	b.until(peopleShown, "eve: offline last seen 2 hours ago, bob: away, zoe: offline")
	b.noted("fired", "leave zoe, state bob")
	b.until(peopleCount, "1 contact online")

	s.send(t, "diff", `{"topic":"people","prev":"1","cursor":"2","total":2,"joins":{"eve":{"name":"Eve <i>","status":"online","since":"2026-11-21T06:58:00Z","text":"<b>","on":["tablet"]}},"leaves":{"bob":{"last_seen":"`+time.Now().UTC().Add(-5*time.Minute-time.Second).Format(time.RFC3339)+`"}}}`)
	b.until(peopleShown, "eve: online <b> on a tablet, bob: offline last seen 5 minutes ago, zoe: offline")
	b.until(`document.querySelector("[data-person=eve] .presence-link").textContent`, "Eve <i>")
	b.until(`fired.map((what) => what.slice(0, 9)).join()`, "join eve,leave bob")
	b.until(peopleCount, "1 contact online")
	// Zoe too, unless the machine is so busy that she was said before.
	b.until(`document.querySelector(".presence-said").textContent.replace("Zoe and 1 other", "Bob")`, "Eve <i> came online. Bob went offline.")
	b.until("moved", "0")
	b.until(`document.querySelectorAll("i, b").length`, "0")
}

// Who left while there was no connection is asked for, so that the list says since when.
func TestBrowserContactsAfterAGap(t *testing.T) {
	t.Parallel()
	b := newBrowser(t)
	s := peoplePage(t, `{{contacts}}`, &somePeople{people: []presence.Person{{ID: "bob", Name: "Bob", Online: true}}})
	s.Config.Handler.(*http.ServeMux).HandleFunc("GET /presence/people", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		json.NewEncoder(w).Encode(map[string]any{"users": map[string]any{r.URL.Query().Get("id"): map[string]any{"online": false, "last_seen": time.Now().Add(-time.Hour - time.Minute).UTC()}}})
	})
	b.do(chromedp.Navigate(s.URL))
	s.send(t, "state", `{"topic":"people","cursor":"1","total":0,"users":{}}`)
	b.until(peopleShown, "bob: offline last seen 1 hour ago")
}

// Whose session has ended is told so, and not that the connection is lost.
func TestBrowserContactsOfAnEndedSession(t *testing.T) {
	t.Parallel()
	b := newBrowser(t)
	s := peoplePage(t, `{{contacts}}`, &somePeople{people: []presence.Person{{ID: "bob", Name: "Bob"}}})
	b.do(chromedp.Navigate(s.URL))
	b.until(`document.querySelector(".presence-contacts").dataset.live`, "on")
	s.refusing(http.StatusUnauthorized)
	s.frames <- "" // the stream ends
	b.until(`document.querySelector(".presence-lost").textContent`, "You have signed out. Reload the page to go on.")
	b.until(`document.querySelector(".presence-contacts").dataset.live`, "off")
}

// A dot shows whom this visitor may see online, and everybody else as everybody may.
func TestBrowserDotsOfPeople(t *testing.T) {
	t.Parallel()
	b := newBrowser(t)
	s := peoplePage(t, `{{onlineDot "eve"}}{{onlineDot "bob"}} {{person "eve"}} {{lastSeen "eve"}}`, &somePeople{})
	b.do(chromedp.Navigate(s.URL))
	b.until(`document.querySelector(".presence-profile").dataset.live`, "on")
	b.until(dots, "offline/offline offline/offline")
	s.send(t, "state", `{"topic":"people","cursor":"1","total":1,"users":{"eve":{"name":"Eve","status":"busy","since":"2026-11-21T06:57:00Z","text":"hi"}}}`)
	b.until(dots, "busy/busy offline/offline")
	b.until(`document.querySelector(".presence-profile").innerText.replace(/\s+/g, " ").trim()`, "busy hi")
	b.until(`document.querySelector("last-seen").textContent`, "online now")
	s.send(t, "diff", `{"topic":"people","prev":"1","cursor":"2","total":0,"joins":{},"leaves":{"eve":{"last_seen":"`+time.Now().UTC().Format(time.RFC3339)+`"}}}`)
	b.until(dots, "offline/offline offline/offline")
	b.until(`document.querySelector("last-seen").textContent`, "just now")
	b.until(`document.querySelector(".presence-profile").innerText.replace(/\s+/g, " ").trim()`, "offline last seen just now")
}

// A page connects once, also where it needs a script for people, which is loaded on demand.
func TestBrowserConnectsOnceWithPeople(t *testing.T) {
	t.Parallel()
	for _, view := range []string{`{{contacts}}`, `{{person "bob"}}`, `{{onlineDot "bob"}}`, `{{lastSeen "bob"}}`, `{{contacts}}{{person "eve"}}{{onlineDot "bob"}}{{lastSeen "eve"}}`} {
		b := newBrowser(t)
		s := peoplePage(t, `{{whosOnline "site"}}`+view, &somePeople{people: []presence.Person{{ID: "bob", Name: "Bob"}}})
		b.do(chromedp.Navigate(s.URL))
		b.until(`document.querySelector("whos-online").dataset.live`, "on")
		b.until(`performance.getEntriesByType("resource").filter(({ name }) => /assets\/people/.test(name)).length`, "1")
		time.Sleep(500 * time.Millisecond) // the next connection would come after 70 ms
		s.mu.Lock()
		if s.opened != 1 {
			t.Errorf("%s: got %d connections, want 1", view, s.opened)
		}
		s.mu.Unlock()
	}
}

// A page without people loads no script for them, also on a site that has people.
func TestBrowserLoadsPeopleOnDemand(t *testing.T) {
	t.Parallel()
	b := newBrowser(t)
	s := peoplePage(t, `{{whosOnline "site"}}{{sessions}}{{settings}}`, &somePeople{})
	b.do(chromedp.Navigate(s.URL))
	b.until(`document.querySelector("whos-online").dataset.live`, "on")
	b.until(`performance.getEntriesByType("resource").filter(({ name }) => /people/.test(name)).length`, "0")
}
