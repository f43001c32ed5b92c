package sqlstore_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/rollcall-go/rollcall/presence/feed"
	"github.com/rollcall-go/rollcall/presence/sqlstore"
)

// TestHostileRows: whatever another program inserts holds up no other message, and is moved
// once or waits longer each time (rules F1, F4).
func TestHostileRows(t *testing.T) {
	eachKind(t, func(t *testing.T, k kind) {
		s, db := migrated(t, k)
		f := s.Feeds()
		good := `{"to":["alice"],"text":"hello"}`
		insert := func(id, message any) {
			t.Helper()
			statement := "INSERT INTO rollcall_outbox (id, message) VALUES ($1, $2)"
			if _, err := db.ExecContext(t.Context(), statement, id, message); err != nil {
				if _, blob := id.([]byte); !blob {
					t.Fatalf("the row %.60q: %v", id, err)
				}
			} else if _, blob := id.([]byte); blob {
				t.Errorf("the database took the blob %q for an id", id)
			}
		}
		insert("deep", `{"to":["alice"],"text":"deep","data":`+strings.Repeat("[", 1000)+strings.Repeat("]", 1000)+`}`)
		insert("deeper", strings.Repeat("[", 100_000))
		insert("huge", `{"to":["alice"],"text":"`+strings.Repeat("x", 1<<20)+`"}`)
		insert("long", good+strings.Repeat(" ", 2<<20))
		insert("nul", `{"to":["alice"],"text":"a\u0000b"}`)
		insert("nul name", `{"to":["alice"],"text":"ab","from":"bob","name":"a\u0000"}`)
		insert("surrogate", `{"to":["alice"],"text":"a\ud800b","data":"\ud800"}`)
		insert("version", `{"to":["alice"],"text":"version","v":9223372036854775807}`)
		insert("version 2", `{"to":["alice"],"text":"version","v":4294967296}`)
		insert("types", `{"to":"alice","text":1}`)
		var many []string
		for i := range 1001 {
			many = append(many, fmt.Sprintf("u%d", i))
		}
		to, _ := json.Marshal(many)
		insert("many", `{"to":`+string(to)+`,"text":"many"}`)
		insert(strings.Repeat("i", 2000), good)
		insert("line\nend", good)
		insert("", good)
		if k.dialect == sqlstore.SQLite {
			insert("nul\x00id", good)
			insert("bad\xffid", good)
			insert([]byte("blob"), good)
			insert([]byte{0xff, 0}, good)
			insert("bad text", "{\"to\":[\"alice\"],\"text\":\"\xff\",\"data\":\"\xff\"}")
			insert("blob message", []byte(good))
			insert(3.5, good)
		}
		must(t, db, `INSERT INTO rollcall_outbox (id, message, tenant) VALUES ('tenant', $1, 'Acme Inc.')`, good) // which is no tenant
		insert("good", good)
		for range 12 {
			for range 5 {
				done, err := f.Relay(t.Context(), relayOptions)
				noError(t, err)
				if !done.More {
					break
				}
			}
			must(t, db, "UPDATE rollcall_outbox SET due = due - 3600000 WHERE due > 0")
		}
		rows, err := db.QueryContext(t.Context(), "SELECT id, tries, error, due FROM rollcall_outbox")
		noError(t, err)
		defer rows.Close()
		for rows.Next() {
			var id any
			var tries int
			var why *string
			var due *int64
			noError(t, rows.Scan(&id, &tries, &why, &due))
			if due != nil || why == nil {
				t.Errorf("the row %.30q still waits, after %d tries", id, tries)
			}
		}
		if n := one[int](t, db, "SELECT count(*) FROM rollcall_items WHERE id = 'good'"); n != 1 {
			t.Errorf("got %d good items, want 1", n)
		}
		if why := one[string](t, db, "SELECT error FROM rollcall_outbox WHERE id = 'long'"); !strings.Contains(why, "larger than 1048576 bytes") {
			t.Errorf("a row of 2 MiB: got the error %q", why)
		}
		_, items, _, err := f.Page(t.Context(), "inbox:alice", 0, 100)
		noError(t, err)
		for _, i := range items {
			m := feed.Message{ID: i.ID, Feed: "thread:1", Text: "."}
			if err := m.Validate(); err != nil {
				t.Errorf("the item %.40q: %v", i.ID, err)
			}
		}
	})
}
