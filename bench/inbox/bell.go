package main

import (
	"context"
	"database/sql"
	"fmt"
	"math/rand/v2"
	"time"
)

// bell measures counts, lists and marks of each schema, in a small and in a large database.
func bell(ctx context.Context, r *run, e *engine) error {
	head := make(map[[2]int]durations) // ours, by rows and user
	for _, open := range []func(*engine, *sql.DB) (inbox, error){newOurs, newLaravel, newFlarum} {
		few, drop, err := r.filled(ctx, e, open, r.Few)
		if err != nil {
			return err
		}
		defer drop()
		many, drop, err := r.filled(ctx, e, open, r.Rows)
		if err != nil {
			return err
		}
		err = r.compare(ctx, e, few, many, head)
		drop() // or the next has no room
		if err != nil {
			return fmt.Errorf("%s: %w", many.name(), err)
		}
	}
	at := func(rows, user int) time.Duration { return head[[2]int{rows, user}].median() }
	most := time.Duration(0)
	least := time.Hour
	for key := range head {
		most, least = max(most, at(key[0], key[1])), min(least, at(key[0], key[1]))
	}
	r.within("bell by one row: 10 unread", e, at(r.Rows, light), either(e, 60*time.Microsecond, 400*time.Microsecond))
	r.within("the same: 1,000 unread", e, at(r.Rows, heavy), either(e, 60*time.Microsecond, 400*time.Microsecond))
	r.add(fmt.Sprintf("slowest of 10 and 1,000 unread, %d and %d rows, over the fastest", r.Few, r.Rows), e, "≤ 1.20",
		fmt.Sprintf("%.2f", float64(most)/float64(least)), float64(most) <= 1.2*float64(least))
	return nil
}

func either(e *engine, sqlite, postgres time.Duration) time.Duration {
	if e.name == "SQLite" {
		return sqlite
	}
	return postgres
}

// filled makes a database with one schema.
func (r *run) filled(ctx context.Context, e *engine, open func(*engine, *sql.DB) (inbox, error), rows int) (in inbox, drop func(), err error) {
	r.databases++
	name := fmt.Sprint("inbox", r.databases)
	db, err := e.create(ctx, name)
	if err != nil {
		return nil, nil, err
	}
	drop = func() { db.Close(); _ = e.drop(context.WithoutCancel(ctx), name) }
	began := time.Now()
	if in, err = open(e, db); err == nil {
		err = in.fill(ctx, newCrowd(rows))
	}
	if err != nil {
		drop()
		return nil, nil, err
	}
	fmt.Fprintf(r.log, "%s, %s: %d rows in %v, %s\n", e.name, in.name(), rows, time.Since(began).Round(time.Millisecond), size(ctx, e, db))
	return in, drop, nil
}

// size returns what a database takes.
func size(ctx context.Context, e *engine, db *sql.DB) string {
	var bytes int64
	err := db.QueryRowContext(ctx, e.pick("SELECT page_count * page_size FROM pragma_page_count, pragma_page_size", "SELECT pg_database_size(current_database())")).Scan(&bytes)
	if err != nil {
		return err.Error()
	}
	return fmt.Sprintf("%d MB", bytes>>20)
}

