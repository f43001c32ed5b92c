package feedtest

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/rollcall-go/rollcall/presence/feed"
)

func badRowCases() []testCase {
	return []testCase{
		{"F1", "a bad row holds up no other one", func(t *trial) {
			bad := map[string]string{
				"b1": `no JSON`, "b2": ``, "b3": `{"to":["alice"],"text":"x"`, "b4": `{"to":"alice","text":"x"}`, "b5": `[]`,
				"b6": `{"text":"to nobody"}`, "b7": `{"to":["alice"]}`, "b8": `{"feed":"inbox:alice","text":"x"}`, "b9": `null`,
				"b10": `{"to":["alice"],"text":"a\u0000b"}`, "b11": `{"to":["\u0000"],"text":"x"}`, "b12": `{"to":["alice"],"text":"x","data":"\u0000"}`,
				"b13": `{"to":["alice"],"text":"x","v":1e400}`, "b14": `{"to":["alice"],"text":"x","v":-1}`, "b15": strings.Repeat("[", 20_000),
			}
			many, err := json.Marshal(feed.Message{To: manyUsers(feed.MaxRecipients + 1), Text: "x"})
			t.must(err)
			bad["b16"] = string(many)
			for id, message := range bad {
				t.must(t.Insert("", id, message))
			}
			t.must(t.Insert("", "a1", `{"to":["alice"],"text":"first"}`))
			t.must(t.Insert("", "c1", `{"to":["alice"],"text":"last"}`))
			unnamed := maps.Clone(bad)
			r := t.relay()
			t.wantTexts(alice, "last", "first")
			for _, b := range r.Bad {
				delete(unnamed, b.ID)
			}
			if len(r.Bad) != len(bad) || len(unnamed) > 0 {
				t.Errorf("rows that failed for the first time: got %d, want %d, each once; not named: %v", len(r.Bad), len(bad), slices.Sorted(maps.Keys(unnamed)))
			}
			for range 4 { // the first waits take seconds, and a busy machine may take as long
				t.advance(time.Hour)
				r = t.relay()
			}
			if r.Failed["json"]+r.Failed["message"] != len(bad) || r.Failed["json"] < 4 || r.Failed["message"] < 3 {
				t.Errorf("failed rows: got %v, want %d as json or message", r.Failed, len(bad))
			}
			if r := t.relay(); len(r.Failed) > 0 {
				t.Errorf("a second relay: got %v, want that bad rows wait", r.Failed)
			}
		}},
		{"F1", "a row that a database may refuse holds up no other one", func(t *trial) {
			const big = math.MaxInt64
			t.must(t.Insert("", "b1", fmt.Sprintf(`{"to":["alice"],"text":"big","v":%d}`, int64(big))))
			t.insert("a1", note("first"))
			t.insert("c1", note("last"))
			r := t.relay()
			items := t.items(alice)
			items = slices.DeleteFunc(slices.Clone(items), func(i feed.Item) bool { return i.Text == "big" && int64(i.V) == big && len(r.Failed) == 0 })
			if got := fmt.Sprint(texts(items)); got != "[last first]" {
				t.Errorf("items beside the big one: got %s, want [last first]; failed: %v", got, r.Failed)
			}
		}},
		{"F1", "a bad row is given up after ten times, and stays", func(t *trial) {
			t.must(t.Insert("", "bad", `no JSON`))
			failed, named := 0, ""
			for range 12 {
				r := t.relay()
				failed += r.Failed["json"]
				for _, b := range r.Bad {
					named += fmt.Sprint(" ", b.ID, " ", b.GivenUp, " ", b.Why != nil)
				}
				t.advance(61 * time.Minute)
			}
			if want := " bad false true bad true true"; named != want {
				t.Errorf("the row was named:%s, want:%s", named, want)
			}
			if failed != 10 {
				t.Errorf("times that the row was tried, an hour apart: got %d, want 10", failed)
			}
			o, err := t.Waiting(t.ctx)
			t.must(err)
			if o.Waiting != 0 || o.Failed != 1 {
				t.Errorf("outbox: got %+v, want 1 row that was given up", o)
			}
		}},
		{"F1", "a bad row waits for longer each time", func(t *trial) {
			t.must(t.Insert("", "bad", `no JSON`))
			t.relay()
			t.advance(5 * time.Second)
			if r := t.relay(); r.Failed["json"] != 1 {
				t.Errorf("5 s after the first failure: got %v, want a second one", r.Failed)
			}
			for range 4 {
				t.advance(time.Hour)
				t.relay()
			}
			t.advance(5 * time.Second)
			if r := t.relay(); r.Failed["json"] != 0 {
				t.Errorf("5 s after the sixth failure: got %v, want that the row waits", r.Failed)
			}
		}},
		{"F1", "a bad row does not count as one that waits for a relay", func(t *trial) {
			t.must(t.Insert("", "bad", `no JSON`))
			for range 5 { // the sixth try is 17 minutes later
				t.relay()
				t.advance(5 * time.Minute)
			}
			t.relay()
			t.advance(4 * time.Minute)
			if o, err := t.Waiting(t.ctx); err != nil || o.Waiting != 1 || o.Oldest > time.Minute {
				t.Errorf("outbox: got %+v, %v, want 1 row that waits, and is not due", o, err)
			}
		}},
		{"F1", "a relay names few of many bad rows", func(t *trial) {
			for i := range 50 {
				t.must(t.Insert("", fmt.Sprint("bad", i), `no JSON`))
			}
			if r := t.relay(); r.Failed["json"] != 50 || len(r.Bad) != feed.MaxBadRows {
				t.Errorf("got %d rows, %d of them named, want 50, 20", r.Failed["json"], len(r.Bad))
			}
		}},
		{"F1", "the outbox says what waits", func(t *trial) {
			t.send(note("one"))
			t.must(t.Insert("", "two", `{"to":["alice"],"text":"two"}`))
			o, err := t.Waiting(t.ctx)
			t.must(err)
			if o.Waiting != 2 || o.Failed != 0 || o.Oldest < 0 || o.Oldest > time.Minute {
				t.Errorf("outbox: got %+v, want 2 rows that wait since a moment ago", o)
			}
			t.advance(10 * time.Minute)
			if o, err = t.Waiting(t.ctx); err != nil || o.Oldest < 9*time.Minute || o.Oldest > 11*time.Minute {
				t.Errorf("the oldest row, after 10 minutes: got %v, %v", o.Oldest, err)
			}
			t.relay()
			if o, err = t.Waiting(t.ctx); err != nil || o != (feed.Outbox{}) {
				t.Errorf("outbox after a relay: got %+v, %v, want an empty one", o, err)
			}
		}},
		{"F1", "fields that are not known are ignored", func(t *trial) {
			t.must(t.Insert("", "new", `{"to":["alice"],"text":"hello","priority":"high","state":3,"pos":99,"rev":7,"at":"1999-01-01T00:00:00Z","count":5}`))
			t.relay()
			items := t.wantTexts(alice, "hello")
			if i := items[0]; i.Pos != 1 || i.Rev != 1 || i.Count != 1 || i.State != feed.Unread {
				t.Errorf("item: got %+v, want one as of any message", i)
			}
		}},
		{"F1", "texts arrive as they are", func(t *trial) {
			hostile := []string{`'; DROP TABLE rollcall_feeds; --`, `<script>alert("x")</script>`, "two\nlines\tand a tab", `back\slash \u0041 %s $1 ? {actors}`,
				"\u202eright to left", "🦊🦊", strings.Repeat("ä", feed.MaxTextLen/2)}
			for i, text := range hostile {
				t.send(feed.Message{To: to("alice"), ID: fmt.Sprintf("%%_'\"\\%d", i), Text: text, URL: "/?q='%22%00", From: "o'neil", Name: `Bobby "Tables"`})
			}
			t.relay()
			items := t.items(alice)
			if len(items) != len(hostile) {
				t.Fatalf("items: got %d, want %d", len(items), len(hostile))
			}
			for i, text := range hostile {
				item := items[len(items)-1-i]
				if item.Text != text || item.ID != fmt.Sprintf("%%_'\"\\%d", i) || item.Actors[0].Name != `Bobby "Tables"` {
					t.Errorf("item: got %.80q, want the text %.80q", fmt.Sprintf("%+v", item), text)
				}
			}
		}},
	}
}

