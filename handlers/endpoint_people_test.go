package handlers_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/rollcall-go/rollcall/handlers"
	"github.com/rollcall-go/rollcall/presence"
)

// Without a Directory nothing of people exists: the paths are not there, and the topic
// "people" is one like any other.
func TestPeopleOff(t *testing.T) {
	onSite(t, setup{handlers: handlers.Config{Authorize: anyTopic, MaxRate: -1}}, func(t *testing.T, s *site) {
		for _, r := range []request{
			{path: "people?id=bob", user: "alice"},
			form("people", "alice", "id=bob"),
			{path: "settings", user: "alice"},
			put("settings", "alice", `{"online":"nobody"}`),
			{path: "sessions", user: "alice"},
			{method: http.MethodDelete, path: "sessions/d1", user: "alice"},
		} {
			s.wantStatus(r, 404)
		}
		s.wantStatus(put("status", "alice", `{"status":"busy","text":"in a call"}`), 400)
		s.wantStatus(put("status", "alice", `{"status":"busy"}`), 204)
		s.see("people", "bob")
		if body := s.wantStatus(request{path: "roster?topic=people"}, 200); !strings.Contains(body, `"bob"`) {
			t.Errorf("got %s, want a roster with bob", body)
		}
		c := s.talk(request{path: "ws?topic=people&person=%00&list=x"})
		c.started(1)
		c.say(`{"type":"watch","users":["bob"]}`)
		c.wantError("Bad Request")
	})
}

// Each fault of a request for people has its own status.
func TestPeopleBadRequests(t *testing.T) {
	foreign := map[string]string{"Origin": "https://evil.test"}
	long := strings.Repeat("u", presence.MaxUserIDLen+1)
	type row struct {
		request
		status int
	}
	rows := []row{
		{request{path: "people?id=bob"}, 401},
		{form("people", "", "id=bob"), 401},
		{request{path: "people", user: "alice"}, 400},
		{request{path: "people?id=", user: "alice"}, 400},
		{request{path: "people?id=a%00", user: "alice"}, 400},
		{request{path: "people?id=bob%1ephone", user: "alice"}, 400},
		{request{path: "people?id=%ff", user: "alice"}, 400},
		{request{path: "people?id=%zz", user: "alice"}, 400},
		{request{path: "people?id=a;id=b", user: "alice"}, 400},
		{request{path: "people?id=" + long, user: "alice"}, 400},
		{request{path: "people?" + persons("id", 101), user: "alice"}, 400},
		{request{path: "people?id=bob&detail=", user: "alice"}, 400},
		{request{path: "people?id=bob&detail=0", user: "alice"}, 400},
		{request{path: "people?id=bob&detail=true", user: "alice"}, 400},
		{request{path: "people?id=bob&detail=1&detail=2", user: "alice"}, 400},
		{form("people", "alice", "id=bob&detail=2"), 400},
		{form("people?detail=2", "alice", "id=bob&detail=1"), 400},
		{request{path: "people?detail=1&" + persons("id", 101), user: "alice"}, 400},
		{form("people?detail=1", "alice", persons("id", 501)), 400},
		{form("people", "alice", ""), 400},
		{form("people", "alice", "id=%zz"), 400},
		{form("people", "alice", `{"id":["bob"]}`), 400},
		{form("people", "alice", "id=a%0a"), 400},
		{form("people", "alice", persons("id", 501)), 400},
		{form("people?"+persons("id", 100), "alice", persons("id", 500)+"&id=one"), 400},
		{form("people", "alice", "id="+strings.Repeat("x", 192<<10)), 413},
		{request{method: "POST", path: "people", user: "alice", body: "id=bob", header: foreign}, 403},
		{request{method: "PUT", path: "people", user: "alice"}, 405},

		{request{path: "events?topic=people&person=", user: "alice"}, 400},
		{request{path: "events?topic=people&person=a%00", user: "alice"}, 400},
		{request{path: "events?topic=people&person=bob%1ephone", user: "alice"}, 400},
		{request{path: "events?topic=people&person=" + long, user: "alice"}, 400},
		{request{path: "events?topic=people&" + persons("person", 61), user: "alice"}, 400},
		{request{path: "poll?topic=people&" + persons("person", 61), user: "alice"}, 400},
		{request{path: "ws?topic=people&" + persons("person", 61), user: "alice", header: handshake}, 400},
		{request{path: "events?topic=people&list=friends", user: "alice"}, 400},
		{request{path: "events?topic=people&list=", user: "alice"}, 400},
		{form("events?topic=people", "alice", persons("person", 501)), 400},
		{form("events?topic=people&person=one", "alice", persons("person", 500)), 400},
		{form("events?topic=people", "alice", "person=a%00"), 400},
		{form("events?topic=people", "alice", "person=%zz"), 400},
		{form("events?topic=people", "alice", "list=friends"), 400},
		{form("events?topic=people", "alice", "person="+strings.Repeat("x", 192<<10)), 413},
		{form("events?topic=people", "", "person=bob"), 401},
		{request{method: "POST", path: "events?topic=people", user: "alice", body: "person=bob", header: foreign}, 403},
		{request{method: "POST", path: "events?topic=secret", user: "alice", body: "person=bob"}, 403},
		{request{method: "PUT", path: "poll?topic=people", user: "alice", body: "person=bob"}, 405},
		{request{method: "POST", path: "ws?topic=people", user: "alice", body: "person=bob"}, 405},
		{request{path: "events?topic=people:alice", user: "alice"}, 403},
	}
	synctest.Test(t, func(t *testing.T) {
		s, _ := newPeopleSite(t, setup{handlers: handlers.Config{MaxRate: -1}})
		for _, row := range rows {
			s.wantStatus(row.request, row.status)
		}
		if got := s.names("site"); got != "" {
			t.Errorf("got %q online, want nobody", got)
		}
	})
}

