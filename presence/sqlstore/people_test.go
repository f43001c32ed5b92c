package sqlstore_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/sqlstore"
)

// invalid are ids that no user has.
var invalid = []presence.UserID{"", "a\x00b", "a\nb", "\xff", presence.UserID(strings.Repeat("x", presence.MaxUserIDLen+1))}

// One id that no user can have fails nobody else's answer.
func TestInvalidIDsAreUnknown(t *testing.T) {
	eachKind(t, func(t *testing.T, k kind) {
		p, ctx := people(t, k), t.Context()
		at := map[presence.UserID]time.Time{"alice": time.Now().Add(-time.Hour)}
		for _, id := range invalid {
			at[id] = time.Now()
		}
		noError(t, p.Saw(ctx, at))
		noError(t, p.AddContact(ctx, "alice", "bob"))
		seen, err := p.LastSeen(ctx, append(slices.Clone(invalid), "alice")...)
		noError(t, err)
		for i := range invalid {
			if seen[i] != (presence.Seen{}) {
				t.Errorf("%q: got %+v, want nothing", invalid[i], seen[i])
			}
		}
		if seen[len(invalid)].At.IsZero() {
			t.Error("alice, beside invalid ids: got no last seen")
		}
		var pairs []presence.Pair
		for _, id := range invalid {
			pairs = append(pairs, presence.Pair{User: id, Viewer: "bob"}, presence.Pair{User: "alice", Viewer: id})
		}
		relations, err := p.Relations(ctx, append(pairs, presence.Pair{User: "alice", Viewer: "bob"})...)
		if err != nil || relations[len(pairs)] != presence.Contact || slices.Max(relations[:len(pairs)]) != presence.Stranger {
			t.Errorf("relations: got %v and %v, want strangers and a contact", relations, err)
		}
		for _, id := range invalid {
			for name, err := range map[string]error{
				"SetSettings":              choose(ctx, p, id, presence.Settings{}),
				"AddContact":               p.AddContact(ctx, id, "bob"),
				"Block of it":              p.Block(ctx, "alice", id),
				"AddContact of one's self": p.AddContact(ctx, "alice", "alice"),
			} {
				if !errors.Is(err, presence.ErrInvalidUser) {
					t.Errorf("%s, %q: got %v, want %v", name, id, err, presence.ErrInvalidUser)
				}
			}
			if got, err := p.Contacts(ctx, id, 10); len(got) != 0 || err != nil {
				t.Errorf("contacts of %q: got %v and %v, want nothing", id, got, err)
			}
		}
	})
}

func TestMoreThanOneCallMayAsk(t *testing.T) {
	eachKind(t, func(t *testing.T, k kind) {
		p, ctx := people(t, k), t.Context()
		users := func(n int) []presence.UserID {
			all := make([]presence.UserID, n)
			for i := range all {
				all[i] = presence.UserID(fmt.Sprint("user-", i))
			}
			return all
		}
		at := make(map[presence.UserID]time.Time)
		for _, user := range users(501) {
			at[user] = time.Now()
		}
		_, settings := p.Settings(ctx, users(501)...)
		_, lastSeen := p.LastSeen(ctx, users(1_001)...)
		_, relations := p.Relations(ctx, make([]presence.Pair, 1_001)...)
		for name, err := range map[string]error{"Settings": settings, "LastSeen": lastSeen, "Relations": relations, "Saw": p.Saw(ctx, at)} {
			if !errors.Is(err, presence.ErrTooManyPeople) {
				t.Errorf("%s: got %v, want %v", name, err, presence.ErrTooManyPeople)
			}
		}
	})
}

func TestNobodyWasSeenInTheFuture(t *testing.T) {
	eachKind(t, func(t *testing.T, k kind) {
		p, ctx := people(t, k), t.Context()
		noError(t, p.Saw(ctx, map[presence.UserID]time.Time{"alice": time.Now().Add(time.Hour)}))
		got, err := p.LastSeen(ctx, "alice")
		if err != nil || time.Until(got[0].At) > time.Second || got[0].At.IsZero() {
			t.Errorf("got %v and %v, want now", got, err)
		}
	})
}