func relayCases() []testCase {
	return []testCase{
		{"F1", "a relay goes on until nothing is due", func(t *trial) {
			for i := range 130 {
				t.must(t.Insert("", fmt.Sprintf("row-%03d", i), fmt.Sprintf(`{"to":["alice","bob"],"text":"%d"}`, i)))
			}
			r, err := t.Relay(t.ctx, t.options)
			t.must(err)
			if r.Moved < 1 || r.Moved > 1_200 || !r.More && r.Moved < 260 {
				t.Errorf("one batch of 130 rows: got %d items and More %v", r.Moved, r.More)
			}
			if rest := t.relay(); r.Moved+rest.Moved != 260 {
				t.Errorf("items: got %d and then %d, want 260 together", r.Moved, rest.Moved)
			}
			if items := t.items(alice); len(items) != 130 || items[0].Text != "129" || items[129].Text != "0" {
				t.Errorf("the feed: got %d items, want 130 in order", len(items))
			}
		}},
		{"F1", "rows of few recipients come first", func(t *trial) {
			users := append(manyUsers(600), "alice")
			t.send(feed.Message{To: users, Text: "to all"}, feed.Message{To: users, Text: "to all again"})
			t.insert("a-bulk", feed.Message{To: users[500:], Text: "to many, by another program"})
			t.send(note("to one"))
			r, err := t.Relay(t.ctx, t.options)
			t.must(err)
			if items := t.items(alice); len(items) == 0 || items[len(items)-1].Text != "to one" {
				t.Errorf("after one batch (%d items): got %.40q, want the message to one first", r.Moved, texts(items))
			}
			t.relay()
			if items := t.items(alice); len(items) != 4 {
				t.Errorf("items in the end: got %.40q, want 4", texts(items))
			}
		}},
		{"F2", "a batch is one revision of each feed", func(t *trial) {
			t.send(note("one"), note("two"), note("three"))
			r := t.relay()
			h := t.head(alice)
			if len(r.Changed) != 1 || r.Changed[0] != (feed.Hint{Name: alice, Rev: h.Rev}) {
				t.Errorf("hints: got %v, want one of revision %d", r.Changed, h.Rev)
			}
			if h.Rev != 1 || h.Pos != 3 {
				t.Errorf("head: got %+v, want revision 1 and place 3", h)
			}
		}},
		{"F2", "a relay that changes nothing in a feed gives it no revision", func(t *trial) {
			t.deliver(feed.Message{To: to("alice"), ID: "m", Text: "hello"})
			t.mute("alice", "type:noise", feed.MuteAll)
			r := t.deliver(feed.Message{To: to("alice"), ID: "m", Text: "again"}, feed.Message{To: to("alice"), From: "alice", Text: "own"},
				feed.Message{To: to("alice"), Type: "noise", Text: "muted"})
			if r.Moved != 0 || len(r.Changed) != 0 {
				t.Errorf("relay: got %d items and hints %v, want none", r.Moved, r.Changed)
			}
			if h := t.head(alice); h.Rev != 1 {
				t.Errorf("revision: got %d, want 1", h.Rev)
			}
		}},
		{"F2", "a feed begins with its first item", func(t *trial) {
			t.deliver(feed.Message{To: to("alice"), From: "alice", Text: "own"})
			t.mark(alice, feed.Mark{Seen: true})
			t.mark(alice, feed.Mark{As: feed.Read, UpTo: 5})
			if h := t.head(alice); h != (feed.Head{}) {
				t.Errorf("head of a feed without items: got %+v, want zero", h)
			}
			t.deliver(note("first"))
			if h := t.head(alice); h.Rev != 1 || h.Pos != 1 || h.Unseen != 1 || h.Born.IsZero() {
				t.Errorf("head after the first item: got %+v, want revision and place 1", h)
			}
		}},
	}
}
