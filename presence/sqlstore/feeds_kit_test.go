package sqlstore_test

import (
	"database/sql"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/rollcall-go/rollcall/presence/feed"
	"github.com/rollcall-go/rollcall/presence/feed/feedtest"
	"github.com/rollcall-go/rollcall/presence/sqlstore"
)

// feedSite is a database's feeds, as the kit takes them.
func feedSite(t testing.TB, k kind, db *sql.DB) feedtest.Site {
	f := newStore(t, db, sqlstore.Config{Dialect: k.dialect}).Feeds()
	exec := func(statement string, args ...any) error {
		if k.dialect == sqlstore.SQLite {
			statement = strings.ReplaceAll(statement, "$", "?")
		}
		_, err := db.ExecContext(t.Context(), statement, args...)
		return err
	}
	return feedtest.Site{
		Store: f,
		Insert: func(tenant, id, message string) error {
			if tenant == "" {
				return exec("INSERT INTO rollcall_outbox (id, message) VALUES ($1, $2)", id, message)
			}
			return exec("INSERT INTO rollcall_outbox (id, message, tenant) VALUES ($1, $2, $3)", id, message, tenant)
		},
		Advance: func(d time.Duration) (err error) {
			for _, column := range []string{"items.at", "items.seen_at", "items.read_at", "ids.at", "outbox.at", "outbox.due", "feeds.mail_at", "feeds.trim_at", "mutes.until"} {
				table, name, _ := strings.Cut(column, ".")
				err = errors.Join(err, exec("UPDATE rollcall_"+table+" SET "+name+" = "+name+" - $1 WHERE "+name+" > 0", d.Milliseconds()))
			}
			return err
		},
		Rollback: func(ms ...feed.Message) error {
			tx, err := db.BeginTx(t.Context(), nil)
			if err != nil {
				return err
			}
			return errors.Join(f.SendTx(t.Context(), tx, ms...), tx.Rollback())
		},
		Miscount: func(n feed.Name, unread, unseen int) error {
			return exec("UPDATE rollcall_feeds SET unread = $1, unseen = $2 WHERE tenant = $3 AND feed = $4", unread, unseen, n.Tenant(), string(n.Local()))
		},
		Peer: func() feed.Store { return newStore(t, db, sqlstore.Config{Dialect: k.dialect}).Feeds() },
	}
}

func feedHarness(t *testing.T, k kind) feedtest.Harness {
	_, db := migrated(t, k)
	return feedtest.Harness{New: func(t testing.TB) feedtest.Site {
		for _, table := range []string{"feeds", "items", "ids", "outbox", "mutes"} { // quicker than another database
			must(t, db, "DELETE FROM rollcall_"+table)
		}
		return feedSite(t, k, db)
	}}
}

func TestFeeds(t *testing.T) {
	for _, k := range append(kinds()[1:], pooled("exec")) { // in memory is as in a file: see TestFeedsModel
		t.Run(strings.ReplaceAll(k.name, " ", "_"), func(t *testing.T) {
			t.Parallel()
			feedtest.Run(t, feedHarness(t, k))
		})
	}
}

// Random moves lead where the kit's store in memory is, also while calls fail.
func TestFeedsModel(t *testing.T) {
	all := kinds()
	for _, game := range []struct {
		kind kind
		play func(*testing.T, feedtest.Harness)
	}{
		{all[0], feedtest.Model},
		{all[1], feedtest.Faults},
		{all[2], feedtest.Faults},
		{pooled("simple_protocol"), feedtest.Model},
	} {
		t.Run(strings.ReplaceAll(game.kind.name, " ", "_"), func(t *testing.T) {
			t.Parallel()
			game.play(t, feedHarness(t, game.kind))
		})
	}
}
