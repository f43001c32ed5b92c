package core_test

import (
	"cmp"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rollcall-go/rollcall/middleware/core"
	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/memstore"
)

// A scenario is what some browsers ask for, one request after the other. Its name is the rule.
type scenario struct {
	name    string
	cookies cookies
	steps   []step
}

// A step is one request, and what it leads to.
type step struct {
	wait time.Duration // before the request
	by   int           // the browser
	on   node
	as   string // the user who signs in, or "guest"; "": as in the browser's last request
	do   string // a method and a path; the method is GET by default, and "" is the front page
	want string // the user that is recorded, or "guest"; "": none
	sets string // the throttle cookie of the response, by its stamp: "0", "now", "earlier", or "no" cookie; "": any
	out  int    // how many guests are taken out of the count
}

// A cookies says whether the browsers of a scenario keep cookies.
type cookies int

const (
	either  cookies = iota // the scenario is played with cookies, and again without; sets and out hold with them only
	kept                   // with cookies
	refused                // without
)

// A node is a site in a scenario. Each serves /cached, which shared caches may store.
type node int

const (
	first      node = iota
	second          // of the same fleet as the first
	otherFleet      // has another store
	nodes
)

// hidden is the user whom byHeader hides.
const hidden = "mod"

// play tests scenarios, each in a synctest bubble.
func play(t *testing.T, scenarios []scenario) {
	t.Helper()
	for _, s := range scenarios {
		if s.cookies != refused {
			t.Run(s.name, func(t *testing.T) { synctest.Test(t, func(t *testing.T) { s.play(t, false) }) })
		}
		if s.cookies != kept {
			t.Run(s.name+", without cookies", func(t *testing.T) { synctest.Test(t, func(t *testing.T) { s.play(t, true) }) })
		}
	}
}

func (sc scenario) play(t *testing.T, refuses bool) {
	var sites [nodes]*site
	store := memstore.New()
	for i := range sites {
		if node(i) == otherFleet {
			store = memstore.New()
		}
		sites[i] = newNode(t, store, nil)
		sites[i].handle("GET /cached", func(w http.ResponseWriter, r *http.Request) {
			sites[i].visitor = presence.VisitorFromContext(r.Context())
			w.Header().Set("Cache-Control", "max-age=0")
			ok(w, r)
		})
	}
	browsers := make(map[int]*browser)
	for i, s := range sc.steps {
		time.Sleep(s.wait)
		b := browsers[s.by]
		if b == nil {
			b = sites[first].browser("")
			b.refuses = refuses
			browsers[s.by] = b
		}
		b.site = sites[s.on]
		if s.as != "" {
			b.user = strings.TrimPrefix(s.as, "guest")
		}
		method, path, ok := strings.Cut(s.do, " ")
		if !ok {
			method, path = http.MethodGet, cmp.Or(s.do, "/")
		}
		before := b.cookies["presence"]
		b.do(method, path)
		if !refuses && !b.hasSet(s.sets, before) {
			t.Errorf("step %d, %s %s: got %v set after %q, want %s", i+1, method, path, b.set, before, s.sets)
		}
		time.Sleep(10 * time.Millisecond) // longer than the tracker collects
		synctest.Wait()
		var got []string
		out := 0
		for _, s := range sites {
			got = append(got, s.store.take()...)
			out += s.store.takenOut()
		}
		if strings.Join(got, " ") != s.want {
			t.Errorf("step %d, %s %s: got %q recorded, want %q", i+1, method, path, got, s.want)
		}
		if v := b.site.visitor.User; s.do != "POST /presence/beat" && (string(v.ID) != b.user || v.Hidden != (b.user == hidden)) { // nobody asks who beats
			t.Errorf("step %d, %s %s: got visitor %+v, want %q", i+1, method, path, v, b.user)
		}
		if !refuses && out != s.out {
			t.Errorf("step %d, %s %s: got %d guests taken out, want %d", i+1, method, path, out, s.out)
		}
	}
}

// hasSet reports whether the latest response set the throttle cookie that sets stands for. The
// cookie is of the browser's user, and of the browser that the cookie before it named.
func (b *browser) hasSet(sets, before string) bool {
	switch {
	case sets == "":
		return true
	case sets == "no":
		return len(b.set) == 0
	case len(b.set) != 1:
		return false
	}
	at, id, tag := b.cookie()
	if b.user == "" && tag != "-" || b.user != "" && tag != core.TagOf(presence.UserID(b.user)) {
		return false
	}
	if parts := strings.Split(before, "."); len(parts) == 3 && parts[1][:8] != id[:8] {
		return false
	}
	got := "earlier"
	switch at {
	case "0":
		got = "0"
	case stamp(time.Now()):
		got = "now"
	}
	return got == sets
}
