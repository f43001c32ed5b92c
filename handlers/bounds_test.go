package handlers_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rollcall-go/rollcall/handlers"
	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/memstore"
	"github.com/rollcall-go/rollcall/presence/presencetest"
)

// Of a widget's parameters a stream takes those that the site names, and little of
// them.
func TestMarkupParameters(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, asked := markupSite(t)
		long := url.QueryEscape(strings.Repeat("é", 130))
		for query, want := range map[string]string{
			"x=1":                      "form, max",
			"form=list&max=3&label=me": "form, max",
			"_=1700000000":             "form, max",
			"form=list&form=compact":   "form, max",
			"form=" + long:             "256 bytes",
			"form=list&max=" + strings.Repeat("1", 250): "256 bytes",
		} {
			resp, body := s.fetch(request{path: "events?as=html&" + query})
			if wantProblem(t, resp, body, http.StatusBadRequest); !strings.Contains(body, want) {
				t.Errorf("%s: got %s, want %q in it", query, body, want)
			}
		}
		if n := asked.Load(); n != 0 {
			t.Errorf("the widget was asked %d times, want 0", n)
		}
		s.read("events?as=html&form=list&max=3&me=alice&idle=1&beat=1&observe=1&limit=3&cursor=x&stream=site", "alice", "").next()
	})
	synctest.Test(t, func(t *testing.T) {
		var s *site
		asked := new(atomic.Int64)
		s = newSite(t, setup{handlers: handlers.Config{Widget: listWidget(&s, asked), WidgetParams: []string{"colour"}}})
		if got := s.read("events?as=html&colour=red", "", "").next().html; !strings.Contains(got, "colour=red") {
			t.Errorf("got %q, want the site's own parameter in it", got)
		}
		resp, body := s.fetch(request{path: "events?as=html&form=list"})
		wantProblem(t, resp, body, http.StatusBadRequest)
	})
}

// A stream that a limit refuses, or a right, has rendered nothing.
func TestMarkupIsAdmittedFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s *site
		asked := new(atomic.Int64)
		s = newSite(t, setup{handlers: handlers.Config{Widget: listWidget(&s, asked), MaxConnectionsPerAddress: 1}})
		s.listen(request{path: "events"}).started(1)
		s.wantLimited(request{path: "events?as=html"})
		resp, body := s.fetch(request{path: "events?as=html&topic=staff", user: "alice"})
		wantProblem(t, resp, body, http.StatusForbidden)
		if n := asked.Load(); n != 0 {
			t.Errorf("the widget was asked %d times, want 0", n)
		}
		if _, body := s.fetch(request{path: "events?as=html&max=many", user: "alice"}); !strings.Contains(body, "max is no number") || s.names("site") != "" {
			t.Errorf("got %s and %q online, want the widget's own refusal, and nobody", body, s.names("site"))
		}
	})
}

// streamable is a recorder that a stream can be written to.
type streamable struct{ *httptest.ResponseRecorder }

func (streamable) SetWriteDeadline(time.Time) error { return nil }

// What a guest can have kept is little, however long the requests.
func TestLongRequestsAreNotKept(t *testing.T) {
	s, _ := markupSite(t)
	get := func(path string, header http.Header) int {
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		r := httptest.NewRequest(http.MethodGet, "/presence/"+path, nil).WithContext(ctx)
		r.Header = header
		r.RemoteAddr = "192.0.2.1:1"
		w := streamable{httptest.NewRecorder()}
		s.handler.ServeHTTP(w, r)
		return w.Code
	}
	before := heap()
	for i := range 200 {
		query := fmt.Sprint(i, strings.Repeat("é", 200_000))
		if got := get("events?as=html&topic=site&x="+query, nil); got != http.StatusBadRequest {
			t.Fatalf("a parameter of a megabyte: got %d, want 400", got)
		}
		if i%10 > 0 {
			continue
		}
		if got := get("events?topic=site&x="+query, nil); got != http.StatusRequestHeaderFieldsTooLarge {
			t.Fatalf("an address of a megabyte: got %d, want 431", got)
		}
	}
	if got := heap() - before; got > 50<<20 {
		t.Errorf("got %d MB more in use after 200 long requests, want less than 50", got>>20)
	}
	if got := s.handler.Stats().TooLarge; got != 20 {
		t.Errorf("got %d requests counted as too large, want 20", got)
	}
}

