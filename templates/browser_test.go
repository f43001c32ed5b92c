package templates_test

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"html/template"
	"image/png"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"

	"github.com/rollcall-go/rollcall/internal/browse"
	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/memstore"
	"github.com/rollcall-go/rollcall/presence/presencetest"
	"github.com/rollcall-go/rollcall/presence/track"
	"github.com/rollcall-go/rollcall/templates"
)

const browserView = `<!doctype html><html lang="en"><head><meta charset="utf-8"><title>t</title>{{presenceHead}}<script src="/spy.js"></script></head>
<body>{{onlineDot "bob"}}{{onlineDot "carol"}}<div id="site">{{whosOnline "site" "max" 3}}</div><div id="thread">{{whosOnline "thread:1" "max" 3}}</div></body></html>`

// spy notes what happens to the page, from before the widget's script runs.
const spy = `
window.fired = [];
for (const name of ["state", "join", "leave", "live"]) {
  addEventListener("presence:" + name, (e) => e.target.topic === "site" && fired.push(name + " " + (e.detail.id ?? e.detail.live ?? e.detail.cursor)));
}
window.touched = [];
addEventListener("DOMContentLoaded", () => {
  new MutationObserver((changes) => {
    for (const { addedNodes, removedNodes } of changes)
      for (const n of [...addedNodes, ...removedNodes]) if (n.dataset) touched.push(n.dataset.user);
  }).observe(document.querySelector("#site .presence-users"), { childList: true });
});
`

// A fakeServer serves a page, and plays the stream as a test tells it.
type fakeServer struct {
	*httptest.Server
	frames chan string
	open   atomic.Int32 // streams

	mu      sync.Mutex
	queries []string
	asked   []int         // users, in each request for them
	answers chan struct{} // if not nil, each answer about users takes one
	also    int           // users of whom the page of the latest stream shows a dot
	refuse  int           // with this status
	opened  int
	marks   []string // the bodies of requests to mark items, and the forms that were posted
	noMarks int      // marks are refused with this status
	pages   []string // answers to requests for items, by turns
}

func newFakeServer(t *testing.T, page string, assets http.Handler) *fakeServer {
	s := &fakeServer{frames: make(chan string)}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Security-Policy", "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'")
		io.WriteString(w, page)
	})
	mux.HandleFunc("GET /spy.js", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/javascript")
		io.WriteString(w, spy)
	})
	mux.HandleFunc("GET /gallery.css", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/css")
		io.WriteString(w, galleryStyle)
	})
	mux.HandleFunc("GET /alice.png", func(w http.ResponseWriter, r *http.Request) { png.Encode(w, face()) })
	mux.HandleFunc("GET /favicon.ico", func(http.ResponseWriter, *http.Request) {})
	mux.HandleFunc("GET /broken.png", func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, "no picture") })
	mux.Handle("GET /presence/assets/", http.StripPrefix("/presence", assets))
	mux.HandleFunc("GET /presence/events", s.events)
	mux.HandleFunc("POST /presence/events", s.events)
	mux.HandleFunc("GET /presence/poll", func(w http.ResponseWriter, r *http.Request) { // of a browser that waited for too long
		http.Error(w, "refused", cmp.Or(s.refusal(), http.StatusNotFound))
	})
	mux.HandleFunc("GET /presence/users", s.users)
	mux.HandleFunc("GET /presence/feed", s.items)
	mux.HandleFunc("POST /presence/feed/mark", s.mark)
	mux.HandleFunc("POST /presence/form/notifications", s.form)
	s.Server = httptest.NewServer(mux)
	t.Cleanup(func() {
		s.CloseClientConnections() // streams that are open
		s.Close()
	})
	return s
}

func (s *fakeServer) events(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	s.queries = append(s.queries, r.URL.Query().Get("cursor"))
	r.ParseForm()
	s.also = len(r.Form["also"])
	refuse := s.refuse
	if refuse == 0 {
		s.opened++
	}
	s.mu.Unlock()
	if refuse != 0 {
		w.Header().Set("Presence-Answer", "1") // as the handlers refuse
		http.Error(w, "refused", refuse)
		return
	}
	s.open.Add(1)
	defer s.open.Add(-1)
	w.Header().Set("Content-Type", "text/event-stream")
	io.WriteString(w, "retry: 50\nevent: welcome\ndata: {\"heartbeat\":15}\n\n")
	for {
		if err := http.NewResponseController(w).Flush(); err != nil {
			return
		}
		select {
		case frame := <-s.frames:
			if frame == "" {
				return
			}
			io.WriteString(w, frame)
		case <-r.Context().Done():
			return
		}
	}
}

