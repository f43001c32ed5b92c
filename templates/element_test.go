package templates_test

import (
	"cmp"
	"fmt"
	"html"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/rollcall-go/rollcall/internal/need"
	"github.com/rollcall-go/rollcall/presence"
)

// A boostedSite is a site that changes its pages without loading them anew, and that knows
// one visitor.
type boostedSite struct {
	*httptest.Server
	library string // loaded by the pages: htmx, Turbo or nothing
	head    string // of a guest's page
	widget  string // of the topic site
	beat    int    // how beats are answered

	mu      sync.Mutex
	user    string   // who is signed in
	refused []string // topics that nobody may follow
	down    bool     // no stream can be opened
	tries   int      // how many were asked for while the site was down
	streams []url.Values
	open    map[int]chan string // streams, by number; closed: the server ends it
	beats   int
}

// libraries are what changes the pages of such sites.
var libraries = map[string]string{
	"htmx 4": "htmx.org/dist/htmx.min.js",
	"htmx 2": "htmx2/dist/htmx.min.js",
	"Turbo":  "@hotwired/turbo/dist/turbo.es2017-umd.js",
}

func newBoostedSite(t *testing.T, library string) *boostedSite {
	var script []byte
	if library != "" { // in the test's goroutine, which alone can skip it
		var err error
		if script, err = os.ReadFile(need.Package(t, library)); err != nil {
			t.Fatal(err)
		}
	}
	page, assets := emptySite(t, `<head>{{presenceHead}}</head>{{whosOnline "site"}}`)
	head, rest, _ := strings.Cut(strings.TrimPrefix(page, "<head>"), "</head>")
	widget := regexp.MustCompile(` (me|cursor)="[^"]*"`).ReplaceAllString(rest, "") // without a cursor it gets a state
	s := &boostedSite{library: library, head: head, widget: widget, beat: http.StatusNoContent, open: map[int]chan string{}}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{page}", s.page)
	mux.HandleFunc("GET /as/{user...}", func(w http.ResponseWriter, r *http.Request) {
		s.signIn(r.PathValue("user"))
		http.Redirect(w, r, "/"+cmp.Or(r.FormValue("to"), "home"), http.StatusSeeOther)
	})
	mux.HandleFunc("GET /library.js", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/javascript")
		w.Write(script)
	})
	mux.HandleFunc("GET /favicon.ico", func(http.ResponseWriter, *http.Request) {})
	mux.Handle("GET /presence/assets/", http.StripPrefix("/presence", assets))
	mux.HandleFunc("GET /presence/events", s.events)
	mux.HandleFunc("GET /presence/ws", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusBadGateway) })
	mux.HandleFunc("GET /presence/poll", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusBadGateway) })
	mux.HandleFunc("POST /presence/beat", func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.beats++
		if s.beat == http.StatusSeeOther {
			http.Redirect(w, r, "http://sign-in.invalid/", s.beat) // of another origin, as a single sign-on has
			return
		}
		w.WriteHeader(s.beat)
	})
	mux.HandleFunc("POST /presence/leave", func(http.ResponseWriter, *http.Request) {})
	s.Server = httptest.NewServer(mux)
	t.Cleanup(func() {
		s.CloseClientConnections()
		s.Close()
	})
	return s
}

// of returns the widget of a topic, as a page of a user has it first.
func (s *boostedSite) of(topic, user string) string {
	return strings.Replace(strings.Replace(s.widget, `topic="site"`, `topic="`+topic+`"`, 1), "<whos-online", `<whos-online me="`+user+`"`, 1)
}

// page renders "home", with the site's widget, "thread", with that of a thread, too, or
// "empty".An element on each is kept by htmx as it is.
func (s *boostedSite) page(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	name, user := r.PathValue("page"), s.user
	widgets := map[string]string{"home": s.of("site", user), "thread": s.of("site", user) + s.of("thread:1", user)}[name]
	script := ""
	if s.library != "" {
		script = `<script src="/library.js"></script>`
	}
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	fmt.Fprintf(w, `<!doctype html><html lang="en"><head><title>%s</title>%s%s</head><body hx-boost="true" hx-boost:inherited="true"><h1 id="page">%s of %q</h1>
<a id="alice" href="/as/alice">alice</a> <a id="bob" href="/as/bob?to=thread">bob</a> <a id="out" href="/as/">out</a> <a id="away" href="/as/?to=empty">away</a>
%s</body></html>`, name, strings.Replace(s.head, html.EscapeString(`"me":""`), html.EscapeString(`"me":"`+user+`"`), 1), script, name, user, widgets)
}