// heap returns how many bytes are in use.
func heap() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// What is kept of a request, such as an id, does not keep the request.
func TestRequestsAreNotKept(t *testing.T) {
	junk := strings.Repeat("x", 29_000)
	for name, tt := range map[string]struct {
		cfg handlers.Config
		ask func(h http.Handler, i int) int
	}{
		"sightings": {handlers.Config{MaxReads: -1, SightingAge: time.Hour}, func(h http.Handler, i int) int {
			return asks(h, fmt.Sprintf("users?id=q%d&junk=%s", i, junk), presence.Visitor{})
		}},
		"topics": {handlers.Config{MaxReads: -1, Authorize: threads}, func(h http.Handler, i int) int {
			return asks(h, fmt.Sprintf("roster?topic=thread:%d&junk=%s", i, junk), presence.Visitor{})
		}},
		"rates": {handlers.Config{MaxReads: 1}, func(h http.Handler, i int) int {
			id := presence.UserID(fmt.Sprint("q", i, junk)[:8])
			return asks(h, "users?id=q", presence.Visitor{User: presence.User{ID: id}})
		}},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSite(t, setup{handlers: tt.cfg})
			before := heap()
			for i := range 1000 {
				if got := tt.ask(s.handler, i); got != http.StatusOK {
					t.Fatalf("got %d, want 200", got)
				}
			}
			if got := heap() - before; got > 10<<20 {
				t.Errorf("got %d MB more in use after 1,000 requests of 29 kB, want less than 10", got>>20)
			}
		})
	}
}

// asks sends a request of a visitor, and returns the status of the answer.
func asks(h http.Handler, path string, v presence.Visitor) int {
	r := httptest.NewRequest(http.MethodGet, "/presence/"+path, nil)
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r.WithContext(presence.ContextWithVisitor(r.Context(), v)))
	return w.Code
}

// What the store said is forgotten also where nobody asks any more.
func TestSightingsAreForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t, setup{})
		s.fetch(request{path: "users?id=alice"})
		time.Sleep(900 * time.Millisecond)
		s.fetch(request{path: "users?id=bob"})
		if got := s.handler.KeptSightings(); got != 2 {
			t.Fatalf("got %d answers kept, want 2", got)
		}
		time.Sleep(3 * time.Second)
		if got := s.handler.KeptSightings(); got != 0 {
			t.Errorf("got %d answers kept 3 s later, want none", got)
		}
	})
}

// A stream keeps its request, which is why that has a size. Cursors are not kept, and
// one that cannot be read is as good as none, however long.
func TestStreamRequestSize(t *testing.T) {
	over(t, allTransports, func(t *testing.T, over transport) {
		s := newSite(t, setup{server: func(srv *http.Server) { srv.MaxHeaderBytes = 1 << 20 }})
		cookie := func(n int) request {
			r := request{path: over.path + "?observe=1", header: map[string]string{"Cookie": strings.Repeat("c", n)}}
			return r
		}
		over.open(s, cookie(15<<10), "").started(1).close()
		for name, value := range handshake {
			r := cookie(17 << 10)
			r.header[name] = value
		}
		r := cookie(17 << 10)
		for name, value := range handshake {
			r.header[name] = value
		}
		resp, body := s.fetch(r)
		wantProblem(t, resp, body, http.StatusRequestHeaderFieldsTooLarge)
		r = cookie(10)
		r.path += "&x=" + strings.Repeat("x", 17<<10)
		for name, value := range handshake {
			r.header[name] = value
		}
		resp, body = s.fetch(r)
		wantProblem(t, resp, body, http.StatusRequestHeaderFieldsTooLarge)

		s.follow(over, "observe=1&cursor="+strings.Repeat("x", 100_000), "").started(1).close()
		if over.path == "events" {
			s.listen(request{path: "events", header: map[string]string{"Last-Event-ID": strings.Repeat("x", 17<<10)}}).started(1)
		}
		if got := s.handler.Stats().TooLarge; got != 2 {
			t.Errorf("got %d counted, want 2", got)
		}
	})
}

