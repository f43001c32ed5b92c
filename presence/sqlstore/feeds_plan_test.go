package sqlstore_test

import (
	"strings"
	"testing"

	"github.com/rollcall-go/rollcall/presence/sqlstore"
)

// searches are the statements that run often, with arguments, and what the plan of each must
// name: an index, or the primary key.
var searches = []struct {
	statement string
	args      []any
	index     string
}{
	{"feed_head", []any{"", "inbox:a"}, "feeds"},
	{"feed_heads", []any{"[]"}, "feeds"},
	{"feed_lock", []any{"", "[]"}, "feeds"},
	{"feed_page", []any{"", "inbox:a", 5, 21}, "items"},
	{"feed_changes", []any{"[]", 200}, "rollcall_items_rev"},
	{"feed_counted", []any{"", "inbox:a", 1, 1, nil}, "rollcall_items_unread"},
	{"feed_read_about", []any{"", "inbox:a", 1, 1, 1, "thread:1", 1}, "rollcall_items_unread"},
	{"outbox_tenants", []any{"", 200}, "rollcall_outbox_due"},
	{"outbox_next", nil, "rollcall_outbox_due"},
	{"outbox_due", []any{"", 1, 100}, "rollcall_outbox_due"},
	{"outbox_done", []any{"", "[]"}, "outbox"},
	{"relay_mutes", []any{"", "[]", "[]", 1}, "mutes"},
	{"relay_groups", []any{"", "[]"}, "rollcall_items_unread"},
	{"relay_moved", []any{"", "[]"}, "items"},
	{"relay_forget", []any{"", "[]"}, "ids"},
	{"digest_first", []any{}, "rollcall_feeds_mail"},
	{"digest_due", []any{1, 10}, "rollcall_feeds_mail"},
	{"digest_claim", []any{"[]"}, "feeds"},
	{"trim_heads", []any{"", "[]"}, "feeds"},
	{"trim_due", []any{1, 5, "acme", "inbox:a", 50}, "feeds"},
	{"people", []any{"[]"}, "people"},
	{"relations", []any{"[]"}, "contacts"},
	{"recount", []any{"", "", 10}, "rollcall_items_unread"},
}

// No statement that runs often reads a whole table, also where nobody has run ANALYZE.
func TestStatementsSearch(t *testing.T) {
	eachKind(t, func(t *testing.T, k kind) {
		s, db := migrated(t, k)
		explain := "EXPLAIN QUERY PLAN "
		if k.dialect == sqlstore.Postgres {
			explain = "EXPLAIN "
			db.SetMaxOpenConns(1)
			must(t, db, "SET enable_seqscan = off") // as the relay has it
			must(t, db, "SET enable_bitmapscan = off")
			must(t, db, "INSERT INTO rollcall_feeds (feed, born, mail_at) SELECT 'inbox:' || i, 1, CASE WHEN i % 50 = 0 THEN i END FROM generate_series(1, 1000) AS i")
			must(t, db, "INSERT INTO rollcall_items (feed, pos, rev, id, type, at, about, grp, text, state) SELECT 'inbox:' || i % 20, i, i, i, 'reply', 1, 'thread:' || i, 'g', 'text', i % 3 FROM generate_series(1, 6000) AS i")
			must(t, db, "INSERT INTO rollcall_outbox (id, message) SELECT i, '{}' FROM generate_series(1, 2000) AS i")
			must(t, db, "INSERT INTO rollcall_ids (feed, id, at) SELECT 'inbox:' || i, i, 1 FROM generate_series(1, 5000) AS i")
			must(t, db, "INSERT INTO rollcall_mutes (user_id, scope, how) SELECT i, '*', 1 FROM generate_series(1, 2000) AS i")
			must(t, db, "ANALYZE")
		}
		for _, q := range searches {
			rows, err := db.QueryContext(t.Context(), explain+s.Text(q.statement), q.args...)
			if err != nil {
				t.Errorf("%s: %v", q.statement, err)
				continue
			}
			var plan []string
			for rows.Next() {
				var line string
				into := []any{&line}
				if k.dialect == sqlstore.SQLite {
					into = []any{new(any), new(any), new(any), &line}
				}
				noError(t, rows.Scan(into...))
				plan = append(plan, line)
			}
			noError(t, rows.Close())
			text := strings.Join(plan, "\n")
			if strings.Contains(text, "SCAN rollcall_") || strings.Contains(text, "Seq Scan on rollcall_") || !uses(k, text, q.index) {
				t.Errorf("%s does not search by %s:\n%s", q.statement, q.index, text)
			}
		}
	})
}

// uses reports whether a plan searches by an index, or by the primary key of a table.
func uses(k kind, plan, index string) bool {
	switch {
	case strings.HasPrefix(index, "rollcall_"):
		return strings.Contains(plan, index)
	case k.dialect == sqlstore.Postgres:
		return strings.Contains(plan, "rollcall_"+index+"_pkey")
	}
	return strings.Contains(plan, "USING PRIMARY KEY (tenant=?") || strings.Contains(plan, "USING PRIMARY KEY ((tenant,feed)>(?,?)") || strings.Contains(plan, "sqlite_autoindex_rollcall_"+index)
}