// users says of whoever is asked for that they are away, and notes how many
// those are.
func (s *fakeServer) users(w http.ResponseWriter, r *http.Request) {
	ids := r.URL.Query()["id"]
	s.mu.Lock()
	s.asked = append(s.asked, len(ids))
	answers := s.answers
	s.mu.Unlock()
	if answers != nil {
		<-answers
	}
	users := make(map[string]any)
	for _, id := range ids {
		users[id] = map[string]any{"online": true, "status": "away"}
	}
	w.Header().Set("Content-Type", "application/json")
	json.NewEncoder(w).Encode(map[string]any{"users": users})
}

func (s *fakeServer) send(t *testing.T, event, data string) {
	t.Helper()
	select {
	case s.frames <- fmt.Sprintf("event: %s\nid: x\ndata: %s\n\n", event, data):
	case <-time.After(patience):
		t.Fatal("no stream is open")
	}
}

// A browser is one tab.
type browser struct {
	*testing.T
	ctx context.Context

	mu   sync.Mutex
	said []string // to the console: errors, and violations of the policy
}

func newBrowser(t *testing.T) *browser {
	return newTab(t, browse.Shared(t), chromedp.WithNewBrowserContext())
}

// newTab opens a tab of the browser in which another one is open, or with an option of a new one.
func newTab(t *testing.T, of context.Context, how ...chromedp.ContextOption) *browser {
	ctx, end := chromedp.NewContext(of, how...)
	t.Cleanup(end)
	b := &browser{T: t, ctx: ctx}
	messages := chromedp.Console(b.ctx)
	go func() {
		for m, err := range messages {
			if err != nil {
				return
			}
			b.mu.Lock()
			b.said = append(b.said, m.String())
			b.mu.Unlock()
		}
	}()
	return b
}

func (b *browser) do(steps ...chromedp.Action[chromedp.Void]) {
	b.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	noError(b, chromedp.Do(ctx, steps...))
}

// lookAgain is the pause between two looks at a page. Without it, a wait takes all of a core.
const lookAgain = 10 * time.Millisecond

// until waits for an expression to have a value.
func (b *browser) until(expression, want string) {
	b.Helper()
	var got string
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(lookAgain) {
		var err error
		if got, err = chromedp.Run(b.ctx, chromedp.Evaluate[string]("String("+expression+")")); err == nil && got == want {
			return
		}
	}
	b.Errorf("%s: got %q, want %q", expression, got, want)
}

// noted waits until a list of the spy's is as wanted, and clears it.
func (b *browser) noted(list, want string) {
	b.Helper()
	b.until(list+`.join(", ")`, want)
	b.do(chromedp.Evaluate[chromedp.Void](list + ".length = 0"))
}

// livePage returns a page with alice (newest), bob and carol, three of four
// shown, as a server with a tracker of its own renders it: once it knows what
// befalls its store.
func livePage(t *testing.T, befalls ...presencetest.Fault) (page string, cursor string, assets http.Handler) {
	store := presencetest.NewFaults(memstore.New())
	tracker, err := track.New(store, track.Config{MergeWindow: -1, Logger: slog.New(slog.DiscardHandler)})
	noError(t, err)
	t.Cleanup(func() { tracker.Close(context.Background()) })
	shows := func(topic presence.Topic, total int) {
		waitFor(t, func() bool {
			v, err := tracker.View(context.Background(), topic)
			if err != nil || v.Total != total {
				return false
			}
			cursor = string(v.PageCursor(3))
			return true
		})
	}
	shows("thread:1", 0) // or a slow machine renders its widget without a cursor
	for i, id := range []presence.UserID{"dora", "carol", "bob", "alice"} {
		tracker.Seen(presence.Site, presence.User{ID: id, Name: strings.ToTitle(string(id)), URL: "/u/" + string(id), Avatar: "/broken.png"}, presence.Device{})
		shows(presence.Site, i+1)
	}
	for _, fault := range befalls {
		store.Break(fault)
		waitFor(t, func() bool {
			v, err := tracker.View(context.Background(), presence.Site)
			return err == nil && v.Stale
		})
	}
	views := template.Must(template.New("page").Funcs(templates.Funcs()).Parse(browserView))
	var b strings.Builder
	widgets := newWidgets(t, views, tracker, templates.Config{})
	noError(t, widgets.Execute(&b, "page", nil, requestOf(guest)))
	return b.String(), cursor, widgets.Handler()
}

func waitFor(t *testing.T, done func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); !done(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("it did not come about")
		}
	}
}