// All streams and polls together have a bound, of users too.
func TestConnectionsOfAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t, setup{handlers: handlers.Config{MaxConnections: 3}})
		first := s.listen(request{path: "events", user: "alice"}).started(1)
		s.talk(request{path: "ws"}).started(1)
		held, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://forum.test/presence/poll?observe=1&cursor="+url.QueryEscape(first.last), nil)
		if err != nil {
			t.Fatal(err)
		}
		go func() {
			if resp, err := s.client.Do(held); err == nil {
				resp.Body.Close()
			}
		}()
		first.drain()
		time.Sleep(3 * time.Second)
		for _, path := range []string{"events", "poll", "ws"} {
			resp, body := s.fetch(request{path: path, user: "bob", header: handshake})
			wantProblem(t, resp, body, http.StatusServiceUnavailable)
			if resp.Header.Get("Retry-After") == "" {
				t.Error("got no Retry-After")
			}
		}
		if got := s.handler.Stats().Full; got != 3 {
			t.Errorf("got %d counted, want 3", got)
		}
		if got := s.names("site"); got != "alice" {
			t.Errorf("got %q online, want alice alone", got)
		}
		first.close()
		time.Sleep(time.Second)
		s.listen(request{path: "events", user: "bob"}).started(1)
	})
}

// A site behind a proxy that has not said how to find a guest's address is told so
// once.
func TestWarnsOfProxy(t *testing.T) {
	for name, tt := range map[string]struct {
		address, header, user string
		clientIP              func(*http.Request) string
		want                  int
	}{
		"loopback":       {"127.0.0.1:1", "X-Forwarded-For", "", nil, 1},
		"private":        {"10.0.0.7:1", "X-Real-IP", "", nil, 1},
		"IPv6":           {"[::1]:1", "Forwarded", "", nil, 1},
		"a user":         {"127.0.0.1:1", "X-Forwarded-For", "alice", nil, 0},
		"no proxy":       {"127.0.0.1:1", "X-Other", "", nil, 0},
		"a client lies":  {"192.0.2.1:1", "X-Forwarded-For", "", nil, 0},
		"the site knows": {"127.0.0.1:1", "X-Forwarded-For", "", func(*http.Request) string { return "192.0.2.1" }, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				log := new(logbook)
				s := newSite(t, setup{wrap: fromHeader, presence: log.config(), handlers: handlers.Config{ClientIP: tt.clientIP}})
				for range 3 {
					s.fetch(request{path: "roster", user: tt.user, header: map[string]string{"X-Addr": tt.address, tt.header: "192.0.2.7"}})
				}
				if got := log.count("ClientIP"); got != tt.want {
					t.Errorf("got %d warnings, want %d", got, tt.want)
				}
			})
		})
	}
}

// A page of another site that has no TLS, and so neither Sec-Fetch-Site nor Origin in
// what its images ask for, is known by the Referer.
func TestForeignReferer(t *testing.T) {
	over(t, allTransports, func(t *testing.T, over transport) {
		trusted := http.NewCrossOriginProtection()
		if err := trusted.AddTrustedOrigin("http://app.test"); err != nil {
			t.Fatal(err)
		}
		s := newSite(t, setup{handlers: handlers.Config{CrossOrigin: trusted}})
		for _, referer := range []string{"http://evil.test/page", "https://evil.test", "http://forum.test.evil.test/"} {
			r := request{path: over.path, user: "alice", header: map[string]string{"Referer": referer}}
			for name, value := range handshake {
				r.header[name] = value
			}
			resp, body := s.fetch(r)
			wantProblem(t, resp, body, http.StatusForbidden)
		}
		if got := s.handler.Stats().Foreign; got != 3 {
			t.Errorf("got %d counted, want 3", got)
		}
		for _, referer := range []string{"http://forum.test/threads/1", "https://forum.test/", "http://app.test/", "not a page", "", "about:blank"} {
			over.open(s, request{path: over.path + "?", user: "alice", header: map[string]string{"Referer": referer}}, "").started(1).close()
		}
		if resp, _ := s.fetch(request{path: "roster", header: map[string]string{"Referer": "http://evil.test/"}}); resp.StatusCode != http.StatusOK {
			t.Errorf("a link to what only reads: got %d, want 200", resp.StatusCode)
		}
	})
}

