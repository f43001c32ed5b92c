package handlers_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/memstore"
	"github.com/rollcall-go/rollcall/presence/presencetest"
	"github.com/rollcall-go/rollcall/presence/track"
)

// recentPage is what /recent answers.
type recentPage struct {
	Topic string
	Total int
	Users map[string]struct {
		Name, Group string
		LastSeen    time.Time `json:"last_seen"`
		Online      bool
		Status      string
	}
	Order []string
	Next  string
	Names *bool
}

func (s *site) recent(query string) recentPage {
	s.t.Helper()
	return s.recentAs("", query)
}

func (s *site) recentAs(user, query string) recentPage {
	s.t.Helper()
	resp, body := s.fetch(request{path: "recent?" + query, user: user})
	var p recentPage
	if err := json.Unmarshal([]byte(body), &p); err != nil || resp.StatusCode != http.StatusOK {
		s.t.Fatalf("recent?%s: got status %d and %s", query, resp.StatusCode, body)
	}
	return p
}

// remembering is a site that remembers recent users by name, and runs its cron.
func remembering(t *testing.T) *site {
	s := newSite(t, setup{presence: track.Config{Kinds: map[string]presence.Kind{
		"site": {Recent: 1000}, "poll": {Recent: 1000, CountOnly: true},
	}}})
	return s
}

func TestRecent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := remembering(t)
		s.tracker.Seen("site", presence.User{ID: "alice", Name: "Alice", Group: "staff"}, presence.Device{})
		time.Sleep(time.Minute)
		s.tracker.Seen("site", presence.User{ID: "bob", Name: "Bob"}, presence.Device{})
		time.Sleep(time.Second)
		bobAt := time.Now().Add(-time.Second)
		s.tracker.SignOut(t.Context(), "alice")
		s.tracker.Seen("site", presence.User{ID: "dave", Status: presence.Invisible}, presence.Device{})
		time.Sleep(time.Second)
		p := s.recent("within=24h")
		if got, want := strings.Join(p.Order, " "), "alice bob"; got != want || p.Total != 2 {
			t.Errorf("got %q, %d in all, want %q, 2", got, p.Total, want)
		}
		if a := p.Users["alice"]; a.Name != "Alice" || a.Group != "staff" || a.Online || a.Status != "" {
			t.Errorf("got %+v, want Alice of staff, who is gone", a)
		}
		if b := p.Users["bob"]; !b.Online || b.Status != "online" || b.LastSeen.Sub(bobAt).Abs() > 10*time.Millisecond {
			t.Errorf("got %+v, want Bob online, last active at %v", b, bobAt)
		}
		if got := strings.Join(s.recent("within=24h&group=staff").Order, " "); got != "alice" {
			t.Errorf("of the staff: got %q, want alice", got)
		}
		if got := strings.Join(s.recent("").Order, " "); got != "alice bob" {
			t.Errorf("of the period: got %q, want alice too, since the site does not say that a sign-out takes her out", got)
		}
	})
}

func TestRecentPages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := remembering(t)
		for i := range 7 {
			s.tracker.Seen("site", presence.User{ID: presence.UserID(fmt.Sprint("u", i)), Group: []string{"staff", ""}[i%2]}, presence.Device{})
			time.Sleep(time.Second)
		}
		for query, want := range map[string]string{
			"limit=3":             "u6 u5 u4, u3 u2 u1, u0",
			"limit=3&group=staff": "u6 u4 u2, u0",
		} {
			var pages []string
			for after := ""; ; {
				p := s.recent(query + "&after=" + url.QueryEscape(after))
				pages = append(pages, strings.Join(p.Order, " "))
				if after = p.Next; after == "" {
					break
				}
			}
			if got := strings.Join(pages, ", "); got != want {
				t.Errorf("%s: got %q, want %q", query, got, want)
			}
		}
	})
}

// A request for a group that hardly anybody is in looks at about as many users as the
// largest page has, and then names a next page.
func TestRecentOfARareGroup(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		faults := presencetest.NewFaults(memstore.New())
		s := newSite(t, setup{store: faults, presence: track.Config{Kinds: map[string]presence.Kind{"site": {Recent: 5000}}}})
		for i := range 2500 {
			s.tracker.Seen("site", presence.User{ID: presence.UserID(fmt.Sprint("u", i))}, presence.Device{})
		}
		time.Sleep(time.Second)
		for limit, want := range map[int]int{1000: 1, 600: 2, 100: 10} {
			before := faults.Calls(presencetest.CallRecent)
			p := s.recentAs("alice", fmt.Sprint("group=staff&limit=", limit))
			if calls := faults.Calls(presencetest.CallRecent) - before; calls != want || p.Next == "" || p.Total != 2500 || len(p.Users) != 0 {
				t.Errorf("limit %d: got %d calls, a total of %d, %d users and next %q, want %d, 2500, nobody and a next page", limit, calls, p.Total, len(p.Users), p.Next, want)
			}
		}
	})
}

// A count-only topic tells figures and nobody's name, in any endpoint.
func TestCountOnlyTellsNoNames(t *testing.T) {
	onSite(t, setup{presence: track.Config{Kinds: map[string]presence.Kind{"site": {Recent: 1000, CountOnly: true}}}}, func(t *testing.T, s *site) {
		s.see("site", "alice", "bob")
		s.tracker.SignOut(t.Context(), "bob")
		time.Sleep(time.Second)
		for path, wants := range map[string][]string{
			"roster":                {`"total":1`, `"users":{}`, `"names":false`},
			"recent?within=24h":     {`"total":2`, `"users":{}`, `"names":false`},
			"where":                 {`"total":1`, `"users":{}`, `"names":false`},
			"users?id=alice&id=bob": {`{"users":{"alice":{"online":false},"bob":{"online":false}}}`},
			"poll?wait=1":           {`"total":1`, `"users":{}`, `"names":false`},
		} {
			_, body := s.fetch(request{path: path})
			for _, want := range wants {
				if !strings.Contains(body, want) {
					t.Errorf("%s: got %s, want %s in it", path, body, want)
				}
			}
			if path != "users?id=alice&id=bob" && (strings.Contains(body, "alice") || strings.Contains(body, "bob")) {
				t.Errorf("%s: %s has a name", path, body)
			}
		}
	})
}

func TestRecentBadInput(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := remembering(t)
		for _, query := range []string{"within=7d", "limit=0", "limit=1001", "group=Staff", "group=", "after=!", "topic=%20"} {
			if resp, body := s.fetch(request{path: "recent?" + query}); resp.StatusCode != http.StatusBadRequest || !strings.Contains(body, "detail") {
				t.Errorf("recent?%s: got status %d and %s, want 400 with a detail", query, resp.StatusCode, body)
			}
		}
		if resp, _ := s.fetch(request{path: "recent?topic=thread:1"}); resp.StatusCode != http.StatusForbidden {
			t.Errorf("a topic that nobody may see: got status %d, want 403", resp.StatusCode)
		}
	})
}
