package handlers_test

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rollcall-go/rollcall/handlers"
	"github.com/rollcall-go/rollcall/internal/need"
	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/presencetest"
	"github.com/rollcall-go/rollcall/presence/track"
)

// Rule P2: what alice gets is byte for byte the same in two sites that differ in bob alone. In
// one bob is there, hidden from alice in some way: he comes and goes, changes devices, words
// and settings. In the other there has never been a bob. Compared are all answers with their
// headers, and all that streams write, cursors and entity tags included. Only what is random
// is taken out: tokens, waits, and the name that a memory store gives itself.
func TestHiddenIsAbsent(t *testing.T) {
	need.Slow(t, "every answer of twenty sites")
	without := make(map[bool][]string) // who is not there hides from nobody: what is asked decides alone
	for name, hide := range hidings {
		t.Run(name, func(t *testing.T) {
			var here []string
			t.Run("here", func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) { here = newSpy(t, hide, true).watch() })
			})
			if without[hide.fromRosters()] == nil {
				t.Run("absent", func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) { without[hide.fromRosters()] = newSpy(t, hide, false).watch() })
				})
			}
			absent := without[hide.fromRosters()]
			for i := range max(len(here), len(absent)) {
				if i >= len(here) || i >= len(absent) {
					t.Fatalf("got %d records with bob and %d without", len(here), len(absent))
				}
				if here[i] != absent[i] {
					t.Fatalf("with bob:\n%s\nwithout:\n%s", apart(here[i], absent[i]), apart(absent[i], here[i]))
				}
			}
			if got := strings.Join(here, ""); !strings.Contains(got, `"dora"`) || strings.Count(got, "\n") < 200 {
				t.Errorf("got %s, want also what alice may see", got)
			}
		})
	}
}

// apart returns the beginning of a text, and where it begins to differ from another.
func apart(s, other string) string {
	at := 0
	for at < min(len(s), len(other)) && s[at] == other[at] {
		at++
	}
	if at < 500 {
		return s[:min(len(s), at+300)]
	}
	return s[:100] + "\n…\n" + s[at-300:min(len(s), at+300)]
}

// A hiding is how bob is hidden from alice.
type hiding struct {
	settings presence.Settings
	change   string // of bob's own settings, meanwhile; empty: of his text
	blocked  bool   // bob blocks alice; rosters are the same for all viewers and show bob
}

var hidings = map[string]hiding{
	"invisible":                              {settings: presence.Settings{Status: presence.Invisible}},
	"invisible for some time":                {settings: presence.Settings{Status: presence.Invisible, Text: "at lunch", Until: time.Date(2001, 1, 1, 0, 0, 0, 0, time.UTC)}},
	"invisible, and then shows last seen":    {settings: presence.Settings{Status: presence.Invisible, Seen: presence.Nobody}, change: `{"seen":"everyone"}`},
	"invisible, and then shows to everybody": {settings: presence.Settings{Status: presence.Invisible, Online: presence.Nobody}, change: `{"online":"everyone"}`},
	"seen by nobody":                         {settings: presence.Settings{Online: presence.Nobody}},
	"seen by contacts":                       {settings: presence.Settings{Online: presence.Contacts}},
	"busy, seen by contacts":                 {settings: presence.Settings{Status: presence.Busy, Text: "in a call", Online: presence.Contacts, Seen: presence.Nobody}},
	"seen by contacts, and alice is blocked": {settings: presence.Settings{Online: presence.Contacts}, blocked: true},
	"alice is blocked":                       {blocked: true},
}

// fromRosters reports whether rosters hide bob too.
func (h hiding) fromRosters() bool { return !h.blocked || h.settings.Online != "" }

// A spy is a site, and what alice has got there.
type spy struct {
	*site
	directory *presencetest.MemoryDirectory
	hiding    hiding
	here      bool // bob is

	mu      sync.Mutex
	streams map[string]*strings.Builder
	records []string
}

func newSpy(t *testing.T, h hiding, here bool) *spy {
	s, directory := newPeopleSite(t, setup{
		presence: track.Config{Node: "n", Grace: 2 * time.Second, Age: time.Minute, Kinds: map[string]presence.Kind{"site": {Recent: 100}}},
		handlers: handlers.Config{MaxRate: -1, MaxStreamAge: -1, Authorize: onlySiteAsked, EndSession: endsNothing},
	})
	return &spy{site: s, directory: directory, hiding: h, here: here, streams: make(map[string]*strings.Builder)}
}

// with does something if there is a bob, and then waits.
func (s *spy) with(do func()) {
	time.Sleep(1300 * time.Millisecond) // so that a write of his is never under way together with one of alice's
	if s.here {
		do()
	}
	s.tick()
}

// tick waits until the clock shows a multiple of ten seconds, because what bob does takes a
// moment, and both sites go on at the same one. The jobs run meanwhile.
func (s *spy) tick() {
	const d = 10 * time.Second
	time.Sleep(time.Until(time.Now().Add(3 * time.Second).Truncate(d).Add(d - 3*time.Second)))
	if _, err := s.tracker.Sweep(s.t.Context()); err != nil {
		s.t.Error(err)
	}
	if _, err := s.tracker.Age(s.t.Context()); err != nil {
		s.t.Error(err)
	}
	time.Sleep(time.Until(time.Now().Truncate(d).Add(d)))
}

