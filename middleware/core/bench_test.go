package core_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rollcall-go/rollcall/middleware/core"
	"github.com/rollcall-go/rollcall/middleware/nethttp"
	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
	"github.com/rollcall-go/rollcall/presence/memstore"
	"github.com/rollcall-go/rollcall/presence/presencetest"
	"github.com/rollcall-go/rollcall/presence/track"
)

// BenchmarkPresence is what a request costs, from nothing to the whole, for a
// browser's headers with three cookies. A visitor can only be passed on in a copy of
// the request, which is made in one allocation. "context only" does that and nothing
// else, so what presence itself costs is the difference to it. Here in ns of CPU, with
// GOMAXPROCS=1, on a loaded Xeon of 2026:
//
//	nothing                      15
//	context only                205
//	known cookie                610   the cookies 85, NeedsSeen 60, Status 50, the clock 45, Validate 20, copies and the collector
//	known guest                 370
//	first sight               1,290   Seen 280, and what sets a cookie
//	first sight of a guest    2,200   half of it makes and signs an id
//	no cookies                2,100
//	first sight, store hanging 1,240
func BenchmarkPresence(b *testing.B) {
	alice := presence.User{ID: "alice", Name: "Alice", Avatar: "https://forum.example/a/alice.png"}
	member := func(*http.Request) (presence.User, bool) { return alice, true }
	guest := func(*http.Request) (presence.User, bool) { return presence.User{}, false }
	nothing := func(next http.Handler) http.Handler { return next }
	contextOnly := func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			with := new(struct {
				request http.Request
				context presence.VisitorContext
			})
			with.context = presence.VisitorContext{Context: r.Context(), Visitor: presence.Visitor{User: alice}}
			with.request = *r.WithContext(&with.context)
			next.ServeHTTP(w, &with.request)
		})
	}
	withConfig := func(b *testing.B, store backend.Store, config track.Config, identify func(*http.Request) (presence.User, bool)) func(http.Handler) http.Handler {
		tracker, err := track.New(store, config)
		if err != nil {
			b.Fatal(err)
		}
		b.Cleanup(func() {
			if h, ok := store.(hanging); ok {
				close(h.released)
			}
			if err := tracker.Close(context.Background()); err != nil {
				b.Error(err)
			}
		})
		return nethttp.Presence(tracker, identify)
	}
	presenceOf := func(b *testing.B, store backend.Store, identify func(*http.Request) (presence.User, bool)) func(http.Handler) http.Handler {
		return withConfig(b, store, track.Config{}, identify)
	}
	people := func(b *testing.B) func(http.Handler) http.Handler {
		return withConfig(b, memstore.New(), track.Config{Directory: presencetest.NewMemoryDirectory()}, member)
	}

	b.Run("nothing", func(b *testing.B) { run(b, nothing, "") })
	b.Run("context only", func(b *testing.B) { run(b, contextOnly, "") })
	b.Run("known cookie", func(b *testing.B) {
		mw := presenceOf(b, memstore.New(), member)
		run(b, mw, cookieFrom(b, mw))
	})
	b.Run("first sight", func(b *testing.B) {
		run(b, presenceOf(b, memstore.New(), member), "presence=0.AAAAAAAAAAAAAAAA.-")
	})
	b.Run("first sight of a guest", func(b *testing.B) {
		run(b, presenceOf(b, memstore.New(), guest), "")
	})
	b.Run("no cookies", func(b *testing.B) {
		run(b, presenceOf(b, memstore.New(), member), "")
	})
	b.Run("known guest", func(b *testing.B) {
		mw := presenceOf(b, memstore.New(), guest)
		run(b, mw, "presence="+stamp(time.Now())+".AAAAAAAAAAAAAAAA.-")
	})
	b.Run("first sight, store hanging", func(b *testing.B) {
		run(b, presenceOf(b, newHanging(), member), "presence=0.AAAAAAAAAAAAAAAA.-")
	})
	b.Run("known cookie, people", func(b *testing.B) {
		mw := people(b)
		run(b, mw, cookieFrom(b, mw))
	})
	recorded := "presence=0.AAAAAAAAAAAAAAAA." + core.TagOf("alice") // each page view
	for _, tenant := range []string{"", "acme"} {                    // beside each other: what a tenant costs
		b.Run("known cookie, tenant "+tenant, func(b *testing.B) {
			tracker, err := track.New(memstore.New(), track.Config{})
			if err != nil {
				b.Fatal(err)
			}
			b.Cleanup(func() { tracker.Close(context.Background()) })
			mw := nethttp.PresenceWithConfig(nethttp.Config{Tracker: tracker, Identify: member, Tenant: func(*http.Request) string { return tenant }})
			cookie := cookieFrom(b, mw)
			for id := alice.ID.In(tenant); ; time.Sleep(time.Millisecond) { // until the roster has her
				if view, err := tracker.View(b.Context(), presence.Site.In(tenant)); err == nil {
					if _, ok := view.Member(id); ok {
						break
					}
				}
			}
			run(b, mw, cookie)
		})
	}
	b.Run("recorded", func(b *testing.B) { run(b, presenceOf(b, memstore.New(), member), recorded) })
	b.Run("recorded, people", func(b *testing.B) { run(b, people(b), recorded) })
}

