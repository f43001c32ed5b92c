package handlers_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/rollcall-go/rollcall/handlers"
	"github.com/rollcall-go/rollcall/internal/need"
	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/track"
)

// rosterPage is a page of the roster as a client reads it.
type rosterPage struct {
	payload
	Order []string `json:"order"`
	Next  string   `json:"next"`
}

func (s *site) roster(query string) rosterPage {
	s.t.Helper()
	resp, body := s.fetch(request{path: "roster?" + query})
	if resp.StatusCode != http.StatusOK || resp.Header.Get("Content-Type") != "application/json" {
		s.t.Fatalf("roster?%s: got status %d, type %q", query, resp.StatusCode, resp.Header.Get("Content-Type"))
	}
	var p rosterPage
	noError(s.t, json.Unmarshal([]byte(body), &p))
	return p
}

// The roster has the same users as a state, with the same values, in the same order.
func TestRosterIsTheState(t *testing.T) {
	onSite(t, setup{presence: track.Config{Kinds: map[string]presence.Kind{"site": {Peak: true, Bots: true, Active: true}}}}, func(t *testing.T, s *site) {
		s.tracker.SeenBot("site", "Googlebot", "a")
		for _, u := range []presence.User{
			{ID: "alice", Group: "staff", Name: "Alice", Avatar: "/a.png?x=1&y=2", URL: "/u/alice", Status: presence.Busy, Data: json.RawMessage(`{ "role" : "<admin>" }`)},
			{ID: "__proto__"},
			{ID: "<script>alert(1)</script>", Name: "<b>&\u2028"},
			{ID: presence.UserID(strings.Repeat("\U0001F600", 32)), Name: strings.Repeat("\U0001F600", 128)},
		} {
			s.tracker.Seen("site", u, presence.Device{})
			time.Sleep(time.Second)
		}
		_, body := s.fetch(request{path: "roster"})
		var roster, state map[string]json.RawMessage
		noError(t, json.Unmarshal([]byte(body), &roster))
		noError(t, json.Unmarshal(stateOf(t, s.tracker, "site"), &state))
		for field, want := range state {
			if got := roster[field]; !bytes.Equal(got, want) {
				t.Errorf("%s: got %s, want %s", field, got, want)
			}
		}
		if got, want := strings.Join(s.roster("").Order[1:], " "), "<script>alert(1)</script> __proto__ alice"; got != want {
			t.Errorf("order: got %q, want %q", got, want)
		}
	})
}

func TestRosterPages(t *testing.T) {
	onSite(t, setup{}, func(t *testing.T, s *site) {
		s.see("site", "a", "b", "c", "d", "e")
		var pages []string
		after := ""
		for {
			p := s.roster("limit=2&after=" + url.QueryEscape(after))
			if p.Total != 5 || !p.Truncated || len(p.Users) != len(p.Order) {
				t.Errorf("got total %d, truncated %v, %d users in order %v, want 5, true, as many", p.Total, p.Truncated, len(p.Users), p.Order)
			}
			pages = append(pages, strings.Join(p.Order, " "))
			s.see("site", presence.UserID("late"+after)) // comes before the first page, and moves nobody
			s.tracker.SignOut(t.Context(), presence.UserID("late"+after))
			if after = p.Next; after == "" {
				break
			}
		}
		if got, want := strings.Join(pages, ", "), "e d, c b, a"; got != want {
			t.Errorf("got pages %q, want %q", got, want)
		}
		if got := s.roster(""); got.Next != "" || got.Truncated {
			t.Errorf("the whole: got next %q, truncated %v, want none, false", got.Next, got.Truncated)
		}
	})
}

func TestRosterLimits(t *testing.T) {
	onSite(t, setup{}, func(t *testing.T, s *site) {
		for i := range 1100 {
			s.tracker.Seen("site", presence.User{ID: presence.UserID(fmt.Sprint("u", i))}, presence.Device{})
		}
		time.Sleep(time.Second)
		for query, want := range map[string]int{"": 100, "limit=1": 1, "limit=1000": 1000, "topic=site": 100} {
			if got := len(s.roster(query).Users); got != want {
				t.Errorf("roster?%s: got %d users, want %d", query, got, want)
			}
		}
	})
}

func TestConfigLimit(t *testing.T) {
	for limit, want := range map[int]int{2: 2, 5000: 1000, -1: 100} {
		onSite(t, setup{handlers: handlers.Config{Limit: limit}}, func(t *testing.T, s *site) {
			for i := range 1100 {
				s.tracker.Seen("site", presence.User{ID: presence.UserID(fmt.Sprint("u", i))}, presence.Device{})
			}
			time.Sleep(time.Second)
			if got := len(s.roster("").Users); got != want {
				t.Errorf("with a Limit of %d: got %d users, want %d", limit, got, want)
			}
		})
	}
}