// signIn ends the streams of the user before, and signs in a user; empty: nobody.
func (s *boostedSite) signIn(user string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for n, stream := range s.open {
		if s.user != "" {
			close(stream)
			delete(s.open, n)
		}
	}
	s.user = user
}

func (s *boostedSite) events(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	query, user := r.URL.Query(), s.user
	if s.down {
		s.tries++
		s.mu.Unlock()
		w.WriteHeader(http.StatusBadGateway)
		return
	}
	me := query.Get("me")
	if me != "" && user != "" && me != user {
		s.mu.Unlock()
		w.Header().Set("Presence-Answer", "1") // as the handler marks its own answers
		http.Error(w, "somebody else has signed in", http.StatusUnauthorized)
		return
	}
	n, frames := len(s.streams), make(chan string, 10)
	s.streams = append(s.streams, query)
	s.open[n] = frames
	refused, warnings := `"`+strings.Join(s.refused, `","`)+`"`, ""
	if len(s.refused) > 0 {
		warnings = fmt.Sprintf("%q", presence.TopicRefused.Text())
	}
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.open, n)
	}()
	w.Header().Set("Content-Type", "text/event-stream")
	fmt.Fprintf(w, "retry: 50\nevent: welcome\ndata: {\"connection\":\"n.%d\",\"heartbeat\":2,\"beat\":2,\"user\":%q,\"refused\":[%s],\"warnings\":[%s]}\n\n", n, user, strings.TrimPrefix(refused, `""`), warnings)
	state := func(topic string) {
		fmt.Fprintf(w, "event: state\nid: x\ndata: {\"topic\":%q,\"cursor\":\"%s.1\",\"total\":1,\"users\":{\"zoe\":{\"name\":\"Zoe\",\"status\":\"online\"}}}\n\n", topic, topic)
	}
	for _, topic := range query["topic"] {
		if !slices.Contains(s.refused, topic) && !strings.Contains(query.Get("cursor"), topic+".") {
			state(topic)
		}
	}
	for {
		if http.NewResponseController(w).Flush() != nil {
			return
		}
		select {
		case frame, ok := <-frames:
			if !ok {
				return
			}
			io.WriteString(w, frame)
		case <-time.After(500 * time.Millisecond):
			io.WriteString(w, "event: heartbeat\ndata: {\"topic\":\"none\"}\n\n") // beats follow events
		case <-r.Context().Done():
			return
		}
	}
}

// holds waits until one stream alone is open, which holds a user online.
func (s *boostedSite) holds(t *testing.T, user string, topics ...string) {
	t.Helper()
	var got []url.Values
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		s.mu.Lock()
		got = got[:0]
		for n := range s.open {
			got = append(got, s.streams[n])
		}
		s.mu.Unlock()
		if len(got) == 1 && got[0].Get("me") == user && (got[0].Get("beat") == "auto") == (user != "") && slices.Equal(got[0]["topic"], topics) {
			return
		}
	}
	t.Fatalf("got the streams %v open, want one of %q for %v", got, user, topics)
}

const (
	allLive = `[...document.querySelectorAll("whos-online")].map((w) => w.topic + " " + w.dataset.live).join(", ")`
	allLost = `[...document.querySelectorAll(".presence-lost")].map((p) => p.textContent).join()`
)

// click follows a link, and waits for the page behind it. htmx takes a moment to see the links
// of a new page.
func (b *browser) click(link, heading string) {
	b.Helper()
	b.do(chromedp.Evaluate[chromedp.Void](`window.htmx?.process(document.body); document.querySelector("#` + link + `").click()`))
	b.until(`document.querySelector("#page").textContent`, heading)
}

// Signing in and out without loading a page: the document stays, and its stream is always
// that of the user for whom the page was rendered.
func TestBrowserSignsInWithoutAPageLoad(t *testing.T) {
	for name, library := range libraries {
		t.Run(name, func(t *testing.T) {
			s, b := newBoostedSite(t, library), newBrowser(t)
			b.do(chromedp.Navigate(s.URL + "/home"))
			b.until(allLive, "site on")
			s.holds(t, "", "site")
			b.do(chromedp.Evaluate[chromedp.Void]("loaded = 1; left = []; addEventListener('presence:leave', (e) => left.push(e.detail.id))"))

			b.click("alice", `home of "alice"`)
			s.holds(t, "alice", "site")
			b.until(allLive, "site on")
			b.click("out", `home of ""`)
			s.holds(t, "", "site")
			b.until(allLive, "site on")
			b.click("bob", `thread of "bob"`)
			s.holds(t, "bob", "site", "thread:1")
			b.until(allLive, "site on, thread:1 on")
			b.until(allLost, ",")

			b.click("away", `empty of ""`) // a page without an element
			waitFor(t, func() bool { s.mu.Lock(); defer s.mu.Unlock(); return len(s.open) == 0 })
			b.click("bob", `thread of "bob"`)
			s.holds(t, "bob", "site", "thread:1")
			b.until(allLive, "site on, thread:1 on")
			b.until(allLost, ",")
			b.until("loaded", "1")
			b.until("left.join()", "")
			s.mu.Lock()
			defer s.mu.Unlock()
			if len(s.streams) > 12 {
				t.Errorf("got %d streams, want few", len(s.streams))
			}
		})
	}
}