// TestAKnownVisitorCostsOneAllocation holds that all of it is the copy of the
// request that the visitor is passed on by.
func TestAKnownVisitorCostsOneAllocation(t *testing.T) {
	for name, tt := range map[string]struct {
		tenant string
		status presence.Status
		cookie string
	}{
		"no status chosen":       {},
		"busy":                   {status: presence.Busy},
		"another user invisible": {cookie: "; presence_status=" + core.TagOf("bob")},
		"of a tenant":            {tenant: "acme"},
		"of a tenant, busy":      {tenant: "acme", status: presence.Busy},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				tracker := newTracker(t)
				mw := nethttp.PresenceWithConfig(nethttp.Config{
					Tracker: tracker, Tenant: func(*http.Request) string { return tt.tenant },
					Identify: func(*http.Request) (presence.User, bool) { return presence.User{ID: "alice", Name: "Alice"}, true },
				})
				r := browserRequest(cookieFrom(t, mw) + tt.cookie)
				if tt.status != "" {
					if err := tracker.SetStatus(t.Context(), presence.UserID("alice").In(tt.tenant), tt.status); err != nil {
						t.Fatal(err)
					}
				}
				time.Sleep(100 * time.Millisecond) // until the roster has her
				h := mw(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
				w := discard{http.Header{}}
				if got := testing.AllocsPerRun(1000, func() { h.ServeHTTP(w, r) }); got != 1 {
					t.Errorf("got %v allocations, want 1", got)
				}
			})
		})
	}
}

// run serves the same request again and again.
func run(b *testing.B, mw func(http.Handler) http.Handler, cookie string) {
	h := mw(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusOK) }))
	r := browserRequest(cookie)
	w := discard{http.Header{}}
	b.ReportAllocs()
	for b.Loop() {
		clear(w.header)
		h.ServeHTTP(w, r)
	}
}

// browserRequest is what a browser sends for a page.
func browserRequest(cookie string) *http.Request {
	r := httptest.NewRequest(http.MethodGet, "/threads/1", nil)
	r.Header.Set("User-Agent", "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0.0.0 Safari/537.36")
	r.Header.Set("Accept", "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8")
	r.Header.Set("Sec-Fetch-Dest", "document")
	cookies := "theme=dark; session=MTYzMjQ4NjQ2MHxEdi1CQkFFQ180SUFBUkFCRUFBQUlmLUNBQUVHYzNSeWFXNW5EQWdBQm5WelpYSkpSQVJwYm5RRUFnQVU"
	if cookie != "" {
		cookies += "; " + cookie
	}
	r.Header.Set("Cookie", cookies)
	return r
}

// cookieFrom returns the cookie that a middleware gives on first sight.
func cookieFrom(t testing.TB, mw func(http.Handler) http.Handler) string {
	w := httptest.NewRecorder()
	mw(http.HandlerFunc(ok)).ServeHTTP(w, browserRequest(""))
	k := w.Result().Cookies()[0]
	return k.Name + "=" + k.Value
}

// discard is a ResponseWriter that costs nothing.
type discard struct{ header http.Header }

func (d discard) Header() http.Header         { return d.header }
func (d discard) Write(b []byte) (int, error) { return len(b), nil }
func (d discard) WriteHeader(int)             {}

// hanging is a store that neither takes nor tells anything, until released.
type hanging struct {
	backend.Store
	released chan struct{}
}

func newHanging() hanging { return hanging{memstore.New(), make(chan struct{})} }

func (h hanging) Apply(ctx context.Context, batches []backend.Batch) []backend.Result {
	<-h.released
	return h.Store.Apply(ctx, batches)
}

func (h hanging) Snapshot(ctx context.Context, topic presence.Topic) (backend.Snapshot, error) {
	<-h.released
	return h.Store.Snapshot(ctx, topic)
}
