package handlers_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// A body that does not come holds nothing for long, also where the server has no
// timeout of its own.
func TestSlowBody(t *testing.T) {
	for name, tt := range map[string]struct {
		request string
		timeout time.Duration
	}{
		"a server without timeouts": {"POST /presence/leave", 0},
		"a server with one":         {"POST /presence/leave", 3 * time.Second},
		"a list":                    {"POST /presence/events", 0},
		"a poll":                    {"GET /presence/poll?wait=1", 0},
		"a stream":                  {"GET /presence/events", 0},
		"a roster":                  {"GET /presence/roster", 0},
	} {
		bubble(t, name, func(t *testing.T) {
			s := newSite(t, setup{server: func(srv *http.Server) { srv.ReadTimeout = tt.timeout }})
			conn, err := s.dial(t.Context(), "", "")
			noError(t, err)
			defer conn.Close()
			fmt.Fprint(conn, tt.request, " HTTP/1.1\r\nHost: forum.test\r\nContent-Length: 100\r\n\r\n{")
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
			if !strings.HasPrefix(string(answer), "HTTP/1.1 408 ") && name != "a roster" { // which needs no body
				t.Errorf("got %q, want status 408", answer)
			}
			conn.Close()
			<-gone
		})
	}
}

// A request whose body was read goes on for as long as it likes, and so does the
// connection.
func TestBodyDeadlineIsTakenBack(t *testing.T) {
	onSite(t, setup{}, func(t *testing.T, s *site) {
		for range 3 {
			if resp, _ := s.fetch(says("leave", "alice", "a.1")); resp.StatusCode != http.StatusGone {
				t.Errorf("got %d, want 410", resp.StatusCode)
			}
			time.Sleep(time.Minute)
		}
	})
}

// A form that the site does not have is refused before anybody reads it.
func TestUnknownFormIsNotRead(t *testing.T) {
	onSite(t, setup{}, func(t *testing.T, s *site) {
		w := httptest.NewRecorder()
		s.handler.ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/presence/form/zzz", unread{t}))
		if w.Code != http.StatusNotFound {
			t.Errorf("got %d, want 404", w.Code)
		}
	})
}

// unread is a body that must not be read.
type unread struct{ t *testing.T }

func (u unread) Read([]byte) (int, error) {
	u.t.Error("the body was read")
	return 0, io.EOF
}