// A tab that the site has just served does not wait until the tab that leads tries again.
func TestBrowserTabWakesTheLeader(t *testing.T) {
	s, b := newBoostedSite(t, ""), newBrowser(t)
	s.signIn("alice")
	b.do(chromedp.Navigate(s.URL + "/home"))
	b.until(allLive, "site on")
	s.mu.Lock()
	s.down = true
	for n, stream := range s.open {
		close(stream)
		delete(s.open, n)
	}
	s.mu.Unlock()
	tries := func() int { s.mu.Lock(); defer s.mu.Unlock(); return s.tries }
	waitFor(t, func() bool { return tries() >= 5 }) // the next try is 8 to 24 s later
	s.mu.Lock()
	s.down = false
	s.mu.Unlock()
	ctx, end := chromedp.NewContext(b.ctx)
	t.Cleanup(end)
	second := &browser{T: t, ctx: ctx}
	second.do(chromedp.Navigate(s.URL + "/home"))
	began := time.Now()
	waitFor(t, func() bool { s.mu.Lock(); defer s.mu.Unlock(); return len(s.open) == 1 })
	t.Logf("the stream was there %v after the second tab was loaded", time.Since(began))
	if waited := time.Since(began); waited > 4*time.Second {
		t.Errorf("got a tab that was live %v after it was loaded, want at once", waited)
	}
	s.holds(t, "alice", "site")
}

// An element that outlives its page goes on as the next user, and so does a client of the
// site's own script. Its attribute, which is that of the page before, says nothing then.
func TestBrowserElementOutlivesItsPage(t *testing.T) {
	s, b := newBoostedSite(t, ""), newBrowser(t)
	s.signIn("alice")
	b.do(chromedp.Navigate(s.URL + "/home"))
	b.until(allLive, "site on")
	s.holds(t, "alice", "site")
	eval := func(script string) { b.Helper(); b.do(chromedp.Evaluate[chromedp.Void](script)) }
	eval(`window.lives = [];
		import("/presence/assets/connect.js").then(({ connect }) => { own = connect({ topics: ["thread:2"] }); own.on("live", (live) => lives.push(live)) });
		kept = document.querySelector("whos-online")`)
	s.holds(t, "alice", "site", "thread:2")

	s.signIn("bob")
	b.until(allLost, "You have signed out. Reload the page to go on.")
	element := fmt.Sprintf("%q", `<online-count topic="site" value="" me="bob">–</online-count>`)
	eval(`document.body.innerHTML = ` + element + `; document.body.append(kept)`)
	s.holds(t, "bob", "site", "thread:2")
	b.until(allLive, "site on")
	b.until(allLost, "")
	b.until("own.live", "on")
	eval(`document.body.prepend(kept)`) // connected again, with alice in its attribute
	b.until("kept.getAttribute('me')", "alice")
	b.until("own.live", "on")
	s.holds(t, "bob", "site", "thread:2")
	eval(`kept.cloneNode(true); after = own.live`) // as Turbo copies pages
	b.until("after", "on")

	s.signIn("alice")
	eval(`kept.setAttribute("me", "carol"); kept.setAttribute("me", "alice")`) // as morphing changes elements
	s.holds(t, "alice", "site", "thread:2")
	b.until(allLive, "site on")
}

// A topic that the visitor may not follow is off, without alarm. The other widget of the
// page is live.
func TestBrowserTopicRefused(t *testing.T) {
	s, b := newBoostedSite(t, ""), newBrowser(t)
	s.refused = []string{"thread:1"}
	b.do(chromedp.Navigate(s.URL + "/thread"))
	b.until(allLive, "site on, thread:1 off")
	b.do(chromedp.Evaluate[chromedp.Void](`window.later = false; setTimeout(() => (later = true), 3500)`)) // when a lost connection is told
	b.until("later", "true")
	b.until(allLost, ",")
	b.says("A page shows a topic that its visitor may not follow", "Config.Authorize")
}