// watch lets everything happen, and returns what alice got.
func (s *spy) watch() []string {
	s.directory.Befriend("dora", "alice")
	s.directory.Befriend("alice", "bob", "dora") // that alice lists bob opens nothing
	s.directory.Choose("dora", presence.Settings{Online: presence.Contacts, Text: "hello"})
	s.with(func() {
		s.directory.Befriend("bob", "carol")
		s.directory.Choose("bob", s.hiding.settings)
		s.directory.Block("bob", "alice", s.hiding.blocked)
		if s.hiding.change != "" { // he has been there before
			noError(s.t, s.directory.Saw(s.t.Context(), map[presence.UserID]time.Time{"bob": time.Now().Add(-time.Hour)}))
		}
	})
	s.online("carol", "c1")
	s.tick()
	dora := s.online("dora", "d1")
	var bob *listener
	s.with(func() { bob = s.hold("b1") })
	s.askAll("bob is there")

	s.follow("people", "events?topic=people&person=bob&person=dora&person=nobody")
	s.follow("contacts", "events?topic=people&list=contacts")
	if s.hiding.fromRosters() {
		s.follow("site", "events?topic=site&observe=1")
		s.follow("both", "events?topic=people&topic=site&person=bob&person=dora")
	}
	s.tick()
	s.askAll("alice watches")

	s.with(func() { s.hold("b2").close() })
	s.with(func() { s.wantStatus(put("settings", "bob", cmp.Or(s.hiding.change, `{"text":"x"}`)), 204) })
	s.askAll("bob has changed")
	time.Sleep(4100 * time.Millisecond)
	dora.close()
	s.tick()
	s.askAll("dora has gone")
	s.with(func() {
		s.tracker.Seen("site", presence.User{ID: "bob", Name: "BOB"}, presence.Device{ID: "b3", Kind: presence.Mobile})
	})
	time.Sleep(4100 * time.Millisecond) // not at the moment of a heartbeat
	s.online("dora", "d2")
	s.tick()
	s.with(func() { bob.close() })
	s.with(func() { s.fetch(end("bob", "b3")) })
	s.askAll("bob has gone")
	time.Sleep(2 * time.Minute) // his page views have ended too
	s.tick()
	s.askAll("bob has long gone")
	s.with(func() { s.hold("b4") })
	s.with(func() {
		if err := s.tracker.SignOut(s.t.Context(), "bob"); err != nil {
			s.t.Error(err)
		}
	})
	s.askAll("bob has signed out")

	s.mu.Lock()
	defer s.mu.Unlock()
	for _, name := range slices.Sorted(maps.Keys(s.streams)) {
		s.records = append(s.records, "stream "+name+"\n"+plain(s.streams[name].String()))
	}
	return s.records
}

// hold opens a stream of bob's in both of alice's topics.
func (s *spy) hold(device string) *listener {
	l := s.listen(request{path: "events?topic=site&topic=thread:1", user: "bob", header: map[string]string{"X-Device": device}})
	l.drain()
	return l
}

// follow opens a stream of alice's, and records all that it writes.
func (s *spy) follow(name, path string) {
	s.tick()
	resp := s.do(request{path: path, user: "alice", header: map[string]string{"X-Device": "a1"}})
	if resp.StatusCode != http.StatusOK {
		s.t.Fatalf("%s: got status %d, want 200", path, resp.StatusCode)
	}
	s.t.Cleanup(func() { resp.Body.Close() })
	var text strings.Builder
	s.mu.Lock()
	s.streams[name] = &text
	s.mu.Unlock()
	go func() {
		b := make([]byte, 4<<10)
		for {
			n, err := resp.Body.Read(b)
			s.mu.Lock()
			text.Write(b[:n])
			s.mu.Unlock()
			if err != nil {
				return
			}
		}
	}()
}

// askAll records the answers to all that alice, and a guest, may ask.
func (s *spy) askAll(when string) {
	requests := []request{
		{path: "people?id=bob"},
		{path: "people?id=dora&id=bob&id=nobody"},
		form("people?detail=1", "", "id=bob&id=dora&id=nobody"),
		{path: "sessions"},
		{path: "settings"},
		end("", "b1"),
		{path: "poll?topic=people&person=bob&person=dora&wait=1"},
		{path: "poll?topic=people&list=contacts&wait=1"},
		{path: "counts?topic=people&topic=people:bob&topic=secret"},
		{path: "events?topic=people:bob"},
		{path: "roster?topic=people"},
	}
	if s.hiding.fromRosters() {
		for _, topic := range []string{"site", "thread:1"} {
			requests = append(requests,
				request{path: "users?id=bob&id=nobody&topic=" + topic},
				request{path: "roster?topic=" + topic},
				request{path: "recent?within=24h&topic=" + topic},
				request{path: "recent?topic=" + topic},
				request{path: "counts?topic=" + topic},
				request{path: "poll?observe=1&wait=1&topic=" + topic},
			)
		}
		requests = append(requests, request{path: "where"})
	}
	for _, user := range []string{"alice", ""} {
		for _, r := range requests {
			r.user = user
			s.tick()
			resp := s.do(r)
			body, err := io.ReadAll(resp.Body)
			resp.Body.Close()
			noError(s.t, err)
			resp.Header.Del("Date")
			if resp.Header.Get("ETag") != "" && random.Match(body) {
				resp.Header.Set("ETag", "<random>") // a hash of the body
			}
			record := fmt.Sprintf("%s: %q asks %s %s %s\n%d %v\n%s\n", when, user, r.method, r.path, r.body, resp.StatusCode, resp.Header, body)
			s.records = append(s.records, plain(record))
		}
	}
}

// plain takes out what is random: tokens, waits, and the name of the memory store, which
// begins the versions of topics.
func plain(s string) string { return random.ReplaceAllString(s, "<random>") }

var random = regexp.MustCompile(`"connection":"[^"]*"|retry: \d+|\b[a-z2-7]{8}-`)