// A body that does not come holds nothing for long, also where the server has no
// timeout of its own.
func TestSlowBody(t *testing.T) {
	for name, timeout := range map[string]time.Duration{"a server without timeouts": 0, "a server with one": 3 * time.Second} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newSite(t, setup{server: func(srv *http.Server) { srv.ReadTimeout = timeout }})
				conn, err := s.dial(t.Context(), "", "")
				if err != nil {
					t.Fatal(err)
				}
				defer conn.Close()
				fmt.Fprint(conn, "POST /presence/leave HTTP/1.1\r\nHost: forum.test\r\nContent-Length: 100\r\n\r\n{")
				gone := make(chan struct{})
				go func() {
					defer close(gone)
					for err := error(nil); err == nil; _, err = fmt.Fprint(conn, " ") {
						time.Sleep(time.Second)
					}
				}()
				begin := time.Now()
				answer, _ := io.ReadAll(conn)
				if d := time.Since(begin); d > 11*time.Second {
					t.Errorf("got the end after %v, want it within 10 s or so", d)
				}
				if !strings.HasPrefix(string(answer), "HTTP/1.1 408 ") {
					t.Errorf("got %q, want status 408", answer)
				}
				conn.Close()
				<-gone
			})
		})
	}
}

// A request whose body was read goes on for as long as it likes, and so does the
// connection.
func TestBodyDeadlineIsTakenBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t, setup{})
		for range 3 {
			if resp, _ := s.fetch(says("leave", "alice", "a.1")); resp.StatusCode != http.StatusGone {
				t.Errorf("got %d, want 410", resp.StatusCode)
			}
			time.Sleep(time.Minute)
		}
	})
}

// A hidden user's stream records nothing, on any transport.
func TestHiddenUserIsNotRecorded(t *testing.T) {
	over(t, allTransports, func(t *testing.T, over transport) {
		s := newSite(t, setup{
			handlers: handlers.Config{Authorize: threads},
			wrap: func(next http.Handler) http.Handler {
				return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					v := presence.VisitorFromContext(r.Context())
					if id := r.Header.Get("X-Hidden"); id != "" {
						v = presence.Visitor{User: presence.User{ID: presence.UserID(id), Name: id, Hidden: true}}
						r.Header.Del("X-User")
					}
					hidden := presence.ContextWithVisitor(r.Context(), v)
					next.ServeHTTP(w, r.WithContext(hidden))
				})
			},
		})
		handler := s.server.Handler
		s.server.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { handler.ServeHTTP(w, r) })
		watcher := s.listen(request{path: "events?observe=1&topic=site&topic=thread:1"}).started(2).feed()
		l := over.open(s, request{path: over.path + "?topic=site", header: map[string]string{"X-Hidden": "mallory"}}, "").started(1)
		if over.path == "ws" {
			l.source.(*wsSource).out <- clientFrame(1, true, []byte(`{"type":"subscribe","topic":"thread:1"}`))
			l.want("state")
			l.source.(*wsSource).out <- clientFrame(1, true, []byte(`{"type":"heartbeat"}`))
		}
		s.fetch(request{path: "roster", header: map[string]string{"X-Hidden": "mallory"}})
		l.drain()
		time.Sleep(time.Minute)
		l.close()
		time.Sleep(time.Minute)
		s.sweep()
		if got := s.names("site") + s.names("thread:1"); got != "" || len(watcher) > 0 {
			t.Errorf("got %q online and %d events, want nothing of a hidden user", got, len(watcher))
		}
		found, err := s.tracker.Sightings(t.Context(), "site", "mallory")
		if err != nil || !found[0].LastSeen.IsZero() || found[0].Online {
			t.Errorf("got %+v (%v), want that the user was never seen", found, err)
		}
	})
}