func TestList(t *testing.T) {
	eachKind(t, func(t *testing.T, k kind) {
		p, ctx := people(t, k), t.Context()
		for _, err := range []error{
			p.AddContact(ctx, "alice", "zoe"), p.Block(ctx, "alice", "mallory"), p.AddContact(ctx, "alice", "bob"),
			p.Block(ctx, "bob", "alice"),
		} {
			noError(t, err)
		}
		got, err := p.List(ctx, "alice")
		want := []sqlstore.Entry{{User: "zoe", Relation: presence.Contact}, {User: "bob", Relation: presence.Contact}, {User: "mallory", Relation: presence.Blocked}}
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("got %+v and %v, want %+v", got, err, want)
		}
		if err := p.AddContact(ctx, "alice", "mallory"); !errors.Is(err, presence.ErrBlocked) {
			t.Errorf("a contact who is blocked: got %v, want %v", err, presence.ErrBlocked)
		}
	})
}

func TestEntriesAreBounded(t *testing.T) {
	eachKind(t, func(t *testing.T, k kind) {
		s, db := migrated(t, k)
		p, ctx := s.People(), t.Context()
		fill(t, k, db, "alice", sqlstore.MaxEntries-1)
		noError(t, p.AddContact(ctx, "alice", "one"))
		for name, add := range map[string]error{"AddContact": p.AddContact(ctx, "alice", "two"), "Block": p.Block(ctx, "alice", "two")} {
			if !errors.Is(add, presence.ErrTooManyContacts) {
				t.Errorf("%s: got %v, want %v", name, add, presence.ErrTooManyContacts)
			}
		}
		if err := p.Block(ctx, "alice", "one"); err != nil { // who is an entry already
			t.Error(err)
		}
		if err := errors.Join(p.Unblock(ctx, "alice", "one"), p.AddContact(ctx, "alice", "two")); err != nil {
			t.Error(err)
		}
	})
}

// fill gives a user n contacts at once.
func fill(t testing.TB, k kind, db querier, user presence.UserID, n int) {
	t.Helper()
	series := "SELECT value AS i FROM generate_series(1, %d) AS s(value)"
	if k.dialect == sqlstore.SQLite {
		series = "WITH RECURSIVE s(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM s WHERE i < %d) SELECT i FROM s"
	}
	statement := fmt.Sprintf("INSERT INTO rollcall_contacts (user_id, other, kind, rank) SELECT '%s', 'other-' || i, 1, i FROM ("+series+") AS all_of", user, n)
	if _, err := db.ExecContext(t.Context(), statement); err != nil {
		t.Fatal(err)
	}
}

// Of two pages that block and unblock at once, neither leaves Except wrong: a user who
// blocks somebody would be shown to everybody.
func TestExceptUnderRaces(t *testing.T) {
	eachKind(t, func(t *testing.T, k kind) {
		p, ctx := people(t, k), t.Context()
		for range 15 {
			noError(t, p.Block(ctx, "alice", "bob"))
			var wg sync.WaitGroup
			for _, change := range []func() error{
				func() error { return p.Unblock(ctx, "alice", "bob") },
				func() error { return p.Block(ctx, "alice", "carol") },
				func() error { return p.AddContact(ctx, "alice", "dave") },
				func() error { return p.Saw(ctx, map[presence.UserID]time.Time{"alice": time.Now(), "bob": time.Now()}) },
				func() error { return choose(ctx, p, "alice", presence.Settings{Text: "hello"}) },
			} {
				wg.Go(func() {
					if err := change(); err != nil {
						t.Error(err)
					}
				})
			}
			wg.Wait()
			got, err := p.Settings(ctx, "alice")
			if err != nil || !got[0].Except || got[0].Text != "hello" {
				t.Fatalf("got %+v and %v, want Except, since carol is blocked", got, err)
			}
			noError(t, p.Unblock(ctx, "alice", "carol"))
		}
	})
}