const (
	shown  = `[...document.querySelectorAll("#site [data-user]")].map((li) => li.dataset.user + ":" + li.dataset.status).join(" ")`
	online = `document.querySelector("#site [data-count=online]").textContent`
	more   = `((p) => p.hidden ? "" : p.textContent)(document.querySelector("#site .presence-more"))`
	live   = `document.querySelector("#site whos-online").dataset.live`
	dots   = `[...document.querySelectorAll("[data-presence-dot]")].map((d) => d.dataset.status + "/" + d.title).join(" ")`
)

func TestBrowser(t *testing.T) {
	b := newBrowser(t)
	page, cursor, assets := livePage(t)
	s := newFakeServer(t, page, assets)
	b.do(chromedp.Navigate(s.URL))

	b.until(live, "on")
	b.noted("fired", "live connecting, live on")
	b.until(shown, "alice:online bob:online carol:online")
	b.until(more, "and 1 more")
	b.until(dots, "online/online online/online")
	b.until("touched.length", "0")                          // the script would have rendered the same
	b.until(`document.querySelectorAll("img").length`, "0") // none of them is one

	next := func(prev, cursor, rest string) string {
		return fmt.Sprintf(`{"topic":"site","prev":%q,"cursor":%q,%s}`, prev, cursor, rest)
	}
	const at = `"since":"2099-01-01T00:00:00Z"`
	s.send(t, "diff", next(cursor, "c.1", `"total":5,"joins":{"__proto__":{"name":"<b>Proto</b>","status":"busy",`+at+`,"url":"javascript:alert(1)","avatar":"/broken.png"}},"leaves":{}`))
	b.until(shown, "__proto__:busy alice:online bob:online")
	b.until(`document.querySelector("#site [data-user=__proto__]").textContent`, "bb<b>Proto</b> busy")
	b.until(`document.querySelector("#site [data-user=__proto__] a").hasAttribute("href")`, "false")
	b.until(`document.querySelectorAll("img").length`, "0")
	b.until(online, "5")
	b.until(more, "and 2 more")
	b.noted("fired", "join __proto__")
	b.noted("touched", "carol, __proto__")

	s.send(t, "diff", next("c.1", "c.2", `"total":3,"joins":{"bob":{"name":"Bob","status":"away","since":"x"}},"leaves":{"__proto__":{},"carol":{}}`))
	b.until(online, "3")
	b.until(dots, "away/away offline/offline")
	b.noted("fired", "leave __proto__, leave carol")

	s.send(t, "heartbeat", `{"topic":"site","cursor":"c.2","total":3,"guests":1,"recent":9}`)
	b.until(`[...document.querySelectorAll("#site .presence-figure")].map((f) => f.textContent).join()`, "3 members online,1 guest,9 recently active")

	s.send(t, "heartbeat", `{"topic":"site","cursor":"c.2","total":3,"guests":1,"recent":9,"stale":true}`)
	b.until(live, "off")
	s.send(t, "heartbeat", `{"topic":"site","cursor":"c.2","total":3,"guests":1,"recent":9}`)
	b.noted("fired", "live off, live on")

	s.send(t, "state", `{"topic":"site","cursor":"c.3","total":1,"users":{"zoe":{"name":"Zoe","status":"online",`+at+`}},"truncated":false}`)
	b.until(shown, "zoe:online")
	b.until(more, "")
	b.until(dots, "offline/offline offline/offline")
	b.noted("fired", "join zoe, leave alice, leave bob, state c.3")
	b.until(`document.querySelector("#site .presence-figure span").textContent`, "member online")

	fields := `Object.entries(document.querySelector("#site [data-user=zoe]").dataset).filter(([key]) => key !== "since").sort().join(" ")`
	b.do(chromedp.Evaluate[chromedp.Void](`document.querySelector("#site [data-user=zoe]").dataset.own = "site"`)) // the site's script
	s.send(t, "diff", next("c.3", "c.4", `"total":1,"joins":{"zoe":{"name":"Zoe","status":"away",`+at+`,"group":"staff","data":0}},"leaves":{}`))
	b.until(fields, "group,staff json,0 own,site status,away user,zoe")
	s.send(t, "diff", next("c.4", "c.5", `"total":1,"joins":{"zoe":{"name":"Zoe","status":"online",`+at+`}},"leaves":{}`))
	b.until(fields, "own,site status,online user,zoe")

	s.send(t, "diff", next("c.5", "c.6", `"total":0,"joins":{},"leaves":{"zoe":{}}`))
	b.until(`document.querySelector("#site .presence-empty").hidden`, "false")
	b.until(`document.querySelector("#site .presence-figure").textContent`, "0 members online")
	b.noted("fired", "leave zoe")

	s.frames <- "" // the stream ends, and comes back by itself
	b.noted("fired", "live connecting, live on")

	b.do(chromedp.Evaluate[chromedp.Void](`document.querySelectorAll("whos-online, online-dot").forEach((e) => e.remove())`))
	waitFor(t, func() bool { return s.open.Load() == 0 })
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.said) > 0 {
		t.Errorf("the console says %q", b.said)
	}
}

