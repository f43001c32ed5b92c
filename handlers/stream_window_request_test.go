package handlers_test

import (
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/rollcall-go/rollcall/handlers"
	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/track"
)

func TestWindowBadRequests(t *testing.T) {
	onSite(t, setup{handlers: handlers.Config{MaxRate: -1}}, func(t *testing.T, s *site) {
		many := ""
		for i := range 61 {
			many += fmt.Sprint("&also=u", i)
		}
		for _, path := range []string{"events", "poll", "ws"} {
			for _, query := range []string{"window=0", "window=1001", "window=-1", "window=x", "window=", "window=5&limit=5", "also=alice", "window=5&also=", "window=5" + many} {
				s.wantStatus(request{path: path + "?" + query, header: map[string]string{"Connection": "Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Version": "13", "Sec-WebSocket-Key": "AAAAAAAAAAAAAAAAAAAAAA=="}}, 400)
			}
		}
		s.wantStatus(request{path: "events?window=5&as=html"}, 400)
		body := "also=" + strings.Join(func() (ids []string) {
			for i := range 501 {
				ids = append(ids, fmt.Sprint("u", i))
			}
			return ids
		}(), "&also=")
		s.wantStatus(form("events?window=5", "alice", body), 400)
		l := s.follow(overSSE, "beat=1", "alice")
		w := l.want("welcome")
		for _, hidden := range []string{`"yes"`, "1", "null", "{}"} {
			s.wantStatus(request{method: "POST", path: "beat", user: "alice", body: fmt.Sprintf(`{"connection":%q,"hidden":%s}`, w.data.Connection, hidden)}, 400)
		}
		c := s.talk(request{path: "ws?topic=site"})
		c.started(1)
		c.say(`{"type":"hidden"}`)
		c.wantError("Bad Request")
		c.say(`{"type":"hidden","hidden":"yes"}`)
		c.wantError("Bad Request")
	})
}

// A form has room for 500 users of also, however long their ids are, and whatever the letters.
func TestWindowLongestForm(t *testing.T) {
	onSite(t, setup{}, func(t *testing.T, s *site) {
		s.enter(presence.User{ID: "alice"})
		form := url.Values{"also": {"alice"}}
		for i := range track.MaxAlso - 1 {
			form.Add("also", fmt.Sprintf("%03d%s", i, strings.Repeat("é", 62)))
		}
		resp := s.do(request{method: "POST", path: "events?topic=site&window=5", body: form.Encode(), header: map[string]string{"Content-Type": "application/x-www-form-urlencoded"}})
		defer resp.Body.Close()
		if resp.StatusCode != 200 {
			t.Errorf("a form of 500 users, %d bytes, is answered %d", len(form.Encode()), resp.StatusCode)
		}
	})
}
