package sqlstore_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/feed"
	"github.com/rollcall-go/rollcall/presence/sqlstore"
)

// Of 450 tenants with a message each, and 300 whose messages wait, every one gets its own (rules F1, T3).
func TestRelayOfManyTenants(t *testing.T) {
	eachKind(t, func(t *testing.T, k kind) {
		s, db := migrated(t, k)
		f := s.Feeds()
		var ms []feed.Message
		for i := range 450 {
			ms = append(ms, feed.Message{Tenant: fmt.Sprintf("t-%d", i), To: []presence.UserID{"alice"}, ID: "m", Text: "one"})
		}
		noError(t, f.Send(t.Context(), ms...))
		for i := range 300 {
			must(t, db, `INSERT INTO rollcall_outbox (id, message, tenant, due) VALUES ('later', '{"to":["alice"],"text":"later"}', $1, 99999999999999)`, fmt.Sprintf("t-%d-later", i))
		}
		for calls := 1; ; calls++ {
			done, err := f.Relay(t.Context(), relayOptions)
			if err != nil || calls > 6 {
				t.Fatalf("call %d: got %+v, %v, want at most 100 rows a call", calls, done, err)
			}
			if !done.More {
				break
			}
		}
		if got := one[int](t, db, "SELECT count(*) FROM rollcall_feeds WHERE feed = 'inbox:alice' AND unread = 1"); got != 450 {
			t.Errorf("got %d inboxes with a message, want 450", got)
		}
		if o, err := f.Waiting(t.Context()); err != nil || o.Waiting != 300 {
			t.Errorf("got %+v, %v, want 300 rows that wait", o, err)
		}
	})
}

// Where a batch fails its rows are tried one by one, each of its own tenant (rules F1, T3).
func TestRowsOfTenantsOneByOne(t *testing.T) {
	eachKind(t, func(t *testing.T, k kind) {
		s, db := migrated(t, k)
		must(t, db, map[sqlstore.Dialect]string{
			sqlstore.SQLite:   "CREATE TRIGGER poison BEFORE INSERT ON rollcall_items WHEN NEW.text = 'poison' BEGIN SELECT RAISE(ABORT, 'refused'); END",
			sqlstore.Postgres: "ALTER TABLE rollcall_items ADD CHECK (text <> 'poison')",
		}[k.dialect])
		for _, tenant := range []string{"acme", "globex", ""} {
			must(t, db, `INSERT INTO rollcall_outbox (id, message, tenant) VALUES ('one', '{"to":["alice"],"id":"m`+tenant+`","text":"of `+tenant+`"}', $1)`, tenant)
			must(t, db, `INSERT INTO rollcall_outbox (id, message, tenant) VALUES ('two', '{"to":["alice"],"text":"poison"}', $1)`, tenant)
		}
		f := s.Feeds()
		relayAll(t, f)
		for _, tenant := range []string{"acme", "globex", ""} {
			_, items, _, err := f.Page(t.Context(), feed.Inbox("alice").In(tenant), 0, 10)
			if err != nil || len(items) != 1 || items[0].Text != "of "+tenant {
				t.Errorf("tenant %q: got %+v, %v, want its own message", tenant, items, err)
			}
		}
		if got := one[int](t, db, "SELECT count(*) FROM rollcall_outbox WHERE id = 'two' AND tries >= 1"); got != 3 {
			t.Errorf("got %d rows that wait after a try, want 3", got)
		}
	})
}

// T3: what is said of a user of another tenant is refused, and a list has ids of inside.
func TestContactsOfTenants(t *testing.T) {
	eachKind(t, func(t *testing.T, k kind) {
		p, ctx := people(t, k), t.Context()
		alice := presence.UserID("alice").In("acme")
		for _, other := range []presence.UserID{"bob", "globex\x1dbob", "\x1dbob", "acme\x1d", "acme\x1dglobex\x1dbob", "ACME\x1dbob", alice} {
			for what, err := range map[string]error{"AddContact": p.AddContact(ctx, alice, other), "Block": p.Block(ctx, alice, other)} {
				if !errors.Is(err, presence.ErrInvalidUser) {
					t.Errorf("%s of %q: got %v, want ErrInvalidUser", what, other, err)
				}
			}
		}
		noError(t, errors.Join(p.AddContact(ctx, alice, "acme\x1dbob"), p.Block(ctx, alice, "acme\x1dcarol"), p.AddContact(ctx, "alice", "dave")))
		list, err := p.List(ctx, alice)
		if err != nil || len(list) != 2 || list[0].User != "acme\x1dbob" || list[1].User != "acme\x1dcarol" {
			t.Errorf("got %+v, %v, want bob and carol of acme", list, err)
		}
		noError(t, p.Forget(ctx, alice))
		if list, err := p.List(ctx, "alice"); err != nil || len(list) != 1 {
			t.Errorf("the other tenant's list: got %+v, %v, want dave", list, err)
		}
	})
}
