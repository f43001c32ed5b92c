package sqlstore_test

import (
	"context"
	"database/sql"
	"testing"
	"time"

	"github.com/rollcall-go/rollcall/internal/pgtest"
	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/sqlstore"
)

type querier interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
}

func newTimeout(t *testing.T, d time.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeout(t.Context(), d)
}

// calls are the methods that need the table of people, each by its name.
func calls(p *sqlstore.People) map[string]func(context.Context) error {
	return map[string]func(context.Context) error{
		"Settings":    func(ctx context.Context) error { _, err := p.Settings(ctx, "alice"); return err },
		"LastSeen":    func(ctx context.Context) error { _, err := p.LastSeen(ctx, "alice"); return err },
		"SetSettings": func(ctx context.Context) error { return choose(ctx, p, "alice", presence.Settings{}) },
		"AddContact":  func(ctx context.Context) error { return p.AddContact(ctx, "alice", "bob") },
		"Saw": func(ctx context.Context) error {
			return p.Saw(ctx, map[presence.UserID]time.Time{"alice": time.Now()})
		},
	}
}

// While PostgreSQL is out every call is an error, and as soon as it is back every call
// works, with what was kept before.
func TestOutage(t *testing.T) {
	server := pgtest.Start(t)
	k := kinds()[2]
	db := open(t, k, server.Database(t))
	s := newStore(t, db, sqlstore.Config{Dialect: k.dialect})
	noError(t, s.Migrate(t.Context()))
	p := s.People()
	want := presence.Settings{Text: "before"}
	noError(t, choose(t.Context(), p, "alice", want))
	for name, end := range map[string]func(){"Stop": server.Stop, "Kill": server.Kill} {
		end()
		refuses(t, p)
		server.Run(t)
		got, err := p.Settings(t.Context(), "alice")
		if err != nil || got[0].Text != want.Text {
			t.Errorf("after %s and Run: got %+v and %v, want %+v", name, got, err, want)
		}
	}
}
