package handlers_test

import (
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rollcall-go/rollcall/handlers"
	"github.com/rollcall-go/rollcall/presence"
)

// A client that comes back gets what it missed, or a state: never both. In
// each case alice was online, the client left with a cursor, and then bob came.
func TestStreamResumes(t *testing.T) {
	for _, tt := range []struct {
		name string
		path string // CURSOR stands for where the client left, OTHER for the same of another topic
		last string // Last-Event-ID
		want string // first event after the welcome
	}{
		{"no cursor", "events", "", "state"},
		{"header", "events", "CURSOR", "diff"},
		{"parameter", "events?cursor=CURSOR", "", "diff"},
		{"stream parameter", "events?stream=site&cursor=CURSOR", "", "diff"},
		{"two parameters", "events?cursor=OTHER&cursor=CURSOR", "", "diff"},
		{"header over parameter", "events?cursor=garbage", "CURSOR", "diff"},
		{"header that cannot be read over parameter", "events?cursor=CURSOR", "garbage", "state"},
		{"garbage", "events?cursor=%F0%9F%92%A9+%00%0A", "", "state"},
		{"broken escape", "events?cursor=%zz", "", "state"},
		{"semicolons", "events?cursor=;;", "", "state"},
		{"another topic's", "events?cursor=OTHER", "", "state"},
		{"over 1 KiB", "events?cursor=CURSOR" + strings.Repeat("~x.y", 300), "", "state"},
		{"1 MiB", "events?cursor=" + strings.Repeat("x", 1<<20), "", "state"},
		{"1 MiB beside a topic", "events?topic=site&cursor=" + strings.Repeat("~", 1<<20), "", "state"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newSite(t, setup{handlers: handlers.Config{Authorize: anyTopic}})
				s.see("site", "alice")
				view, err := s.tracker.View(t.Context(), "site")
				if err != nil {
					t.Fatal(err)
				}
				other, err := s.tracker.View(t.Context(), "thread:1")
				if err != nil {
					t.Fatal(err)
				}
				s.see("site", "bob")

				fill := strings.NewReplacer("CURSOR", string(view.Cursor), "OTHER", string(other.Cursor))
				r := request{path: fill.Replace(tt.path)}
				if tt.last != "" {
					r.header = map[string]string{"Last-Event-ID": fill.Replace(tt.last)}
				}
				l := s.listen(r)
				if w := l.want("welcome"); w.id != "" {
					t.Errorf("the welcome has id %q, want none: the client has nothing new", w.id)
				}
				got, _ := l.next()
				if got.typ != tt.want {
					t.Fatalf("got %s, want %s", got.typ, tt.want)
				}
				switch d := got.data; {
				case tt.want == "diff" && (keys(d.Joins) != "bob" || d.Prev != string(view.Cursor) || d.Total != 2):
					t.Errorf("got %+v, want a diff from %s in which bob joins", d, view.Cursor)
				case tt.want == "state" && keys(d.Users) != "alice bob":
					t.Errorf("got users %q, want alice bob", keys(d.Users))
				}
				l.quiet(time.Minute)
			})
		})
	}
}

// Many changes that a client missed come as one diff, and what cancelled out
// does not come.
func TestStreamResumesMerged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t, setup{})
		first := s.listen(request{path: "events?observe=1"})
		first.started(1)
		first.close()
		s.see("site", "alice")
		if err := s.tracker.SignOut(t.Context(), "alice"); err != nil {
			t.Fatal(err)
		}
		s.see("site", "bob", "carol")
		back := s.listen(request{path: "events?observe=1", header: map[string]string{"Last-Event-ID": first.last}})
		back.want("welcome")
		if got := back.want("diff").data; keys(got.Joins) != "bob carol" || keys(got.Leaves) != "" {
			t.Errorf("got joins %q and leaves %q, want bob carol and none", keys(got.Joins), keys(got.Leaves))
		}
	})
}

// Every id is a whole cursor: wherever a stream of several topics is cut, the
// client misses nothing and gets nothing twice.
func TestStreamOfManyTopicsResumesAnywhere(t *testing.T) {
	const topics = "events?observe=1&topic=site&topic=thread:1&stream=thread:2"
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t, setup{handlers: handlers.Config{Authorize: anyTopic}})
		l := s.listen(request{path: topics}).started(3)
		ids := []string{l.last}
		for i, topic := range []presence.Topic{"thread:2", "site", "thread:1", "site"} {
			s.see(topic, presence.UserID('a'+rune(i)))
			e := l.want("diff")
			if e.data.Topic != string(topic) || e.id == ids[len(ids)-1] || !strings.Contains(e.id, e.data.Cursor) {
				t.Errorf("got topic %s and id %q, want %s and a new id that holds the cursor %q", e.data.Topic, e.id, topic, e.data.Cursor)
			}
			ids = append(ids, e.id)
		}
		l.close()

		missed := []string{"site:b d, thread:1:c, thread:2:a", "site:b d, thread:1:c", "site:d, thread:1:c", "site:d", ""}
		for i, id := range ids {
			back := s.listen(request{path: topics + "&cursor=" + url.QueryEscape(id)})
			back.want("welcome")
			var got []string
			for e, _ := back.next(); e.typ == "diff" || len(got) < i && e.typ != "heartbeat"; e, _ = back.next() {
				got = append(got, e.data.Topic+":"+keys(e.data.Joins))
			}
			if got := strings.Join(sorted(got), ", "); got != missed[i] {
				t.Errorf("cut after %d diffs: got %q, want %q", i, got, missed[i])
			}
			back.close()
		}
	})
}

// Another store, or one that was wiped, knows no old cursor.
func TestStreamResumesAtAnotherStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		first := newSite(t, setup{})
		l := first.listen(request{path: "events", user: "alice"}).started(1)
		second := newSite(t, setup{})
		back := second.listen(request{path: "events", user: "alice", header: map[string]string{"Last-Event-ID": l.last}})
		back.want("welcome")
		if got := back.want("state").data; keys(got.Users) != "alice" {
			t.Errorf("got users %q, want alice", keys(got.Users))
		}
	})
}
