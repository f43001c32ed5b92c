package adaptertest

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/rollcall-go/rollcall/presence"
)

// testVisitors tests who is recorded, and when.
func testVisitors(t *testing.T, a Adapter) {
	for name, test := range map[string]func(*world){
		"a user's page views are recorded once a minute":   userIsThrottled,
		"a guest counts after the cookie came back":        guestCounts,
		"handlers find the visitor in the request":         visitorIsInContext,
		"a skipped request has no visitor":                 skipperSkips,
		"the visitor is a guest where Identify panics":     panicMakesAGuest,
		"sign-in, another user and sign-out count at once": usersChange,
		"a request that changes something ends a throttle": changeEndsThrottle,
		"without cookies a user is throttled as well":      userWithoutCookies,
		"a browser remembers that its user is invisible":   statusIsRemembered,
		"a page that caches may share sets no cookie":      sharedPageSetsNoCookie,
		"a crawler counts by its name and is no guest":     crawlerCounts,
		"sign-out of one browser leaves the other alone":   signOffEndsOneBrowser,
	} {
		t.Run(name, func(t *testing.T) { inWorld(t, a, Site{}, test) })
	}
}

func userIsThrottled(w *world) {
	alice := w.browser("alice")
	alice.get("/")
	w.expect("alice")
	time.Sleep(59 * time.Second)
	for range 3 {
		if p := alice.get("/"); len(p.set) != 0 {
			w.t.Errorf("got %v set on a throttled page view, want nothing", p.set)
		}
	}
	w.expect()
	time.Sleep(time.Second)
	alice.get("/")
	w.expect("alice")
}

func guestCounts(w *world) {
	guest := w.browser("")
	guest.get("/")
	w.expect()
	guest.get("/")
	w.expect("guest")
	bot := w.browser("")
	for range 5 {
		clear(bot.cookies)
		bot.get("/")
	}
	w.expect()
}

func visitorIsInContext(w *world) {
	alice, guest := w.browser("alice"), w.browser("")
	for range 2 { // with a cookie to set, and without
		alice.get("/")
		if got := w.visitor.User.ID; got != "alice" {
			w.t.Errorf("got visitor %q, want alice", got)
		}
		guest.get("/")
		if w.visitor.SignedIn() {
			w.t.Errorf("got visitor %q, want a guest", w.visitor.User.ID)
		}
	}
	if w.visitor.Guest == "" {
		w.t.Error("got no id of a guest whose cookie came back")
	}
}

func skipperSkips(w *world) {
	w.skips = func(r *http.Request) bool { return r.URL.Path == "/unread" }
	alice := w.browser("alice")
	if p := alice.get("/unread"); w.visitor.SignedIn() || len(p.set) != 0 || p.body != PageBody {
		w.t.Errorf("got visitor %q, %v set and the page %q, want the page alone", w.visitor.User.ID, p.set, p.body)
	}
	w.expect()
	alice.get("/")
	w.expect("alice")
}

func panicMakesAGuest(w *world) {
	w.asks = func(*http.Request) (presence.User, bool) { panic("no session") }
	alice := w.browser("alice")
	for range 2 {
		if p := alice.get("/"); p.status != http.StatusOK || p.body != PageBody || w.visitor.SignedIn() {
			w.t.Errorf("got %d, %q for visitor %q, want the page for a guest", p.status, p.body, w.visitor.User.ID)
		}
	}
	w.expect("guest")
	if got := w.logs.String(); strings.Count(got, "no session") != 1 {
		w.t.Errorf("got the log %q, want one line about the panic", got)
	}
}

func usersChange(w *world) {
	b := w.browser("")
	b.get("/")
	b.get("/")
	w.expect("guest")
	for _, user := range []string{"alice", "bob", "alice"} {
		b.user = user
		if p := b.get("/"); len(p.set) != 1 {
			w.t.Errorf("got %v set at %s's first page, want one cookie", p.set, user)
		}
		b.get("/")
		w.expect(user)
	}
	w.page = func(rw http.ResponseWriter, r *http.Request) {
		if err := w.tracker.SignOut(r.Context(), presence.VisitorFromContext(r.Context()).User.ID); err != nil {
			w.t.Error(err)
		}
		http.Redirect(rw, r, "/", http.StatusSeeOther)
	}
	b.do(http.MethodPost, "/logout", "")
	w.page, b.user = plain, ""
	b.get("/")
	w.expect("guest")
	view, err := w.tracker.View(w.t.Context(), presence.Site)
	if err != nil {
		w.t.Fatal(err)
	}
	if _, online := view.Member("alice"); online {
		w.t.Error("alice is online after she signed out")
	}
	b.user = "alice"
	b.get("/")
	w.expect("alice")
}

