package sqlstore_test

import (
	"strings"
	"testing"

	"github.com/rollcall-go/rollcall/internal/sqlcount"
	"github.com/rollcall-go/rollcall/presence/sqlstore"
)

// TestExportOfManyActs: the export of a user who acted in thousands of inboxes asks for them by the thousand, and an
// erasure reaches each of them.
func TestExportOfManyActs(t *testing.T) {
	for _, k := range kinds()[1:3] {
		t.Run(k.name, func(t *testing.T) {
			t.Parallel()
			db, count := sqlcount.Open(t, k.driver, k.dsn(t))
			s := newStore(t, db, sqlstore.Config{Dialect: k.dialect})
			noError(t, s.Migrate(t.Context()))
			const inboxes = 1250
			const series = `(WITH RECURSIVE s (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM s WHERE i < 1250) SELECT i FROM s) AS s`
			must(t, db, `INSERT INTO rollcall_feeds (feed, born, rev, pos, items) SELECT 'inbox:user-' || i, 1, 2, 2, 2 FROM `+series)
			for _, pos := range []string{"1", "2"} {
				must(t, db, `INSERT INTO rollcall_items (feed, pos, rev, id, type, at, actors, text) SELECT 'inbox:user-' || i, `+pos+`, `+pos+`, `+pos+`, 'reply', 1, '[["bob","Bob"]]', '' FROM `+series)
			}
			must(t, db, `INSERT INTO rollcall_items (feed, pos, rev, id, type, at, actors, text) VALUES ('inbox:zoe', 1, 1, 'a', 'reply', 1, '[["bobby","Bob"]]', '')`)
			count.Take()
			kept, err := s.Feeds().ExportUser(t.Context(), "bob")
			noError(t, err)
			if queries := count.Take(); len(queries) > 10 {
				t.Errorf("got %d queries, want 10 at most, such as %s", len(queries), queries[len(queries)-1])
			}
			each := make(map[string]int)
			for _, act := range kept.Acts {
				each[string(act.Feed)]++
			}
			if len(kept.Acts) != 2*inboxes || len(each) != inboxes || each["inbox:user-1"] != 2 || each["inbox:zoe"] != 0 {
				t.Errorf("got %d acts in %d inboxes, want %d in %d", len(kept.Acts), len(each), 2*inboxes, inboxes)
			}
			hints, err := s.Feeds().EraseUser(t.Context(), "bob")
			noError(t, err)
			if left := one[string](t, db, `SELECT coalesce(max(actors), '') FROM rollcall_items WHERE feed <> 'inbox:zoe'`); strings.Contains(left, "bob") || len(hints) != inboxes {
				t.Errorf("after an erasure: got actors %s and %d hints, want nobody and one of each inbox", left, len(hints))
			}
		})
	}
}
