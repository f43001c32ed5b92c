package handlers_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rollcall-go/rollcall/presence"
)

// A person is one as an answer has it.
type person struct {
	Online   bool
	Status   string
	Text     string
	On       []string
	Since    string
	LastSeen string `json:"last_seen"`
}

// peopleFor returns what a request for people answers.
func (s *site) peopleFor(r request) map[string]person {
	s.t.Helper()
	var got struct{ Users map[string]person }
	body := s.wantStatus(r, 200)
	if err := json.Unmarshal([]byte(body), &got); err != nil {
		s.t.Fatalf("the people %s are no JSON: %v", body, err)
	}
	return got.Users
}

// Each viewer gets what the viewer may know, by GET and by POST.
func TestPeople(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, directory := newPeopleSite(t, setup{})
		directory.Befriend("bob", "alice")
		s.wantStatus(put("settings", "bob", `{"online":"contacts"}`), 204)
		s.wantStatus(put("status", "bob", `{"status":"busy","text":"in a call"}`), 204)
		s.wantStatus(put("settings", "carol", `{"status":"invisible"}`), 204)
		noError(t, directory.Saw(t.Context(), map[presence.UserID]time.Time{"eve": time.Date(1999, 12, 31, 23, 0, 0, 0, time.UTC)}))
		s.online("bob", "b1")
		s.online("bob", "b2")
		s.online("carol", "c1")
		s.online("dora", "d1")
		time.Sleep(time.Second)
		const ids = "id=bob&id=carol&id=dora&id=eve&id=nobody&id=bob"
		for _, r := range []request{{path: "people?" + ids, user: "alice"}, form("people", "alice", ids), form("people?id=bob", "alice", ids)} {
			got := s.peopleFor(r)
			for id, since := range map[string]bool{"bob": true, "dora": true} {
				p := got[id]
				if at, err := time.Parse(time.RFC3339, p.Since); since && (err != nil || time.Since(at) > 5*time.Second) {
					t.Errorf("%s: got since %q (%v), want some seconds ago", id, p.Since, err)
				}
				p.Since = ""
				got[id] = p
			}
			want := map[string]person{
				"bob":    {Online: true, Status: "busy", Text: "in a call", On: []string{"desktop"}},
				"carol":  {},
				"dora":   {Online: true, Status: "online", On: []string{"desktop"}},
				"eve":    {LastSeen: "1999-12-31T23:00:00.000Z"},
				"nobody": {},
			}
			if fmt.Sprint(got) != fmt.Sprint(want) {
				t.Errorf("%s: got %+v, want %+v", r.method, got, want)
			}
		}
		if body := s.wantStatus(request{path: "people?id=carol&id=nobody", user: "alice"}, 200); body != `{"users":{"carol":{"online":false},"nobody":{"online":false}}}` {
			t.Errorf("got %s, want two who are not online, and no more of them", body)
		}
		if got := s.peopleFor(request{path: "people?id=bob", user: "dora"}); got["bob"].Online {
			t.Errorf("got bob for dora, who is none of his contacts: %+v", got)
		}
		if got := len(s.peopleFor(form("people", "alice", persons("id", 500)))); got != 500 {
			t.Errorf("got %d people, want 500", got)
		}
		if got := len(s.peopleFor(request{path: "people?" + persons("id", 100), user: "alice"})); got != 100 {
			t.Errorf("got %d people, want 100", got)
		}
	})
}

// Equal sight is an equal entity tag, in whatever order and by whatever method it is asked
// for, and another sight is another one.
func TestPeopleETag(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, _ := newPeopleSite(t, setup{})
		bob := s.online("bob", "b1")
		time.Sleep(time.Second)
		tag := func(r request, status int) string {
			t.Helper()
			resp, body := s.fetch(r)
			if resp.StatusCode != status || (body == "") != (status == 304) {
				t.Fatalf("%s %s: got %d (%s), want %d", r.method, r.path, resp.StatusCode, body, status)
			}
			if got := resp.Header.Get("Cache-Control"); !strings.Contains(got, "private") || !strings.Contains(got, "no-cache") {
				t.Errorf("got Cache-Control %q, want it private and checked each time", got)
			}
			return resp.Header.Get("ETag")
		}
		get := request{path: "people?id=bob&id=carol", user: "alice"}
		first := tag(get, 200)
		if first == "" {
			t.Fatal("got no ETag")
		}
		get.header = map[string]string{"If-None-Match": first}
		post := form("people", "alice", "id=carol&id=bob&id=bob")
		post.header["If-None-Match"] = "W/" + first
		for _, r := range []request{get, post, {path: "people?id=carol&id=bob", user: "dora", header: get.header}} {
			if got := tag(r, 304); got != first {
				t.Errorf("got the tag %s, want %s", got, first)
			}
		}
		bob.close()
		time.Sleep(time.Minute)
		s.sweep()
		time.Sleep(time.Second)
		if got := tag(get, 200); got == first {
			t.Errorf("got the tag %s again after bob has gone", got)
		}
	})
}

// While the Directory is out, who everybody may see is seen, and nobody else.
func TestPeopleWithoutTheDirectory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, directory := newPeopleSite(t, setup{})
		directory.Befriend("bob", "alice")
		s.wantStatus(put("settings", "bob", `{"online":"contacts"}`), 204)
		s.online("bob", "b1")
		s.online("dora", "d1")
		time.Sleep(time.Second)
		directory.Fail(errDirectory)
		got := s.peopleFor(request{path: "people?id=bob&id=dora&id=eve", user: "alice"})
		if got["bob"].Online || !got["dora"].Online || got["eve"].LastSeen != "" {
			t.Errorf("got %+v, want dora alone", got)
		}
		directory.Fail(nil)
		if got := s.peopleFor(request{path: "people?id=bob", user: "alice"}); !got["bob"].Online {
			t.Errorf("got %+v when the Directory is back, want bob", got)
		}
	})
}

// POST counts with what a visitor sends, GET with what a visitor reads.
func TestPeopleRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, _ := newPeopleSite(t, setup{})
		send := func(r request) (ok int) {
			for {
				resp, _ := s.fetch(r)
				if resp.StatusCode == http.StatusTooManyRequests {
					return ok
				}
				ok++
			}
		}
		if got := send(form("people", "alice", "id=bob")); got < 20 || got > 25 {
			t.Errorf("got %d POST requests answered, want 20", got)
		}
		if got := send(request{path: "people?id=bob", user: "alice"}); got < 200 || got > 220 {
			t.Errorf("got %d GET requests answered, want 200", got)
		}
	})
}