func changeEndsThrottle(w *world) {
	alice := w.browser("alice")
	alice.get("/")
	w.expect("alice")
	if p := alice.do(http.MethodPost, "/posts", "x"); len(p.set) != 1 || !strings.HasPrefix(p.set[0].Value, "0.") {
		w.t.Errorf("got %v set by a POST, want a stamp of 0", p.set)
	}
	w.expect()
	alice.get("/")
	w.expect("alice")
}

func userWithoutCookies(w *world) {
	alice := w.browser("alice")
	do := func(method, path string) {
		clear(alice.cookies)
		alice.do(method, path, "")
	}
	do(http.MethodGet, "/")
	w.expect("alice")
	do(http.MethodGet, "/")
	w.expect()
	do(http.MethodPost, "/posts")
	do(http.MethodGet, "/")
	w.expect("alice")
}

func statusIsRemembered(w *world) {
	here, there := w.browser("alice"), w.browser("alice")
	here.get("/")
	there.get("/")
	if p := here.do(http.MethodPut, "/presence/status", `{"status":"invisible"}`); p.status != http.StatusNoContent {
		w.t.Fatalf("got %d %s, want 204", p.status, p.body)
	}
	if there.get("/"); here.cookies["presence_status"] == "" || there.cookies["presence_status"] != here.cookies["presence_status"] {
		w.t.Errorf("got cookies %v and %v, want the same status in both browsers", here.cookies, there.cookies)
	}
	here.do(http.MethodPut, "/presence/status", `{"status":"online"}`)
	there.get("/")
	if len(here.cookies) != 1 || len(there.cookies) != 1 {
		w.t.Errorf("got cookies %v and %v, want no status in either browser", here.cookies, there.cookies)
	}
}

func sharedPageSetsNoCookie(w *world) {
	for _, cacheControl := range []string{"public, max-age=60", "s-maxage=5"} {
		w.page = func(rw http.ResponseWriter, r *http.Request) {
			rw.Header().Set("Cache-Control", cacheControl) // after the middleware began
			plain(rw, r)
		}
		if p := w.browser("alice").get("/"); len(p.set) != 0 {
			w.t.Errorf("got %v set on a page with Cache-Control: %s, want nothing", p.set, cacheControl)
		}
	}
}

func crawlerCounts(w *world) {
	bot, alice := w.browser(""), w.browser("alice")
	bot.agent = "Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)"
	alice.agent = bot.agent
	for range 3 {
		if p := bot.get("/"); len(p.set) != 0 || w.visitor.Guest != "" || w.visitor.SignedIn() {
			w.t.Errorf("got visitor %+v and %v set, want nobody", w.visitor, p.set)
		}
	}
	w.expect("Googlebot")
	alice.get("/")
	w.expect("alice")
}

func signOffEndsOneBrowser(w *world) {
	w.page = func(rw http.ResponseWriter, r *http.Request) {
		if v := presence.VisitorFromContext(r.Context()); r.URL.Path == "/logout" {
			if err := w.tracker.SignOff(r.Context(), v.User.ID, v.Browser); err != nil {
				w.t.Error(err)
			}
		}
		plain(rw, r)
	}
	transport := &http.Transport{DialContext: w.network.Dial}
	defer transport.CloseIdleConnections()
	laptop, phone := w.browser("alice"), w.browser("alice")
	streams := make(map[*browser]io.ReadCloser)
	for _, b := range []*browser{laptop, phone} {
		b.get("/")
		streams[b] = b.stream(transport)
		defer streams[b].Close()
	}
	online := func() bool {
		w.t.Helper()
		view, err := w.tracker.View(w.t.Context(), presence.Site)
		if err != nil {
			w.t.Fatal(err)
		}
		_, online := view.Member("alice")
		return online
	}
	laptop.do(http.MethodPost, "/logout", "")
	if _, err := io.ReadAll(streams[laptop]); err != nil {
		w.t.Errorf("reading the stream of the browser that signed off: %v", err)
	}
	time.Sleep(time.Minute)
	if !online() {
		w.t.Error("alice left, want her phone to keep her")
	}
	phone.do(http.MethodPost, "/logout", "")
	if online() {
		w.t.Error("alice is online after her last browser signed off")
	}
}

// stream opens a stream and returns its body.
func (b *browser) stream(transport http.RoundTripper) io.ReadCloser {
	t := b.world.t
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://site/presence/events?topic=site", nil)
	if err != nil {
		t.Fatal(err)
	}
	b.sign(r)
	res, err := transport.RoundTrip(r)
	if err != nil || res.StatusCode != http.StatusOK {
		t.Fatalf("got %v and %v, want a stream", res, err)
	}
	return res.Body
}