func TestRosterConditional(t *testing.T) {
	onSite(t, setup{}, func(t *testing.T, s *site) {
		s.see("site", "alice")
		resp, _ := s.fetch(request{path: "roster"})
		tag := resp.Header.Get("ETag")
		if len(tag) < 10 || !strings.HasPrefix(tag, `"`) {
			t.Fatalf("got ETag %q, want a strong one", tag)
		}
		ask := func(ifNoneMatch string) int {
			resp, body := s.fetch(request{path: "roster", header: map[string]string{"If-None-Match": ifNoneMatch}})
			if resp.StatusCode == http.StatusNotModified && (body != "" || resp.Header.Get("ETag") == "") {
				t.Errorf("got body %q and ETag %q, want none and some", body, resp.Header.Get("ETag"))
			}
			return resp.StatusCode
		}
		for header, want := range map[string]int{
			tag: 304, "W/" + tag: 304, `"x", ` + tag: 304, `"x",W/` + tag + `, "y"`: 304, "*": 304,
			`"x"`: 200, `W/"x"`: 200, "garbage": 200, strings.Trim(tag, `"`): 200,
		} {
			if got := ask(header); got != want {
				t.Errorf("If-None-Match: %s: got status %d, want %d", header, got, want)
			}
		}
		resp, _ = s.fetch(request{path: "roster?limit=1"})
		if got := resp.Header.Get("ETag"); got != tag {
			t.Errorf("the same answer by another limit: got ETag %s, want %s", got, tag)
		}
		s.see("site", "bob")
		if got := ask(tag); got != 200 {
			t.Errorf("after bob came: got status %d, want 200", got)
		}
	})
}

func TestRosterHead(t *testing.T) {
	onSite(t, setup{}, func(t *testing.T, s *site) {
		s.see("site", "alice")
		get, body := s.fetch(request{path: "roster"})
		head, none := s.fetch(request{method: http.MethodHead, path: "roster"})
		if head.StatusCode != 200 || none != "" || head.ContentLength != int64(len(body)) || head.Header.Get("ETag") != get.Header.Get("ETag") {
			t.Errorf("got status %d, body %q, length %d, ETag %s, want 200, none, and the rest as for GET: %d, %s",
				head.StatusCode, none, head.ContentLength, head.Header.Get("ETag"), len(body), get.Header.Get("ETag"))
		}
	})
}

// The first page is encoded once for all who ask.
func TestRosterIsEncodedOnce(t *testing.T) {
	onSite(t, setup{}, func(t *testing.T, s *site) {
		for i := range 1000 {
			s.tracker.Seen("site", presence.User{ID: presence.UserID(fmt.Sprint("u", i))}, presence.Device{})
		}
		time.Sleep(2 * time.Second)
		r, w := httptest.NewRequest(http.MethodGet, "/presence/roster?limit=1000", nil), &nowhere{header: make(http.Header)}
		allocs := testing.AllocsPerRun(20, func() { s.handler.ServeHTTP(w, r) })
		if w.status != http.StatusOK || allocs > 50 {
			t.Errorf("a page of 1000 users: got status %d and %v allocations, want 200 and few", w.status, allocs)
		}
	})
}

// Requests with many limits do not fill the memory, and drive out no page that others ask for.
func TestRosterCacheIsBounded(t *testing.T) {
	need.Slow(t, "thousands of requests")
	t.Parallel()
	onSite(t, setup{}, func(t *testing.T, s *site) {
		for i := range 1000 {
			s.tracker.Seen("site", presence.User{ID: presence.UserID(fmt.Sprint("u", i))}, presence.Device{})
		}
		time.Sleep(time.Second)
		for _, limit := range []int{10, 20, 50, 100, 200, 500, 1000} {
			s.fetch(request{path: fmt.Sprint("roster?limit=", limit), user: fmt.Sprint("u", limit)})
		}
		counted, held := s.handler.CachedPages()
		if counted != held || held < 100<<10 || held > handlers.MaxCachedPages/8 {
			t.Fatalf("the cache counts %d bytes, and holds %d, want both the same, and room for other topics", counted, held)
		}
		for limit := range 1000 {
			s.fetch(request{path: fmt.Sprint("roster?limit=", limit+1), user: fmt.Sprint("u", limit/10)})
		}
		if _, after := s.handler.CachedPages(); after != held {
			t.Errorf("the cache held %d bytes before and %d after requests with a thousand limits, want the same", held, after)
		}
	})
}