// The topic of people has streams only: elsewhere it is answered as one that nobody may see,
// and the site is never asked about it.
func TestPeopleIsNoRoster(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		asked := make(map[presence.Topic]bool)
		s, _ := newPeopleSite(t, setup{handlers: handlers.Config{
			Authorize: func(_ *http.Request, _ presence.Visitor, topic presence.Topic) bool {
				mu.Lock()
				defer mu.Unlock()
				asked[topic] = true
				return true
			},
			Widget: http.NotFoundHandler(),
		}})
		for _, user := range []string{"", "alice"} {
			for _, path := range []string{"roster?", "users?id=bob&", "recent?", "widget?", "events?as=html&", "events?as=turbo&", "events?as=html&partial=1&"} {
				missing := s.wantStatus(request{path: path + "topic=people", user: user}, 403)
				if !strings.Contains(missing, "There is no such topic, or you may not see it.") {
					t.Errorf("%s: got %s, want the 403 of any topic", path, missing)
				}
			}
			if got, want := s.wantStatus(request{path: "counts?topic=people", user: user}, 200), `{"topics":{}}`; got != want {
				t.Errorf("got the counts %s, want %s", got, want)
			}
			if body := s.wantStatus(request{path: "where", user: user}, 200); strings.Contains(body, "people") {
				t.Errorf("got the places %s, want them without people", body)
			}
		}
		l := s.listen(request{path: "events?topic=people&topic=site&partial=1", user: "alice"})
		if e := l.want("welcome"); len(e.data.Refused) > 0 {
			t.Errorf("got %q refused, want nothing", e.data.Refused)
		}
		mu.Lock()
		defer mu.Unlock()
		if fmt.Sprint(asked) != "map[site:true]" {
			t.Errorf("the site was asked about %v, want site alone", asked)
		}
	})
}

// A guest watches nobody. The other topics of a partial stream go on without.
func TestPeopleOfGuests(t *testing.T) {
	over(t, allTransports, func(t *testing.T, over transport) {
		s, _ := newPeopleSite(t, setup{})
		header := map[string]string(nil)
		if over.path == "ws" {
			header = handshake
		}
		for _, query := range []string{"topic=people", "topic=people&person=bob", "topic=site&topic=people", "topic=people&partial=1", "topic=people&me=alice"} {
			s.wantStatus(request{path: over.path + "?" + query, header: header}, 401)
		}
		l := s.follow(over, "topic=site&topic=people&partial=1&me=alice&person=bob&list=contacts", "")
		e := l.want("welcome")
		if e := l.want("state"); e.data.Topic != "site" {
			t.Errorf("got the state of %s, want that of site", e.data.Topic)
		}
		if over.path != "poll" && fmt.Sprint(e.data.Refused) != "[people]" {
			t.Errorf("got %q refused, want people", e.data.Refused)
		}
		s.wantFound(nil)
	})
}