func TestForget(t *testing.T) {
	eachKind(t, func(t *testing.T, k kind) {
		s, db := migrated(t, k)
		p, ctx := s.People(), t.Context()
		for _, err := range []error{
			choose(ctx, p, "alice", presence.Settings{Text: "hello"}),
			p.AddContact(ctx, "alice", "bob"), p.Block(ctx, "carol", "alice"), p.AddContact(ctx, "carol", "bob"),
			p.AddContact(ctx, "other\x1dalice", "other\x1dbob"),
			p.Forget(ctx, "alice"), p.Forget(ctx, "nobody"), p.Forget(ctx, "\x00"),
		} {
			noError(t, err)
		}
		if got := one[int](t, db, "SELECT count(*) FROM rollcall_people WHERE tenant = '' AND user_id = 'alice'"); got != 0 {
			t.Errorf("got %d rows of people, want none", got)
		}
		if got := one[int](t, db, "SELECT count(*) FROM rollcall_contacts WHERE tenant = '' AND 'alice' IN (user_id, other)"); got != 0 {
			t.Errorf("got %d rows of contacts, want none", got)
		}
		if got := one[int](t, db, "SELECT count(*) FROM rollcall_contacts"); got != 2 {
			t.Errorf("got %d rows of contacts of others, want 2", got)
		}
	})
}

// A call ends with its context, also where the row it wants is locked by somebody else.
func TestCallsEndWithTheirContext(t *testing.T) {
	for _, k := range kinds() {
		if k.dialect != sqlstore.Postgres {
			continue
		}
		t.Run(strings.ReplaceAll(k.name, " ", "_"), func(t *testing.T) {
			t.Parallel()
			s, db := migrated(t, k)
			p := s.People()
			noError(t, p.Saw(t.Context(), map[presence.UserID]time.Time{"alice": time.Now()}))
			tx, err := db.BeginTx(t.Context(), nil)
			noError(t, err)
			if _, err := tx.ExecContext(t.Context(), "LOCK TABLE rollcall_people"); err != nil {
				t.Fatal(err)
			}
			refuses(t, p)
			noError(t, tx.Rollback())
			if err := p.AddContact(t.Context(), "alice", "bob"); err != nil {
				t.Errorf("after the lock: %v", err)
			}
		})
	}
}

// While another process writes to SQLite's file, reads go on and writes wait.
func TestSQLiteReadsWhileAnotherWrites(t *testing.T) {
	k := kinds()[1]
	s, db := migrated(t, k)
	p, ctx := s.People(), t.Context()
	conn, err := db.Conn(ctx)
	noError(t, err)
	defer conn.Close()
	if _, err := conn.ExecContext(ctx, "BEGIN IMMEDIATE"); err != nil {
		t.Fatal(err)
	}
	if _, err := p.LastSeen(ctx, "alice"); err != nil {
		t.Errorf("a read: %v", err)
	}
	written := make(chan error, 1)
	go func() { written <- p.AddContact(ctx, "alice", "bob") }()
	select {
	case err := <-written:
		t.Errorf("a write: got %v before the other had ended", err)
	case <-time.After(100 * time.Millisecond):
	}
	if _, err := conn.ExecContext(ctx, "ROLLBACK"); err != nil {
		t.Fatal(err)
	}
	if err := <-written; err != nil {
		t.Errorf("a write: %v", err)
	}
}

// refuses checks that every call that writes or reads people ends soon, with an error.
func refuses(t *testing.T, p *sqlstore.People) {
	t.Helper()
	for name, call := range calls(p) {
		ctx, cancel := newTimeout(t, 300*time.Millisecond)
		began := time.Now()
		err := call(ctx)
		cancel()
		if took := time.Since(began); err == nil || took > 20*time.Second {
			t.Errorf("%s: got %v after %v, want an error at once", name, err, took)
		}
	}
}
