package handlers_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"
)

// A body that does not come holds nothing for long, also where the server has no
// timeout of its own.
func TestSlowBody(t *testing.T) {
	for name, timeout := range map[string]time.Duration{"a server without timeouts": 0, "a server with one": 3 * time.Second} {
		bubble(t, name, func(t *testing.T) {
			s := newSite(t, setup{server: func(srv *http.Server) { srv.ReadTimeout = timeout }})
			conn, err := s.dial(t.Context(), "", "")
			noError(t, err)
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
