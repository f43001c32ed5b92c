package adaptertest

import (
	"net/http"
	"strings"
	"testing"
)

// testVisitors tests what an adapter passes to package core, and what it does with the answer. The tests of
// core check who is recorded, and when.
func testVisitors(t *testing.T, a Adapter) {
	for name, test := range map[string]func(*world){
		"handlers find the visitor in the request":         visitorIsInContext,
		"a skipped request has no visitor":                 skipperSkips,
		"a request that changes something ends a throttle": changeEndsThrottle,
		"a visit ends after the handler":                   visitEnds,
		"a page that caches may share sets no cookie":      sharedPageSetsNoCookie,
	} {
		t.Run(name, func(t *testing.T) { inWorld(t, a, Site{}, test) })
	}
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

// visitEnds: recent throttles a user without cookies, until the end of a request that changes something.
func visitEnds(w *world) {
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

func sharedPageSetsNoCookie(w *world) {
	w.page = func(rw http.ResponseWriter, r *http.Request) {
		rw.Header().Set("Cache-Control", "public, max-age=60") // after the middleware began
		plain(rw, r)
	}
	if p := w.browser("alice").get("/"); len(p.set) != 0 {
		w.t.Errorf("got %v set, want nothing", p.set)
	}
}
