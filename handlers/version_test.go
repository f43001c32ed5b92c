package handlers_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rollcall-go/rollcall/handlers"
)

// E4: a page is refused only if it speaks no version that the server speaks, or no number at all. A
// page that speaks more than the server gets the server's version.
func TestVersion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFeedSite(t, setup{handlers: unlimited()})
		for _, tt := range []struct {
			query  string
			status int
		}{
			{"", 200}, {"&v=1", 200}, {"&v=01", 200}, {"&v=2", 200}, {"&v=99999999999999999999", 200}, {"&unknown=1", 200}, // E2
			{"&v=0", 426}, {"&v=00", 426},
			{"&v=", 400}, {"&v=-1", 400}, {"&v=+1", 400}, {"&v=1.0", 400}, {"&v=one", 400}, {"&v=1%20", 400},
		} {
			for _, path := range []string{"events?topic=inbox", "poll?topic=inbox", "feed?topic=inbox", "ws?topic=inbox"} {
				r, want := request{path: path + tt.query, user: "alice"}, tt.status
				if path[:2] == "ws" {
					r.header = handshake
					if want == 200 {
						want = http.StatusSwitchingProtocols
					}
				}
				resp := f.do(r)
				if resp.StatusCode != want {
					t.Errorf("%s: got %d, want %d", r.path, resp.StatusCode, want)
				}
				if upgrade := resp.Header.Get("Upgrade"); want == 426 && upgrade != "presence.v1" {
					t.Errorf("%s: got Upgrade %q, want presence.v1", r.path, upgrade)
				}
				if want >= 400 {
					body, _ := io.ReadAll(resp.Body)
					wantProblem(t, resp, string(body), want)
				}
				resp.Body.Close()
			}
		}
	})
}

// The answer over HTTP/2, which forbids the header Upgrade.
func TestVersionOverHTTP2(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t, setup{wrap: func(next http.Handler) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				r.ProtoMajor = 2
				next.ServeHTTP(w, r)
			})
		}})
		resp, body := s.fetch(request{path: "poll?v=0"})
		if resp.StatusCode != 426 || resp.Header.Get("Upgrade") != "" || !strings.Contains(body, "presence.v1") {
			t.Errorf("got %d, Upgrade %q, %s; want 426, none, and the version in the text", resp.StatusCode, resp.Header.Get("Upgrade"), body)
		}
	})
}

// A subprotocol of WebSocket counts like v. With both, the lower one counts: it is what the
// page surely reads. The answer names the version that is spoken, if the client offered it.
func TestSubprotocolVersion(t *testing.T) {
	onSite(t, setup{}, func(t *testing.T, s *site) {
		for _, tt := range []struct {
			query, offered, confirmed string
			status                    int
		}{
			{"", "presence.v1, presence.v0", "presence.v1", 101},
			{"", "presence.v9, presence.v1", "presence.v1", 101},
			{"", "presence.v9", "", 101},
			{"", "presence.vX, presence.v", "", 101},
			{"&v=1", "presence.v2, presence.v1", "presence.v1", 101},
			{"&v=2", "presence.v1", "presence.v1", 101},
			{"", "presence.v0", "", 426},
			{"&v=0", "presence.v1", "", 426},
			{"&v=x", "presence.v1", "", 400},
		} {
			header := map[string]string{"Sec-WebSocket-Protocol": tt.offered}
			for name, value := range handshake {
				header[name] = value
			}
			resp := s.do(request{path: "ws?topic=site" + tt.query, header: header})
			if got := resp.Header.Get("Sec-WebSocket-Protocol"); resp.StatusCode != tt.status || got != tt.confirmed {
				t.Errorf("%+v: got %d with %q", tt, resp.StatusCode, got)
			}
			resp.Body.Close()
		}
	})
}

// The welcome, and the first poll, name the site's build; only if there is one.
func TestApp(t *testing.T) {
	for _, app := range []string{"", `4.13 "beta"`} {
		onSite(t, setup{handlers: handlers.Config{App: app}}, func(t *testing.T, s *site) {
			member := ""
			if app != "" {
				member = fmt.Sprintf(`,"app":%q`, app)
			}
			resp := s.do(request{path: "events?topic=site&v=7"})
			head := make([]byte, 400)
			n, err := io.ReadAtLeast(resp.Body, head, 1)
			resp.Body.Close()
			want := fmt.Sprintf(`,"user":"","v":1,"speaks":["state","diff","count","heartbeat","signal"]%s}`, member)
			if got := string(head[:n]); err != nil || !strings.Contains(got, want+"\n\n") {
				t.Errorf("got %s, want a welcome that ends in %s", got, want)
			}
			_, first := s.fetch(request{path: "poll?topic=site&wait=1"})
			cursor := strings.Split(first, `"`)[3]
			_, second := s.fetch(request{path: "poll?topic=site&wait=1&cursor=" + cursor})
			if !strings.HasSuffix(first, "]"+member+"}") || strings.Contains(second, `"app"`) {
				t.Errorf("got %s and %s, want %q in the first answer", first, second, member)
			}
		})
	}
}

// HTML streams take v and types, which mean nothing there.
func TestVersionAsHTML(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t, setup{handlers: handlers.Config{Widget: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			io.WriteString(w, r.URL.RawQuery)
		})}})
		for query, want := range map[string]int{"&v=1&types=reply:1": 200, "&v=0": 426, "&v=x": 400, "&types=x": 400, "&v2=1": 400} {
			resp := s.do(request{path: "events?topic=site&as=html" + query})
			if resp.StatusCode != want {
				t.Errorf("%s: got %d, want %d", query, resp.StatusCode, want)
			}
			if want == 200 {
				time.Sleep(time.Second)
				b := make([]byte, 200)
				n, _ := resp.Body.Read(b)
				m, _ := resp.Body.Read(b[n:])
				if got := string(b[:n+m]); !strings.Contains(got, "data: topic=site\n") {
					t.Errorf("%s: got %q, want the widget's own parameters alone", query, got)
				}
			}
			resp.Body.Close()
		}
	})
}
