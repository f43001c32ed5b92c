package handlers_test

import (
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rollcall-go/rollcall/handlers"
	"github.com/rollcall-go/rollcall/presence/memstore"
)

// An answer that nobody reads ends after Config.WriteDeadline, or after the server's WriteTimeout if that is shorter. That
// of a poll counts from the moment when the poll has something to say. A body that no endpoint reads ends too.
func TestEveryAnswerEnds(t *testing.T) {
	const ordinary, bodied = " HTTP/1.1\r\nHost: forum.test\r\n\r\n", " HTTP/1.1\r\nHost: forum.test\r\nContent-Length: 100\r\n\r\n{"
	for name, tt := range map[string]struct {
		request  string
		deadline time.Duration // Config.WriteDeadline
		timeout  time.Duration // the server's WriteTimeout
		want     time.Duration
	}{
		"roster":                   {"GET /presence/roster" + ordinary, 0, 0, 10 * time.Second},
		"error":                    {"GET /presence/nothing" + ordinary, 0, 0, 10 * time.Second},
		"beat":                     {"POST /presence/beat" + ordinary, 0, 0, 10 * time.Second},
		"poll":                     {"GET /presence/poll?wait=20&cursor=CURSOR" + ordinary, 0, 0, 30 * time.Second},
		"roster of a short server": {"GET /presence/roster" + ordinary, 0, 2 * time.Second, 2 * time.Second},
		"poll of a short server":   {"GET /presence/poll?wait=20&cursor=CURSOR" + ordinary, 0, 2 * time.Second, 22 * time.Second},
		"own deadline":             {"GET /presence/users?id=a" + ordinary, 3 * time.Second, time.Minute, 3 * time.Second},
		"the server's alone":       {"GET /presence/users?id=a" + ordinary, -1, 4 * time.Second, 4 * time.Second},
	} {
		bubble(t, name, func(t *testing.T) {
			begin, closed := time.Now(), make(chan time.Duration, 1)
			s := newSite(t, setup{handlers: handlers.Config{WriteDeadline: tt.deadline}, server: func(server *http.Server) {
				server.WriteTimeout = tt.timeout
				server.ConnState = func(_ net.Conn, is http.ConnState) {
					if is == http.StateClosed {
						closed <- time.Since(begin)
					}
				}
			}})
			view, err := s.tracker.View(t.Context(), "site")
			noError(t, err)
			conn, err := s.dial(t.Context(), "", "")
			noError(t, err)
			defer conn.Close()
			begin = time.Now()
			fmt.Fprint(conn, strings.ReplaceAll(tt.request, "CURSOR", string(view.Cursor)))
			if got := <-closed; got < tt.want || got > tt.want+time.Second {
				t.Errorf("the connection was closed after %v, want %v", got, tt.want)
			}
		})
	}
	for _, request := range []string{"GET /presence/roster", "PUT /presence/roster", "GET /presence/nothing", "POST /presence/beat?joined=1"} {
		bubble(t, request+" without its body", func(t *testing.T) {
			s := newSite(t, setup{})
			conn, err := s.dial(t.Context(), "", "")
			noError(t, err)
			defer conn.Close()
			begin := time.Now()
			fmt.Fprint(conn, request+bodied)
			for err == nil {
				_, err = conn.Read(make([]byte, 1000))
			}
			if got := time.Since(begin); got > 11*time.Second {
				t.Errorf("the connection was closed after %v, want 10 s", got)
			}
		})
	}
}

// A token ends with the longest age of its stream, and a while for clocks that differ.
func TestTokenEnds(t *testing.T) {
	for path, age := range map[string]time.Duration{"beat": 15 * time.Minute, "beat?joined=1": 15 * time.Minute, "beat?x=1": -1} {
		synctest.Test(t, func(t *testing.T) {
			store, config := memstore.New(), handlers.Config{MaxStreamAge: age}
			s := newSite(t, fronted(setup{store: store, handlers: config}))
			other := newSite(t, fronted(setup{store: store, handlers: config}))
			for _, user := range []string{"", "alice"} {
				l := s.listen(request{path: "events", user: user})
				token := l.want("welcome").data.Connection
				l.drain()
				beat := func(want int) {
					t.Helper()
					if resp, body := other.fetch(says(path, user, token)); resp.StatusCode != want {
						t.Errorf("%q: got %d (%s), want %d", user, resp.StatusCode, body, want)
					}
				}
				time.Sleep(10 * time.Second)
				beat(http.StatusNoContent)
				l.close()
				if user == "alice" || age < 0 { // the lease of a guest's stream is not asked for
					continue
				}
				time.Sleep(17 * time.Minute)
				beat(http.StatusNoContent)
				time.Sleep(time.Minute)
				beat(http.StatusGone)
			}
		})
	}
}

// A request that names another user than the visitor changes nothing.
func TestRequestsOfAnotherUser(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, _ := newPeopleSite(t, setup{})
		s.wantStatus(put("settings?me=bob", "bob", `{"online":"nobody"}`), 204)
		for path, body := range map[string]string{"settings?me=alice": `{"online":"everyone"}`, "status?me=alice": `{"status":"busy"}`} {
			s.wantStatus(put(path, "bob", body), 403)
		}
		got := s.wantStatus(request{path: "settings", user: "bob"}, 200)
		if want := `{"status":"online","text":"","online":"nobody","seen":"nobody"}`; got != want {
			t.Errorf("got %s, want %s", got, want)
		}
		s.wantStatus(put("status", "bob", `{"status":"busy"}`), 204)
	})
}