// compare adds a row of the table: one schema, in the small and the large database.
func (r *run) compare(ctx context.Context, e *engine, few, many inbox, head map[[2]int]durations) error {
	t := r.table(fmt.Sprintf("Counts, lists and marks, %s, %d rows", e.name, r.Rows))
	cases := []struct {
		in         inbox
		rows, user int
		want       int
		took       durations
	}{{few, r.Few, light, 10, nil}, {few, r.Few, heavy, extra, nil}, {many, r.Rows, light, 10, nil}, {many, r.Rows, heavy, extra, nil}}
	for range r.Rounds * r.Calls { // by turns and in any order: a call is faster after one of the same database
		for _, i := range rand.Perm(len(cases)) {
			c := &cases[i]
			if err := c.took.timed(1, func(int) error {
				n, err := c.in.count(ctx, c.user)
				if err == nil && n != c.want {
					err = fmt.Errorf("got %d unread of %d rows, want %d", n, c.rows, c.want)
				}
				return err
			}); err != nil {
				return err
			}
		}
	}
	for _, c := range cases {
		if _, ours := c.in.(*ours); ours {
			head[[2]int{c.rows, c.user}] = c.took
		}
		t.set(fmt.Sprintf("count: %d unread, %d rows", c.want, c.rows), c.in.name(), short(c.took.median()))
	}
	users := newCrowd(r.Rows).users
	var any durations
	if err := any.timed(r.Rounds*r.Calls, func(i int) error {
		_, err := many.count(ctx, 10+i*7919%users)
		return err
	}); err != nil {
		return err
	}
	t.set(fmt.Sprintf("count: another user each time, %d rows", r.Rows), many.name(), short(any.median()))
	return r.marks(ctx, e, t, many)
}

// marks measures lists and marks, most of them of the user with 1,000 unread.
func (r *run) marks(ctx context.Context, e *engine, t *table, in inbox) error {
	var took marked
	for range r.Rounds {
		if err := took.round(ctx, in, r.Calls); err != nil {
			return err
		}
	}
	ids, _, err := in.some(ctx, light, 10)
	if err == nil {
		err = took.few.timed(len(ids), func(i int) error { return in.mark(ctx, light, ids[i]) })
	}
	if err != nil {
		return err
	}
	t.set("list of 20", in.name(), short(took.lists.median()))
	t.set("mark one of 10 unread", in.name(), short(took.few.median()))
	t.set("mark one of 1,000 unread", in.name(), short(took.ones.median()))
	t.set("mark what is about a thread", in.name(), short(took.threads.median()))
	t.set("mark 1,000", in.name(), short(took.all.median()))
	o, ok := in.(*ours)
	if !ok {
		return nil
	}
	r.within("mark 1,000 as read", e, took.all.median(), 15*time.Millisecond)
	return r.catchUp(ctx, e, o)
}

// marked is what lists and marks took.
type marked struct{ lists, few, ones, threads, all durations }

// round reads lists and makes marks, and leaves all as it was.
func (m *marked) round(ctx context.Context, in inbox, calls int) error {
	if err := m.lists.timed(calls, func(int) error {
		n, err := in.list(ctx, heavy)
		if err == nil && n != 20 {
			err = fmt.Errorf("a list has %d, not 20", n)
		}
		return err
	}); err != nil {
		return err
	}
	calls = min(calls, 100)
	ids, _, err := in.some(ctx, heavy, calls)
	if err == nil {
		err = m.ones.timed(len(ids), func(i int) error { return in.mark(ctx, heavy, ids[i]) })
	}
	for range calls {
		var thread int
		if err == nil {
			_, thread, err = in.some(ctx, heavy, 1)
		}
		if err == nil {
			err = m.threads.timed(1, func(int) error { return in.thread(ctx, heavy, thread) })
		}
	}
	if err == nil {
		err = expect(ctx, in, extra-2*calls)
	}
	for range min(calls, 5) {
		if err == nil {
			err = in.reset(ctx, heavy)
		}
		if err == nil {
			err = expect(ctx, in, extra)
		}
		if err == nil {
			err = m.all.timed(1, func(int) error { return in.all(ctx, heavy) })
		}
		if err == nil {
			err = expect(ctx, in, 0)
		}
	}
	if err == nil {
		err = in.reset(ctx, heavy)
	}
	return err
}

// expect checks how many are unread of the user who had 1,000.
func expect(ctx context.Context, in inbox, want int) error {
	got, err := in.count(ctx, heavy)
	if err == nil && got != want {
		err = fmt.Errorf("got %d unread, want %d", got, want)
	}
	return err
}
