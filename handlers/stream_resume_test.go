package handlers_test

import (
	"strings"
	"testing"
	"time"

	"github.com/rollcall-go/rollcall/handlers"
	"github.com/rollcall-go/rollcall/presence"
)

// fill puts cursors where CURSOR and OTHER stand.
func fill(s, cursor, other string) string {
	return strings.NewReplacer("CURSOR", cursor, "OTHER", other).Replace(s)
}

// A client that comes back gets what it missed, or a state: never both. In
// each case alice was online, the client left with a cursor, and then bob came.
func TestResume(t *testing.T) {
	for _, tt := range []struct {
		name  string
		query string // CURSOR stands for where the client left, OTHER for the same of another topic
		want  string // first event after the welcome
	}{
		{"no cursor", "", "state"},
		{"cursor", "cursor=CURSOR", "diff"},
		{"stream parameter", "stream=site&cursor=CURSOR", "diff"},
		{"two cursors", "cursor=OTHER&cursor=CURSOR", "diff"},
		{"garbage", "cursor=%F0%9F%92%A9+%00%0A", "state"},
		{"broken escape", "cursor=%zz", "state"},
		{"semicolons", "cursor=;;", "state"},
		{"another topic's", "cursor=OTHER", "state"},
		{"over 1 KiB", "cursor=CURSOR" + strings.Repeat("~x.y", 300), "state"},
		{"1 MiB", "cursor=" + strings.Repeat("x", 1<<20), "state"},
		{"1 MiB beside a topic", "topic=site&cursor=" + strings.Repeat("~", 1<<20), "state"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			over(t, allTransports, func(t *testing.T, over transport) {
				s := newSite(t, setup{handlers: handlers.Config{Authorize: anyTopic}})
				s.see("site", "alice")
				view, err := s.tracker.View(t.Context(), "site")
				noError(t, err)
				other, err := s.tracker.View(t.Context(), "thread:1")
				noError(t, err)
				s.see("site", "bob")

				l := s.follow(over, fill(tt.query, string(view.Cursor), string(other.Cursor)), "")
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
			})
		})
	}
}

// A client that missed nothing gets nothing.
func TestResumeAtOnce(t *testing.T) {
	over(t, allTransports, func(t *testing.T, over transport) {
		s := newSite(t, setup{})
		l := s.follow(over, "", "alice").started(1)
		l.close()
		time.Sleep(5 * time.Second)
		back := s.resume(over, "", "alice", l.last)
		back.want("welcome")
		back.quiet(time.Minute)
	})
}

// Many changes that a client missed come as one diff, and what cancelled out
// does not come.
func TestResumeMerged(t *testing.T) {
	over(t, allTransports, func(t *testing.T, over transport) {
		s := newSite(t, setup{})
		first := s.follow(over, "observe=1", "").started(1)
		first.close()
		s.see("site", "alice")
		noError(t, s.tracker.SignOut(t.Context(), "alice"))
		s.see("site", "bob", "carol")
		back := s.resume(over, "observe=1", "", first.last)
		back.want("welcome")
		if got := back.want("diff").data; keys(got.Joins) != "bob carol" || keys(got.Leaves) != "" {
			t.Errorf("got joins %q and leaves %q, want bob carol and none", keys(got.Joins), keys(got.Leaves))
		}
	})
}

// Every id is a whole cursor: wherever a stream of several topics is cut, the
// client misses nothing and gets nothing twice.
func TestResumeManyTopics(t *testing.T) {
	const topics = "observe=1&topic=site&topic=thread:1&stream=thread:2"
	over(t, allTransports, func(t *testing.T, over transport) {
		s := newSite(t, setup{handlers: handlers.Config{Authorize: anyTopic}})
		l := s.follow(over, topics, "").started(3)
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
			back := s.resume(over, topics, "", id)
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
func TestResumeAtAnotherStore(t *testing.T) {
	over(t, allTransports, func(t *testing.T, over transport) {
		first := newSite(t, setup{})
		l := first.follow(over, "", "alice").started(1)
		back := newSite(t, setup{}).resume(over, "", "alice", l.last)
		back.want("welcome")
		if got := back.want("state").data; keys(got.Users) != "alice" {
			t.Errorf("got users %q, want alice", keys(got.Users))
		}
	})
}
