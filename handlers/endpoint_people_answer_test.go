package handlers_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/memstore"
	"github.com/rollcall-go/rollcall/presence/presencetest"
	"github.com/rollcall-go/rollcall/presence/track"
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

// With detail=1 an answer says where it is from and who the user is, by GET and by POST, and
// nothing more of users of whom the viewer may know nothing. The store is asked once for all.
func TestPeopleDetail(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := presencetest.NewFaults(memstore.New())
		s, directory := newPeopleSite(t, setup{store: store, presence: track.Config{
			Grace: 2 * time.Second, Kinds: map[string]presence.Kind{"site": {Recent: 100}},
		}})
		long := map[presence.UserID]time.Time{"eve": time.Date(1999, 12, 31, 23, 0, 0, 0, time.UTC)}
		noError(t, directory.Saw(t.Context(), long))
		directory.Block("blocker", "alice", true)
		s.wantStatus(put("settings", "secret", `{"seen":"nobody"}`), 204)
		for _, id := range []string{"bob", "hidden", "ghost", "blocker", "secret"} {
			defer s.online(id, "d").close()
		}
		s.online("carol", "c").close()
		time.Sleep(time.Second)
		s.wantStatus(put("settings", "hidden", `{"online":"nobody"}`), 204)
		s.wantStatus(put("status", "ghost", `{"status":"invisible"}`), 204)
		time.Sleep(8 * time.Second) // a node does not sweep for its first seven seconds
		s.sweep()
		time.Sleep(time.Minute)

		const ids = "id=bob&id=carol&id=eve&id=ghost&id=hidden&id=blocker&id=nobody"
		times := regexp.MustCompile(`20\d\d-[-0-9T:.]+Z`)
		answer := func(r request) string {
			t.Helper()
			return times.ReplaceAllString(s.wantStatus(r, 200), "…")
		}
		want := `{"users":{"blocker":{"online":false},` +
			`"bob":{"online":true,"status":"online","on":["desktop"],"since":"…","source":"live","name":"BOB"},` +
			`"carol":{"online":false,"last_seen":"…","source":"recent","name":"CAROL"},` +
			`"eve":{"online":false,"last_seen":"1999-12-31T23:00:00.000Z","source":"stored"},` +
			`"ghost":{"online":false,"last_seen":"…","source":"recent","name":"GHOST"},` +
			`"hidden":{"online":false},"nobody":{"online":false}}}`
		for _, r := range []request{{path: "people?detail=1&" + ids, user: "alice"}, form("people?detail=1", "alice", ids), form("people", "alice", "detail=1&"+ids)} {
			asked := store.Calls(presencetest.CallRecent)
			if got := answer(r); got != want {
				t.Errorf("%s %s: got\n%s, want\n%s", r.method, r.path, got, want)
			}
			if asked = store.Calls(presencetest.CallRecent) - asked; asked != 1 {
				t.Errorf("%s %s: the store was asked %d times for names, want once", r.method, r.path, asked)
			}
		}
		asked := store.Calls(presencetest.CallRecent)
		plain := answer(request{path: "people?" + ids, user: "alice"})
		if got := store.Calls(presencetest.CallRecent) - asked; got != 0 || strings.Contains(plain, "source") || strings.Contains(plain, "name") {
			t.Errorf("without detail: got %s and %d calls for names, want neither", plain, got)
		}
		resp, _ := s.fetch(request{path: "people?detail=1&" + ids, user: "alice"})
		tag := map[string]string{"If-None-Match": resp.Header.Get("ETag")}
		s.wantStatus(request{path: "people?detail=1&" + ids, user: "alice", header: tag}, 304)
		s.wantStatus(request{path: "people?" + ids, user: "alice", header: tag}, 200)

		// While the store is out the rest is told. While the Directory is out nobody's past is.
		store.Break(presencetest.Fault{Err: presence.ErrStoreOut}, presencetest.CallRecent)
		if got := answer(request{path: "people?detail=1&id=bob&id=carol", user: "alice"}); !strings.Contains(got, `"source":"live"`) || !strings.Contains(got, `"carol":{"online":false,"last_seen":"…","source":"stored"}`) {
			t.Errorf("the store is out: got %s, want bob, and last seen of carol", got)
		}
		store.Heal()
		directory.Fail(errDirectory)
		if got, want := answer(request{path: "people?detail=1&id=carol", user: "alice"}), `{"users":{"carol":{"online":false}}}`; got != want {
			t.Errorf("the Directory is out: got %s, want %s", got, want)
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
