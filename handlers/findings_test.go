package handlers_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rollcall-go/rollcall/handlers"
	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/feed"
	"github.com/rollcall-go/rollcall/presence/feed/feedtest"
)

// notes returns what a request for a stream or a poll is told beside the events.
func (s *site) notes(over transport, r request) (refused, warnings []string) {
	s.t.Helper()
	r.path = over.path + "?" + r.path
	if over.path == overPoll.path {
		resp, body := s.fetch(r)
		var a answer
		if err := json.Unmarshal([]byte(body), &a); err != nil || resp.StatusCode != http.StatusOK {
			s.t.Fatalf("%s: got status %d (%s), want an answer", r.path, resp.StatusCode, body)
		}
		return a.Refused, a.Warnings
	}
	l := over.open(s, r, "")
	defer l.close()
	welcome := l.want("welcome").data
	return welcome.Refused, welcome.Warnings
}

func texts(findings ...presence.Finding) (all []string) {
	for _, f := range findings {
		all = append(all, f.Text())
	}
	return all
}

// A stream of a site without mistakes says nothing of any, byte for byte.
func TestNothingToWarnOf(t *testing.T) {
	over(t, streams, func(t *testing.T, over transport) {
		s := newSite(t, setup{handlers: handlers.Config{Authorize: anyTopic}})
		conn := s.talkRaw(over, "topic=site&topic=staff&partial=1&me=alice&beat=1")
		want := `"heartbeat":15,"grace":10,"user":"alice","v":1,"speaks":["state","diff","count","heartbeat","signal"]}`
		if _, rest, _ := strings.Cut(conn, `"connection":"`); !strings.HasPrefix(rest[strings.IndexByte(rest, ',')+1:], want) {
			t.Errorf("got %s, want a welcome that ends in %s", conn, want)
		}
		s.wantFound(nil)
	})
	onSite(t, setup{}, func(t *testing.T, s *site) {
		_, body := s.fetch(request{path: "poll?partial=1", user: "alice"})
		if !strings.HasSuffix(body, `]}`) || strings.Contains(body, "refused") || strings.Contains(body, "warnings") {
			t.Errorf("got %s, want an answer that ends with the heartbeats", body)
		}
		s.wantFound(nil)
	})
}

// talkRaw returns the beginning of a stream of alice, as it is sent.
func (s *site) talkRaw(over transport, query string) string {
	s.t.Helper()
	header := map[string]string{}
	if over.path == overSocket.path {
		header = handshake
	}
	resp := s.do(request{path: over.path + "?" + query, user: "alice", header: header})
	defer resp.Body.Close()
	b := make([]byte, 4<<10)
	n := 0
	for !strings.Contains(string(b[:n]), "}") {
		more, err := resp.Body.Read(b[n:])
		if n += more; err != nil {
			s.t.Fatalf("got %q and then %v, want a welcome", b[:n], err)
		}
	}
	return string(b[:n])
}

// A stream that has not passed the middleware is found, since its user is not held. One that
// only observes holds nobody anyway.
func TestNoMiddleware(t *testing.T) {
	over(t, allTransports, func(t *testing.T, over transport) {
		log := new(logbook)
		s := newSite(t, setup{strange: true, presence: log.config()})
		for range 2 {
			if _, warnings := s.notes(over, request{path: "me=alice", user: "alice"}); !slices.Equal(warnings, texts(presence.NoMiddleware)) {
				t.Errorf("got the warnings %q, want that the middleware is missing", warnings)
			}
		}
		s.notes(over, request{path: "observe=1"})
		s.fetch(request{path: "roster"})
		s.wantFound(map[presence.Finding]uint64{presence.NoMiddleware: 2})
		if got := log.count("finding=no-middleware"); got != 1 {
			t.Errorf("got %d lines in the log, want 1", got)
		}
	})
	over(t, allTransports, func(t *testing.T, over transport) { // a guest is no sign of it, not even on the page of a user
		s := newSite(t, setup{})
		if _, warnings := s.notes(over, request{path: "me=alice"}); warnings != nil {
			t.Errorf("got the warnings %q, want none", warnings)
		}
		s.wantFound(nil)
	})
}

