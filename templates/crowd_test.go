package templates_test

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/rollcall-go/rollcall/handlers"
	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/memstore"
	"github.com/rollcall-go/rollcall/presence/track"
	"github.com/rollcall-go/rollcall/templates"
)

// A crowdedSite has real handlers and a page with dots and the first of many users.
type crowdedSite struct {
	*httptest.Server
	tracker *track.Tracker

	mu    sync.Mutex
	asked []string // what pages asked for: paths with their queries, and bodies of beats
}

func newCrowdedSite(t *testing.T, cfg track.Config, users int, view string) *crowdedSite {
	t.Helper()
	tracker, err := track.New(memstore.New(), cfg)
	noError(t, err)
	t.Cleanup(func() { tracker.Close(context.Background()) })
	s := &crowdedSite{tracker: tracker}
	s.total(t, 0)
	for _, u := range crowd(users) {
		tracker.Seen(presence.Site, u, presence.Device{})
	}
	s.total(t, users)
	widgets := newWidgets(t, parse(`<!doctype html><html lang="en"><head><title>t</title>{{presenceHead}}</head><body>`+view+`</body></html>`), tracker, templates.Config{})
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, r *http.Request) {
		most, _ := strconv.Atoi(r.FormValue("most"))
		if err := widgets.Execute(w, "page", most, r); err != nil {
			t.Error(err)
		}
	})
	mux.HandleFunc("GET /login", func(w http.ResponseWriter, r *http.Request) {
		http.SetCookie(w, &http.Cookie{Name: "who", Value: r.FormValue("name")})
		http.Redirect(w, r, "/?most="+r.FormValue("most"), http.StatusSeeOther)
	})
	mux.HandleFunc("GET /favicon.ico", func(http.ResponseWriter, *http.Request) {})
	h := handlers.New(tracker, handlers.Config{Widget: widgets.Handler()})
	mux.HandleFunc("/presence/", func(w http.ResponseWriter, r *http.Request) {
		asked := r.URL.Path + "?" + r.URL.RawQuery
		note := func() {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.asked = append(s.asked, asked)
		}
		if r.URL.Path != "/presence/beat" {
			note()
			h.ServeHTTP(w, r)
			return
		}
		body, _ := io.ReadAll(r.Body)
		asked += string(body)
		r.Body = io.NopCloser(strings.NewReader(string(body)))
		h.ServeHTTP(w, r)
		note() // now that it has an effect
	})
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mux.ServeHTTP(w, r.WithContext(presence.ContextWithVisitor(r.Context(), visitorOf(r))))
	}))
	t.Cleanup(func() {
		if t.Failed() {
			if v, err := tracker.View(context.Background(), presence.Site); err == nil {
				_, there := v.Member("user-0000")
				t.Logf("user-0000 is online: %v; pages asked for %q", there, s.asked)
			}
		}
		tracker.Close(context.Background()) // ends the streams
		s.CloseClientConnections()
		s.Close()
	})
	return s
}

// total waits until as many users are online.
func (s *crowdedSite) total(t *testing.T, want int) {
	t.Helper()
	waitFor(t, func() bool {
		v, err := s.tracker.View(context.Background(), presence.Site)
		return err == nil && v.Total == want
	})
}

// requests returns how many requests had all of some words.
func (s *crowdedSite) requests(words ...string) (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, asked := range s.asked {
		all := true
		for _, word := range words {
			all = all && strings.Contains(asked, word)
		}
		if all {
			n++
		}
	}
	return n
}

// shownIn waits until a page lists the first users, so many at most, with dots of user-0000 and so on, as the roster
// has them.
func (s *crowdedSite) shownIn(b *browser, most, marked int) {
	b.Helper()
	v, err := s.tracker.View(context.Background(), presence.Site)
	noError(b, err)
	var list, shown []string
	for _, m := range v.Newest(most) {
		list = append(list, string(m.ID))
	}
	for i := range marked {
		_, is := v.Member(presence.UserID(fmt.Sprintf("user-%04d", i)))
		shown = append(shown, map[bool]string{true: "online/online", false: "offline/offline"}[is])
	}
	b.until(crowdedList, strings.Join(list, " "))
	b.until(dots, strings.Join(shown, " "))
	b.until(`document.querySelector("#site [data-count=online]").value`, fmt.Sprint(v.Total))
}

const crowdedList = `[...document.querySelectorAll("#site [data-user]")].map((li) => li.dataset.user).join(" ")`