// says waits for a message in the console that contains all words, and for no second one.
func (b *browser) says(words ...string) {
	b.Helper()
	matching := func() (n int) {
		b.mu.Lock()
		defer b.mu.Unlock()
		for _, said := range b.said {
			if !slices.ContainsFunc(words, func(word string) bool { return !strings.Contains(said, word) }) {
				n++
			}
		}
		return n
	}
	waitFor(b.T, func() bool { return matching() > 0 })
	if n := matching(); n != 1 {
		b.Errorf("the console says %q %d times, want once", words, n)
	}
}

// Where beats are refused, the connection holds the user online, and the console says what
// to do. A redirect to a sign-in at another origin, which the script cannot read, is a
// refusal too.
func TestBrowserBeatsRefused(t *testing.T) {
	for status, want := range map[int]string{http.StatusForbidden: "403", http.StatusSeeOther: "302"} {
		t.Run(want, func(t *testing.T) {
			s, b := newBoostedSite(t, ""), newBrowser(t)
			s.user, s.beat = "alice", status
			b.do(chromedp.Navigate(s.URL + "/home"))
			waitFor(t, func() bool {
				s.mu.Lock()
				defer s.mu.Unlock()
				for n := range s.open {
					if q := s.streams[n]; q.Get("nobeat") == want && !q.Has("beat") && q.Get("me") == "alice" {
						return true
					}
				}
				return false
			})
			b.until(allLive, "site on")
			b.says("POST /presence/beat", "CSRF")
			b.do(chromedp.Evaluate[chromedp.Void](`window.later = false; setTimeout(() => (later = true), 3000)`)) // the time of some beats
			b.until("later", "true")
			s.mu.Lock()
			defer s.mu.Unlock()
			if s.beats != 1 || len(s.streams) != 2 {
				t.Errorf("got %d beats and %d streams, want 1 and 2", s.beats, len(s.streams))
			}
		})
	}
}

// Last seen and the number of users follow the stream, where the server rendered them and
// where a script adds them. The number of another topic does not make the page follow it.
func TestBrowserSeenAndCountsAreLive(t *testing.T) {
	s, b := newBoostedSite(t, ""), newBrowser(t)
	b.do(chromedp.Navigate(s.URL + "/empty"))
	ago := time.Now().Add(-12*time.Minute - 50*time.Second).UTC().Format(time.RFC3339)
	elements := `<last-seen data-presence-seen="zoe" datetime="" title=""></last-seen> <last-seen data-presence-seen="bob" datetime="` + ago + `">12 minutes ago</last-seen>
		<online-count topic="site" value="">–</online-count> <online-count topic="thread:1" value="7" src="/presence">7</online-count> <online-dot data-presence-dot="zoe" data-status="offline"></online-dot>`
	b.do(chromedp.Evaluate[chromedp.Void](fmt.Sprintf("document.body.insertAdjacentHTML('beforeend', %q)", elements)))
	const seen = `[...document.querySelectorAll("last-seen")].map((e) => e.textContent).join()`
	const counts = `[...document.querySelectorAll("online-count")].map((e) => e.getAttribute("value") + " " + e.textContent).join()`
	b.until(counts, "1 1,7 7")
	b.until(seen, "online now,12 minutes ago")
	b.until(`document.querySelector("online-dot").dataset.status`, "online")
	s.holds(t, "", "site")
	left := time.Now().Add(-time.Second).UTC().Format(time.RFC3339)
	s.tell("diff", `{"topic":"site","prev":"site.1","cursor":"site.2","total":12345,"joins":{"bob":{"name":"Bob","status":"busy"}},"leaves":{"zoe":{"last_seen":"`+left+`"}}}`)
	b.until(seen, "just now,online now")
	b.until(counts, "12345 12,345,7 7")
	b.until(`document.querySelector("last-seen").getAttribute("datetime")`, left)
	b.until(`document.querySelector("last-seen").title`, strings.Replace(left[:16], "T", " ", 1)+" UTC")
	b.until(`document.querySelector("online-dot").dataset.status`, "offline")
	b.do(chromedp.Evaluate[chromedp.Void](`{ const now = Date.now; Date.now = () => now() + 61_000 }`))
	b.until(seen, "1 minute ago,online now")
	b.do(chromedp.Evaluate[chromedp.Void](`document.querySelectorAll("last-seen, online-count, online-dot").forEach((e) => e.remove())`))
	waitFor(t, func() bool { s.mu.Lock(); defer s.mu.Unlock(); return len(s.open) == 0 })
}

// tell sends an event to all open streams.
func (s *boostedSite) tell(event, data string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, frames := range s.open {
		frames <- fmt.Sprintf("event: %s\nid: x\ndata: %s\n\n", event, data)
	}
}