// Where presence stands outside of the site's sessions all visitors are guests. Before the first user
// that is the likely cause of a topic that is refused, and after that it is not.
func TestRefusedWithoutSessions(t *testing.T) {
	over(t, allTransports, func(t *testing.T, over transport) {
		s := newSite(t, setup{handlers: handlers.Config{Authorize: func(_ *http.Request, v presence.Visitor, _ presence.Topic) bool { return v.SignedIn() }}})
		resp, body := s.fetch(request{path: over.path + "?topic=site&partial=1", header: handshake})
		if wantProblem(t, resp, body, http.StatusForbidden); !strings.Contains(body, presence.NoUser.Text()) || strings.Contains(body, "Authorize") {
			t.Errorf("got %s, want that no visitor was signed in", body)
		}
		s.wantFound(map[presence.Finding]uint64{presence.NoUser: 1})
		s.notes(over, request{path: "topic=site&partial=1", user: "alice"})
		resp, body = s.fetch(request{path: over.path + "?topic=site&partial=1", header: handshake})
		if wantProblem(t, resp, body, http.StatusForbidden); !strings.Contains(body, presence.TopicRefused.Text()) {
			t.Errorf("got %s, want that the site refuses the topic", body)
		}
		s.wantFound(map[presence.Finding]uint64{presence.NoUser: 1, presence.TopicRefused: 1})
	})
}

// Without the middleware nobody is signed in, so a topic that is refused says nothing more.
func TestRefusedWithoutMiddleware(t *testing.T) {
	over(t, allTransports, func(t *testing.T, over transport) {
		s := newSite(t, setup{strange: true, handlers: handlers.Config{Authorize: staffOnly}})
		if _, warnings := s.notes(over, request{path: "topic=site&topic=staff&partial=1&me=alice", user: "alice"}); !slices.Equal(warnings, texts(presence.NoMiddleware)) {
			t.Errorf("got the warnings %q, want that the middleware is missing", warnings)
		}
		s.wantFound(map[presence.Finding]uint64{presence.NoMiddleware: 1})
	})
}

// A handler without the Keeper that the tracker has is found when a page shows an inbox or a room.
func TestNoKeeper(t *testing.T) {
	over(t, allTransports, func(t *testing.T, over transport) {
		s := newSite(t, setup{})
		keeper, err := feed.New(feedtest.NewMemory(), s.tracker, feed.Config{})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = keeper.Close(context.Background()) })
		refused, warnings := s.notes(over, request{path: "topic=site&topic=inbox&topic=feed:thread:1&partial=1&me=alice", user: "alice"})
		if !slices.Equal(refused, []string{"inbox", "feed:thread:1"}) || !slices.Equal(warnings, texts(presence.NoKeeper)) {
			t.Errorf("got refused %q and the warnings %q, want that the Keeper is missing", refused, warnings)
		}
		s.wantFound(map[presence.Finding]uint64{presence.NoKeeper: 2})
	})
}

// A page whose beats are refused is held by its connection alone.
func TestBeatsRefused(t *testing.T) {
	over(t, streams, func(t *testing.T, over transport) {
		log := new(logbook)
		s := newSite(t, setup{presence: log.config()})
		l := s.follow(over, "beat=1&nobeat=403", "alice")
		if got := l.want("welcome").data.Warnings; got != nil {
			t.Errorf("got the warnings %q, want none: the page knows", got)
		}
		l.drain()
		time.Sleep(50 * time.Second)
		s.sweep()
		if got := s.names("site"); got != "alice" {
			t.Errorf("got %q online after the ttl, want alice, whose connection is open", got)
		}
		s.wantFound(map[presence.Finding]uint64{presence.BeatsRefused: 1})
		if got := log.count("finding=beats-refused status=403"); got != 1 {
			t.Errorf("got %d lines in the log, want 1", got)
		}
	})
	onSite(t, setup{}, func(t *testing.T, s *site) {
		if _, warnings := s.notes(overPoll, request{path: "nobeat=599", user: "alice"}); warnings != nil {
			t.Errorf("got the warnings %q, want none: the page knows", warnings)
		}
		if _, body := s.fetch(request{path: "poll?observe=1&nobeat=100"}); strings.Contains(body, "refused\"") || strings.Contains(body, "warnings") {
			t.Errorf("got %s, want neither warnings nor topics", body)
		}
		for _, status := range []string{"", "0", "99", "600", "-403", "403.5", "forbidden", "403%0a", "99999999999999999999"} {
			for _, path := range []string{"events", "poll", "ws"} {
				resp, body := s.fetch(request{path: path + "?nobeat=" + status, user: "alice", header: handshake})
				if wantProblem(t, resp, body, http.StatusBadRequest); !strings.Contains(body, "100 to 599") {
					t.Errorf("nobeat=%s: got %s, want the range in it", status, body)
				}
			}
		}
		s.wantFound(map[presence.Finding]uint64{presence.BeatsRefused: 2})
	})
}