// What the store says of users who are not online is kept for a moment, also that it
// knows nothing.
func TestSightingsAreKept(t *testing.T) {
	const users = "users?id=a&id=b&id=c"
	for age, want := range map[time.Duration]int{0: 2, -1: 100} {
		synctest.Test(t, func(t *testing.T) {
			store := &countingStore{Store: memstore.New()}
			s := newSite(t, setup{store: store, handlers: handlers.Config{SightingAge: age, MaxReads: -1}})
			s.see("site", "alice")
			s.tracker.SignOut(t.Context(), "alice")
			s.sweep()
			for i := range 100 {
				if i == 50 {
					time.Sleep(time.Second)
				}
				if resp, body := s.fetch(request{path: users + "&id=alice"}); resp.StatusCode != http.StatusOK || !strings.Contains(body, `"alice":{"online":false,"last_seen"`) {
					t.Fatalf("got %d %s, want that alice was seen", resp.StatusCode, body)
				}
			}
			if got := int(store.sightings.Load()); got != want {
				t.Errorf("age %v: got %d calls of the store for 100 requests in a second, want %d", age, got, want)
			}
		})
	}
	synctest.Test(t, func(t *testing.T) { // and that is bounded
		store := &countingStore{Store: memstore.New()}
		s := newSite(t, setup{store: store, handlers: handlers.Config{SightingAge: time.Hour, MaxReads: -1}})
		for i := range 300 {
			s.fetch(request{path: "users?" + manyParams(fmt.Sprint("id=u", i, "-%d"), 100)})
		}
		if got := s.handler.KeptSightings(); got > handlers.MaxSightings || got < handlers.MaxSightings/2 {
			t.Errorf("got %d kept, want %d at most", got, handlers.MaxSightings)
		}
	})
}

// countingStore counts the calls that ask for sightings.
type countingStore struct {
	presence.Store
	sightings atomic.Int64
}

func (c *countingStore) Sightings(ctx context.Context, topic presence.Topic, users ...presence.UserID) ([]presence.Sighting, error) {
	c.sightings.Add(1)
	return c.Store.Sightings(ctx, topic, users...)
}

// A stream or a poll that is given up while the store takes its time has recorded
// nothing.
func TestGivenUpBeforeItIsOpen(t *testing.T) {
	over(t, []transport{overSSE, overPoll}, func(t *testing.T, over transport) {
		store := presencetest.NewFaults(memstore.New())
		s := newSite(t, setup{store: store})
		watcher := s.listen(request{path: "events?observe=1"}).started(1).feed()
		store.Break(presencetest.Fault{Delay: time.Second})
		ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
		defer cancel()
		if resp, err := s.try(ctx, request{path: over.path, user: "alice"}); err == nil {
			t.Fatalf("got an answer (%d) while the store takes a second", resp.StatusCode)
		}
		time.Sleep(5 * time.Second)
		store.Heal()
		time.Sleep(5 * time.Second)
		s.sweep()
		if got := s.names("site"); got != "" || s.tracker.Stats().Connections != 1 {
			t.Errorf("got %q online and %d connections, want nobody and the watcher's", got, s.tracker.Stats().Connections)
		}
		for len(watcher) > 0 {
			if e := <-watcher; e.typ != "diff" || len(e.data.Joins) > 0 {
				t.Errorf("the others see %+v, want nothing of alice", e)
			}
		}
		if got := s.tracker.Stats().Aborted; got != 1 {
			t.Errorf("got %d connections counted as given up, want 1", got)
		}
	})
}