// dotsView is a page with 10 dots of a crowd, and the list of the newest 20.
func dotsView() string {
	var b strings.Builder
	for i := range 10 {
		fmt.Fprintf(&b, `{{onlineDot "user-%04d"}}`, i)
	}
	return b.String() + `<div id="site">{{whosOnline "site" "max" 20}}</div>`
}

// A page that shows 20 of 2,000 users and 10 dots is right whatever happens, also after it was
// hidden for a while, and hears no more than it shows. Nobody whom others' leaving brings into sight
// has come.
func TestBrowserShowsACrowd(t *testing.T) {
	t.Parallel()
	s := newCrowdedSite(t, track.Config{}, 2000, dotsView())
	b := newBrowser(t)
	b.do(chromedp.Navigate(s.URL))
	b.until(live, "on")
	b.do(chromedp.Evaluate[chromedp.Void](`window.fired = []; for (const type of ["join", "leave", "state"]) addEventListener("presence:" + type, ({ detail }) => fired.push(type + " " + detail.id))`))
	if s.requests("/presence/events?", "window=20", "also=user-0000", "also=user-0009") != 1 || s.requests("/presence/events?") != 1 {
		t.Errorf("the page asked for %q, want one stream with 20 users and 10 dots", s.asked)
	}

	random := rand.New(rand.NewPCG(1, 2))
	came, online := map[string]bool{}, map[string]bool{}
	change := func() {
		id := fmt.Sprintf("user-%04d", random.IntN(10))
		if random.IntN(2) == 0 {
			id = fmt.Sprintf("new-%02d", random.IntN(40))
		}
		if online[id] || strings.HasPrefix(id, "user-") && !came[id] && random.IntN(2) == 0 {
			noError(t, s.tracker.SignOut(context.Background(), presence.UserID(id)))
			delete(online, id)
			return
		}
		s.tracker.Seen(presence.Site, presence.User{ID: presence.UserID(id), Name: id}, presence.Device{})
		came[id], online[id] = true, true
	}
	check := func(when string) {
		t.Helper()
		time.Sleep(300 * time.Millisecond)
		t.Log(when)
		s.shownIn(b, 20, 10)
	}
	for range 3 {
		for range 40 {
			change()
			time.Sleep(20 * time.Millisecond)
		}
		check("after changes")
	}

	// The script says so after ten seconds, for which its own tests wait. Here it is a tenth of a second.
	const hide = `{
		const later = setTimeout;
		window.setTimeout = (what, ms, ...more) => later(what, ms / 100, ...more);
		Object.defineProperty(document, "hidden", { value: %v, configurable: true });
		document.dispatchEvent(new Event("visibilitychange"));
		window.setTimeout = later;
	}`
	b.do(chromedp.Evaluate[chromedp.Void](fmt.Sprintf(hide, true)))
	waitFor(t, func() bool { return s.requests("/presence/beat", `"hidden":true`) == 1 })
	b.do(chromedp.Evaluate[chromedp.Void](`window.before = ` + crowdedList))
	for range 40 {
		change()
	}
	s.tracker.Seen(presence.Site, presence.User{ID: "zoe"}, presence.Device{})
	time.Sleep(2 * time.Second)
	b.until(crowdedList+" === before", "true")
	b.do(chromedp.Evaluate[chromedp.Void](fmt.Sprintf(hide, false)))
	check("seen again")
	b.until(`fired.filter((what) => what === "join zoe").length`, "1")
	b.until(`fired.filter((what) => /^(state|join user-00[1-9]|join user-[1-9])/.test(what)).join()`, "")
	if n := s.requests("/presence/events?"); n != 1 {
		t.Errorf("the page opened %d streams, want 1", n)
	}
	if n := s.requests("/presence/users?") + s.requests("/presence/roster?"); n != 0 {
		t.Errorf("the page asked %d times for users, want 0", n)
	}
	b.until(live, "on")
}

// A topic over the roster limit, of which nobody is named, has figures.
func TestBrowserOverTheRosterLimit(t *testing.T) {
	s := newCrowdedSite(t, track.Config{MaxRoster: 10, MergeWindow: -1}, 10, `{{onlineDot "user-0003"}}<div id="site">{{whosOnline "site"}}</div>`)
	b := newBrowser(t)
	b.do(chromedp.Navigate(s.URL))
	b.until(live, "on")
	s.tracker.Seen(presence.Site, presence.User{ID: "user-000x"}, presence.Device{})
	b.until(online, "11")
	for i := range 5 {
		s.tracker.Seen(presence.Site, presence.User{ID: presence.UserID(fmt.Sprint("more-", i))}, presence.Device{})
	}
	b.until(online, "16")
	b.until(live, "on")
}
