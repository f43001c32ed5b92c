package sqlstore_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/sqlstore"
)

// populated returns the people of a site of 100,000 users, of whom alice has 500 contacts
// and 20,000 others have 10 each.
func populated(b *testing.B, k kind) *sqlstore.People {
	s, db := migrated(b, k)
	p := s.People()
	series := func(n int) string {
		if k.dialect == sqlstore.SQLite {
			return fmt.Sprintf("(WITH RECURSIVE s(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM s WHERE i < %d) SELECT i FROM s)", n)
		}
		return fmt.Sprintf("(SELECT i FROM generate_series(1, %d) AS s(i))", n)
	}
	must(b, db, "INSERT INTO rollcall_people (user_id, seen, status, text) SELECT 'user-' || i, 1, 'busy', 'in a call' FROM "+series(100_000)+" AS s")
	must(b, db, "INSERT INTO rollcall_contacts (user_id, other, rank) SELECT 'user-' || (i / 10), 'user-' || i, i FROM "+series(200_000)+" AS s")
	must(b, db, "INSERT INTO rollcall_contacts (user_id, other, rank) SELECT 'alice', 'user-' || (i * 7), i FROM "+series(500)+" AS s")
	must(b, db, "ANALYZE")
	return p
}

// some returns n users that lie apart, others each time.
func some(n, round int) []presence.UserID {
	all := make([]presence.UserID, n)
	for i := range all {
		all[i] = presence.UserID(fmt.Sprint("user-", 1+(i*97+round*31)%100_000))
	}
	return all
}

func BenchmarkPeople(b *testing.B) {
	for _, k := range kinds() {
		if strings.Contains(k.name, " ") {
			continue // much as the others
		}
		p := populated(b, k)
		round := 0
		bench := func(name string, call func() error) {
			b.Run(k.name+"/"+name, func(b *testing.B) {
				for b.Loop() {
					round++
					noError(b, call())
				}
			})
		}
		bench("Saw=1000", func() error {
			for half := range slices.Chunk(some(1_000, round), 500) {
				at := make(map[presence.UserID]time.Time, len(half))
				for _, user := range half {
					at[user] = time.Now()
				}
				if err := p.Saw(b.Context(), at); err != nil {
					return err
				}
			}
			return nil
		})
		bench("Settings=500", func() error { _, err := p.Settings(b.Context(), some(500, round)...); return err })
		bench("LastSeen=1000", func() error { _, err := p.LastSeen(b.Context(), some(1_000, round)...); return err })
		bench("Relations=1000", func() error {
			pairs := make([]presence.Pair, 0, 1_000)
			for i, user := range some(1_000, round) {
				pairs = append(pairs, presence.Pair{User: user, Viewer: presence.UserID(fmt.Sprint("user-", i))})
			}
			_, err := p.Relations(b.Context(), pairs...)
			return err
		})
		bench("Contacts=500", func() error { _, err := p.Contacts(b.Context(), "alice", 500); return err })
		bench("SetSettings", func() error {
			return choose(b.Context(), p, some(1, round)[0], presence.Settings{Status: presence.Busy})
		})
		bench("AddContact", func() error {
			return p.AddContact(b.Context(), "alice", presence.UserID(fmt.Sprint("new-", round%4_000)))
		})
	}
}