// An answer about users that comes late does not undo what the page heard since, also if the page has asked about
// others meanwhile.
func TestBrowserForgetsALateAnswer(t *testing.T) {
	b := newBrowser(t)
	page, _, assets := livePage(t)
	s := newFakeServer(t, page, assets)
	answers := make(chan struct{})
	s.answers = answers
	b.do(chromedp.Navigate(s.URL))
	b.until(live, "on")
	b.until(dots, "online/online online/online")
	requests := func(n int) func() bool {
		return func() bool {
			s.mu.Lock()
			defer s.mu.Unlock()
			return len(s.asked) == n
		}
	}
	const alice, carol = `"alice":{"name":"Alice","status":"online","since":"2099-01-01T00:00:00Z"}`, `"carol":{"name":"Carol","status":"online","since":"2098-01-01T00:00:00Z"}`
	s.send(t, "state", `{"topic":"site","cursor":"c.1","total":9,"users":{`+alice+`,`+carol+`},"truncated":true}`)
	waitFor(t, requests(1)) // about bob
	s.send(t, "diff", `{"topic":"site","prev":"c.1","cursor":"c.2","total":8,"joins":{},"leaves":{"bob":{}}}`)
	b.until(dots, "offline/offline online/online")
	s.mu.Lock()
	s.answers = nil
	s.mu.Unlock()
	s.send(t, "state", `{"topic":"site","cursor":"c.3","total":8,"users":{`+alice+`},"truncated":true}`)
	b.until(dots, "offline/offline away/away") // an answer about carol, who is in no list of the page
	close(answers)
	b.until(`performance.getEntriesByType("resource").filter((e) => e.name.includes("/presence/users?")).length`, "2")
	b.do(chromedp.Evaluate[chromedp.Void](`new Promise((wake) => setTimeout(wake, 100))`))
	b.until(dots, "offline/offline away/away")
}

func TestBrowserStartsFromThePage(t *testing.T) {
	b := newBrowser(t)
	page, cursor, assets := livePage(t)
	s := newFakeServer(t, page, assets)
	s.refusing(http.StatusServiceUnavailable)
	b.do(chromedp.Navigate(s.URL))
	b.until(live, "off")
	s.refusing(0)
	b.until(live, "on")
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, got := range s.queries {
		if !slices.Contains(strings.Split(got, "~"), cursor) || strings.Count(got, "~") != 1 {
			t.Errorf("got cursor %q, want those of two topics, %q one of them", got, cursor)
		}
	}
	if s.opened != 1 || len(s.queries) < 2 {
		t.Errorf("got %d streams of which %d were open, want some refused and one open", len(s.queries), s.opened)
	}
}

// A page that is left and come back to goes on from where it stopped.
func TestBrowserBackForward(t *testing.T) {
	b := newTab(t, browse.StartWindowed(t), chromedp.WithNewBrowserContext())
	page, cursor, assets := livePage(t)
	s := newFakeServer(t, page, assets)
	b.do(chromedp.Navigate(s.URL))
	b.until(live, "on")
	s.send(t, "diff", fmt.Sprintf(`{"topic":"site","prev":%q,"cursor":"c.1","total":3,"joins":{},"leaves":{"dora":{}}}`, cursor))
	b.until(online, "3")
	b.do(chromedp.Evaluate[chromedp.Void](`addEventListener("pageshow", (e) => { window.restored = e.persisted })`),
		chromedp.Navigate(s.URL+"/spy.js"))
	waitFor(t, func() bool { return s.open.Load() == 0 })
	b.do(chromedp.Evaluate[chromedp.Void](`setTimeout(() => history.back())`))
	b.until("window.restored", "true")
	b.until(live, "on")
	b.until(online, "3")
	s.mu.Lock()
	defer s.mu.Unlock()
	if got := s.queries[len(s.queries)-1]; !strings.Contains(got, "c.1") {
		t.Errorf("got cursor %q after coming back, want c.1 in it", got)
	}
}

// Without script the page is what the server said, and promises no more.
func TestBrowserWithoutScript(t *testing.T) {
	b := newBrowser(t)
	page, _, assets := livePage(t)
	s := newFakeServer(t, page, assets)
	if _, err := chromedp.Call(b.ctx, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true}); err != nil {
		t.Fatal(err)
	}
	b.do(chromedp.Navigate(s.URL))
	b.until(shown, "alice:online bob:online carol:online")
	b.until(live, "off")
	b.until(`getComputedStyle(document.querySelector("#site .presence-live")).visibility`, "hidden")
}
