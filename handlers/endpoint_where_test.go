package handlers_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rollcall-go/rollcall/handlers"
	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/track"
)

// places is what /where answers.
type places struct {
	Topics []struct {
		Topic         string
		Total, Guests int
		Users         map[string]any
		Names         *bool
	}
	Next string
}

func (s *site) where(query, user string) places {
	s.t.Helper()
	resp, body := s.fetch(request{path: "where?" + query, user: user})
	var p places
	if err := json.Unmarshal([]byte(body), &p); err != nil || resp.StatusCode != http.StatusOK {
		s.t.Fatalf("where?%s: got status %d and %s", query, resp.StatusCode, body)
	}
	return p
}

// text is "topic=total+guests(users)" of each place.
func (p places) text() string {
	var parts []string
	for _, t := range p.Topics {
		names := ""
		if t.Names != nil && !*t.Names {
			names = "no names"
		}
		parts = append(parts, fmt.Sprintf("%s=%d+%d(%d%s)", t.Topic, t.Total, t.Guests, len(t.Users), names))
	}
	return strings.Join(parts, " ")
}

func TestWhere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t, setup{
			presence: track.Config{Kinds: map[string]presence.Kind{"poll": {CountOnly: true}}},
			handlers: handlers.Config{Authorize: notSecret},
		})
		s.see("thread:1", "alice", "bob")
		s.see("poll:1", "alice", "bob", "carol")
		s.see("secret:1", "a", "b", "c", "d", "e")
		for i := range 12 {
			s.see("thread:2", presence.UserID(fmt.Sprint("u", i)))
		}
		s.tracker.SeenGuest("thread:3", "guest-0000000001")
		time.Sleep(time.Second)
		if got, want := s.where("", "").text(), "thread:2=12+0(10) poll:1=3+0(0no names) thread:1=2+0(2) thread:3=0+1(0)"; got != want {
			t.Errorf("got %s, want %s", got, want)
		}
		var pages []string
		for after := ""; ; {
			p := s.where("limit=1&after="+url.QueryEscape(after), "")
			pages = append(pages, p.text())
			if after = p.Next; after == "" {
				break
			}
			if strings.Contains(after, "secret") {
				t.Errorf("the cursor %q names a topic that the visitor may not see", after)
			}
		}
		if len(pages) != 4 || slices.Contains(pages, "") {
			t.Errorf("got pages %q, want four with one place each", pages)
		}
		for _, query := range []string{"limit=0", "limit=x", "limit=1001", "after=!", "after=e30x"} {
			if resp, body := s.fetch(request{path: "where?" + query}); resp.StatusCode != http.StatusBadRequest {
				t.Errorf("where?%s: got status %d and %s, want 400", query, resp.StatusCode, body)
			}
		}
	})
}

// Who may see nothing learns of nothing, however many topics there are.
func TestWhereAsksABoundedNumberOfTimes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		asked := 0
		s := newSite(t, setup{handlers: handlers.Config{Authorize: func(*http.Request, presence.Visitor, presence.Topic) bool {
			asked++
			return false
		}}})
		for i := range 1100 {
			s.tracker.Seen(presence.Topic(fmt.Sprint("secret:", i)), presence.User{ID: "alice"}, presence.Device{})
		}
		time.Sleep(time.Second)
		s.where("", "")
		time.Sleep(5 * time.Second)
		asked = 0
		if p := s.where("", ""); len(p.Topics) != 0 || p.Next != "" {
			t.Errorf("got %+v, want nothing", p)
		}
		if asked != 1000 {
			t.Errorf("the site was asked %d times, want 1000", asked)
		}
	})
}

// What one address has the site asked is bounded by its reads: a request about 1,000 topics counts
// as 50 of them, and one for 100 figures as 10: five for the questions, and five for the figures. Others are answered meanwhile.
func TestQuestionsAreReads(t *testing.T) {
	figures := "counts?"
	for i := range 100 {
		figures += fmt.Sprint("&topic=secret:", i)
	}
	for _, tt := range []struct {
		path, user   string
		atOnce, rate int // questions
	}{
		{"where?", "", 16_000, 4_000}, {figures, "", 8_000, 2_000}, {"where?", "eve", 4_000, 1_000}, {figures, "eve", 2_000, 500},
	} {
		bubble(t, tt.path[:5]+" by "+tt.user, func(t *testing.T) {
			asked := 0
			s := newSite(t, setup{wrap: fromHeader, handlers: handlers.Config{Authorize: func(_ *http.Request, _ presence.Visitor, topic presence.Topic) bool {
				asked++
				return topic == presence.Site
			}}})
			for i := range 1100 {
				s.tracker.Seen(presence.Topic(fmt.Sprint("secret:", i)), presence.User{ID: "alice"}, presence.Device{})
			}
			time.Sleep(time.Second)
			s.fetch(request{path: "where", user: "alice"}) // has the places read
			flood := func(want int) {
				t.Helper()
				asked = 0
				for i := range 1000 { // 200 a second of guests and 50 of a user get further than these
					path := fmt.Sprint(tt.path, "&another=", want+i) // so that no answer is remembered
					s.fetch(request{path: path, user: tt.user, header: map[string]string{"X-Addr": "192.0.2.1:1"}})
				}
				if asked > want || asked < want*9/10 {
					t.Errorf("the site was asked %d times, want %d", asked, want)
				}
			}
			flood(tt.atOnce)
			time.Sleep(time.Second)
			flood(tt.rate)
			for _, other := range []request{{path: "where", user: "bob"}, {path: figures, header: map[string]string{"X-Addr": "192.0.2.2:1"}}, {path: "roster", user: "bob"}} {
				if resp, _ := s.fetch(other); resp.StatusCode != http.StatusOK {
					t.Errorf("another visitor: got status %d, want 200", resp.StatusCode)
				}
			}
		})
	}
}