// The handler says that it was reached, whatever it answers.
func TestHandlerIsReached(t *testing.T) {
	onSite(t, setup{}, func(t *testing.T, s *site) {
		for _, path := range []string{"/presence/roster", "/presence/nothing", "/elsewhere"} {
			ctx := &presence.VisitorContext{Context: t.Context()}
			s.handler.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, path, nil).WithContext(ctx))
			if !ctx.Reached() {
				t.Errorf("%s: not reached", path)
			}
		}
	})
}

// A browser that asks for the script of a handler without a widget is a finding.
func TestNoScript(t *testing.T) {
	onSite(t, setup{}, func(t *testing.T, s *site) {
		w := httptest.NewRecorder()
		s.handler.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/presence/assets/presence.0123456789abcdef.js", nil))
		if w.Code != http.StatusNotFound {
			t.Errorf("got status %d, want 404", w.Code)
		}
		s.wantFound(map[presence.Finding]uint64{presence.NoScript: 1})
	})
}

// A stream, also one that is refused, shows that a page is made live. A script does not, and neither do programs.
func TestStreamsAreNoted(t *testing.T) {
	onSite(t, setup{handlers: handlers.Config{Widget: http.NotFoundHandler()}}, func(t *testing.T, s *site) {
		for _, path := range []string{"roster", "widget", "assets/presence.css", "assets/presence.js", "nothing"} {
			if s.fetch(request{path: path}); s.tracker.Streamed() {
				t.Errorf("%s counts as a stream", path)
			}
		}
	})
	over(t, allTransports, func(t *testing.T, over transport) {
		s := newSite(t, setup{})
		if s.fetch(request{path: over.path + "?topic=secret"}); !s.tracker.Streamed() {
			t.Error("a stream is not noted")
		}
	})
}

// A wall before the middleware is found by Beats, which stands before all. What comes as far as
// the middleware is reported by that.
func TestLoginWall(t *testing.T) {
	onSite(t, setup{}, func(t *testing.T, s *site) {
		wall := http.RedirectHandler("/login?next=%2Fpresence%2Fevents", http.StatusFound)
		ask := func(method, path string, next http.Handler) {
			t.Helper()
			s.handler.Beats(next).ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(method, path, nil))
		}
		for _, path := range []string{"/", "/presence", "/presence/nothing", "/login"} {
			ask(http.MethodGet, path, wall)
		}
		ask(http.MethodOptions, "/presence/events", wall)
		ask(http.MethodGet, "/presence/roster", s.handler)
		ask(http.MethodGet, "/presence/roster", s.handler.Beats(s.handler))
		ask(http.MethodGet, "/presence/roster", http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { presence.ReachMiddleware(r.Context()) }))
		s.wantFound(nil)
		ask(http.MethodGet, "/presence/events", wall)
		ask(http.MethodGet, "/presence/assets/presence.js", wall)
		ask(http.MethodPost, "/presence/beat?joined=1", wall)
		s.wantFound(map[presence.Finding]uint64{presence.LoginWall: 2, presence.BeatsRefused: 1})
	})
}

// The log says by which status a request was stopped. A site that fails, as while it stops, is no wall.
func TestLoginWallSaysTheStatus(t *testing.T) {
	for status, want := range map[int]string{200: "status=200", 302: "status=302", 404: "status=404", 499: "status=499", 500: "", 503: "", 599: ""} {
		log := new(logbook)
		onSite(t, setup{presence: log.config()}, func(t *testing.T, s *site) {
			s.handler.Beats(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.WriteHeader(http.StatusEarlyHints)
				if w.WriteHeader(status); status != http.StatusFound {
					w.Write([]byte("no"))
				}
			})).ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/presence/events", nil))
			if got := log.String(); (got == "") != (want == "") || !strings.Contains(got, want) {
				t.Errorf("status %d: got %q, want %q in it", status, got, want)
			}
		})
	}
}
