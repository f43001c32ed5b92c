package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"sync"
	"time"

	"github.com/rollcall-go/rollcall/internal/wait"
	"github.com/rollcall-go/rollcall/presence/feed"
)

// Bounds of a batch.
const (
	relayedRows  = 100
	relayedItems = 1_000
	relayTries   = 10 // after these tries, a message is given up
)

// A relayer moves messages from the outbox to feeds.
type relayer struct {
	*feedRows

	mu     sync.Mutex
	from   string    // the tenant whose turn is next: see turns
	rested time.Time // on SQLite, no relay may write before this; see rest

	agenda agenda // of polls
}

// Relay implements [feed.Store]. While nothing is due it is one query, without a lock, however many tenants
// there are; a poll is none while the data stays as it is. A batch is a transaction of about ten statements, however many items it has. If a batch fails,
// its messages are tried one by one, so that a bad one does not delay others.
func (f *relayer) Relay(ctx context.Context, o feed.RelayOptions) (all feed.Relayed, err error) {
	defer wrap(&err, "relay")
	all = newRelayed()
	if o.Poll {
		due, err := f.due(ctx)
		if err != nil || !due {
			return all, err
		}
	}
	turn, err := f.turns(ctx)
	if err != nil {
		return all, err
	}
	rows, busy := 0, false
	for tenant, ok := turn.next(rows, all.Moved); ok; tenant, ok = turn.next(rows, all.Moved) {
		if err := f.rest(ctx); err != nil {
			return all, err
		}
		began := time.Now()
		one, moved, err := f.relayTenant(ctx, tenant, o)
		f.tire(time.Since(began))
		addRelayed(&all, one)
		rows, busy = rows+moved, busy || one.Busy
		if err != nil {
			return all, err
		}
	}
	// Messages may have come that the other relay did not see.
	all.More = all.More || turn.more || busy && rows > 0
	all.Busy = busy && !all.More
	return all, nil
}

// due reports whether a message is due. It asks the database only if that may be.
func (f *relayer) due(ctx context.Context) (bool, error) {
	version := f.db.DataVersion()
	if f.agenda.rests(version) {
		return false, nil
	}
	var in sql.NullInt64
	if err := f.db.pool.QueryRowContext(ctx, f.db.texts["outbox_next"]).Scan(&in); err != nil {
		return false, explain(err)
	}
	return f.agenda.note(version, in), nil
}

// relayTenant moves one batch of a tenant's messages. It returns how many rows it took.
func (f *relayer) relayTenant(ctx context.Context, tenant string, o feed.RelayOptions) (done feed.Relayed, rows int, err error) {
	b := &batch{f: f, o: o, tenant: tenant}
	err = b.run(ctx)
	if err == nil || len(b.rows) == 0 || ctx.Err() != nil {
		return b.done, len(b.rows), err
	}
	all := newRelayed()
	for _, row := range b.rows {
		one := &batch{f: f, o: o, tenant: tenant, only: row.id}
		err := one.run(ctx)
		if err != nil && ctx.Err() == nil {
			err = f.fail(ctx, row, "database", err, &one.done)
		}
		if err != nil || one.done.Busy {
			return all, len(b.rows), err
		}
		addRelayed(&all, one.done)
	}
	all.More = true
	return all, len(b.rows), nil
}

// tire makes the next relay on SQLite wait for half as long as a batch took. SQLite has one writer at a time,
// and no queue: a transaction that finds the file locked tries again later, and fails after some seconds. A
// message to 100,000 users is a hundred batches. Without a pause between them, the site's own transactions
// would fail meanwhile (rule F10).
func (f *relayer) tire(took time.Duration) {
	if f.db.dialect != SQLite {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.rested = time.Now().Add(min(took/2, maxRest))
}

// maxRest bounds the pause, because the batch may itself have waited for the file.
const maxRest = 200 * time.Millisecond

// rest waits, so that others have time to write.
func (f *relayer) rest(ctx context.Context) error {
	f.mu.Lock()
	pause := time.Until(f.rested)
	f.mu.Unlock()
	if pause > 0 && !wait.For(ctx, pause) {
		return ctx.Err()
	}
	return nil
}

// fail postpones a message that could not be relayed by itself. If it cannot write that either, the database
// is out, and it returns the reason.
func (f *relayer) fail(ctx context.Context, row outboxRow, reason string, why error, done *feed.Relayed) error {
	*done = newRelayed()
	err := f.db.transact(ctx, func(q querier) error {
		var now int64
		if err := q.QueryRowContext(ctx, f.db.texts["now"]).Scan(&now); err != nil {
			return err
		}
		return f.wait(ctx, q, row, now, why)
	})
	if err != nil {
		return errors.Join(why, err)
	}
	failed(done, row, reason, why)
	return nil
}

// wait postpones a message: for 1 s the first time, then 4 s, 16 s and so on up to 1 h. The tenth time the
// message is given up.
func (f *relayer) wait(ctx context.Context, q querier, row outboxRow, now int64, why error) error {
	due := sql.NullInt64{Int64: now + min(time.Hour, time.Second<<(2*min(row.tries, 10))).Milliseconds(), Valid: row.tries+1 < relayTries}
	text := []rune(why.Error())
	text = text[:min(len(text), 500)]
	return f.db.exec(ctx, q, "outbox_failed", row.tenant, row.id, due, cleanText(string(text)))
}

// A batch is one transaction that moves messages of one tenant from the outbox to feeds.
type batch struct {
	f      *relayer
	o      feed.RelayOptions
	tenant string
	only   string // the id of the one row to take; "": all that is due

	rows []outboxRow // the rows that it read, even if it fails
	done feed.Relayed
}

func (b *batch) run(ctx context.Context) error {
	err := b.f.db.transact(ctx, func(q querier) error { return b.move(ctx, q) })
	if err != nil {
		b.done = newRelayed()
	}
	return err
}

func (b *batch) move(ctx context.Context, q querier) error {
	s := b.f.db
	b.done = newRelayed()
	var turn bool
	var now int64
	if err := q.QueryRowContext(ctx, s.texts["relay_turn"], b.tenant).Scan(&turn, &now, new(sql.NullString)); err != nil {
		return err
	}
	if !turn {
		b.done.Busy = true
		return nil
	}
	messages, err := b.take(ctx, q, now)
	if err != nil || len(b.rows) == 0 {
		return err
	}
	p := newPlan(b.tenant, b.o, now, messages)
	if err := b.read(ctx, q, p); err != nil {
		return err
	}
	p.work()
	if err := b.write(ctx, q, p); err != nil {
		return err
	}
	p.report(&b.done)
	ids := make([]string, len(messages))
	for i, m := range messages {
		ids[i] = m.row.id
	}
	if len(ids) == 0 {
		return nil
	}
	return s.exec(ctx, q, "outbox_done", b.tenant, asJSON(ids))
}

// take reads the rows that are due, and postpones those that cannot be parsed.
func (b *batch) take(ctx context.Context, q querier, now int64) ([]message, error) {
	s := b.f.db
	b.rows = nil
	statement, args := "outbox_due", []any{b.tenant, now, relayedRows + 1}
	if b.only != "" {
		statement, args = "outbox_one", []any{b.tenant, now, b.only}
	}
	var rows []outboxRow
	err := s.queryIn(ctx, q, statement, func(r *sql.Rows) error {
		row := outboxRow{tenant: b.tenant}
		err := r.Scan(&row.id, &row.message, &row.bulk, &row.due, &row.tries)
		rows = append(rows, row)
		return err
	}, args...)
	if err != nil {
		return nil, err
	}
	chosen, late, more := chooseRows(rows)
	b.done.More = more
	var messages []message
	for _, m := range chosen {
		b.rows = append(b.rows, m.row)
		if m.err == nil {
			messages = append(messages, m)
			continue
		}
		failed(&b.done, m.row, m.reason, m.err)
		if err := b.f.wait(ctx, q, m.row, now, m.err); err != nil {
			return nil, err
		}
	}
	if len(late) > 0 {
		err = s.exec(ctx, q, "outbox_bulk", b.tenant, asJSON(late))
	}
	return messages, err
}

// read locks the heads, and reads what the plan needs.
func (b *batch) read(ctx context.Context, q querier, p *plan) (err error) {
	s := b.f.db
	names := p.names()
	if len(names) == 0 {
		return nil
	}
	if p.heads, _, err = b.f.lock(ctx, q, b.tenant, names); err != nil {
		return err
	}
	if users, scopes := p.scopes(); len(scopes) > 0 {
		err := s.queryIn(ctx, q, "relay_mutes", func(rows *sql.Rows) error {
			var user, scope string
			var how feed.How
			err := rows.Scan(&user, &scope, &how)
			p.mutes[[2]string{user, scope}] = how
			return err
		}, b.tenant, asJSON(users), asJSON(scopes), p.now)
		if err != nil {
			return err
		}
	}
	if ids := p.ids(); len(ids) > 0 {
		err := s.queryIn(ctx, q, "relay_ids", func(rows *sql.Rows) error {
			var id [2]string
			err := rows.Scan(&id[0], &id[1])
			p.isNew[id] = true
			return err
		}, b.tenant, asJSON(ids), p.now)
		if err != nil {
			return err
		}
	}
	groups := p.groups()
	if len(groups) == 0 {
		return nil
	}
	return s.queryIn(ctx, q, "relay_groups", func(rows *sql.Rows) error {
		i := &planned{}
		var key groupKey
		var actors string
		err := rows.Scan(&key.name, &key.about, &key.group, &i.was, &i.id, &actors, &i.others, &i.count, &i.mail)
		i.name, i.actors = key.name, decodeActors(actors)
		p.open[key] = i
		return err
	}, b.tenant, asJSON(groups))
}

// write writes the results of the plan.
func (b *batch) write(ctx context.Context, q querier, p *plan) error {
	s := b.f.db
	for _, step := range []struct {
		statement string
		list      [][]any
		more      []any
	}{
		{"relay_forget", p.forgotten, nil},
		{"relay_moved", p.moved(), nil},
		{"relay_items", p.items(), []any{asJSON(p.texts()), p.now}},
		{"relay_heads", p.changed(), nil},
	} {
		if len(step.list) == 0 {
			continue
		}
		if err := s.exec(ctx, q, step.statement, append([]any{b.tenant, asJSON(step.list)}, step.more...)...); err != nil {
			return err
		}
	}
	return nil
}

func newRelayed() feed.Relayed {
	return feed.Relayed{Failed: make(map[string]int), Dropped: make(map[string]int)}
}

// failed notes a row that could not be moved.
func failed(done *feed.Relayed, row outboxRow, reason string, why error) {
	done.Failed[reason]++
	if givenUp := row.tries+1 >= relayTries; (givenUp || row.tries == 0) && len(done.Bad) < feed.MaxBadRows {
		done.Bad = append(done.Bad, feed.BadRow{Tenant: row.tenant, ID: row.id, GivenUp: givenUp, Why: why})
	}
}

func addRelayed(all *feed.Relayed, one feed.Relayed) {
	all.Moved += one.Moved
	all.More = all.More || one.More
	all.Changed = append(all.Changed, one.Changed...)
	all.Bad = append(all.Bad, one.Bad[:min(len(one.Bad), feed.MaxBadRows-len(all.Bad))]...)
	for reason, n := range one.Failed {
		all.Failed[reason] += n
	}
	for reason, n := range one.Dropped {
		all.Dropped[reason] += n
	}
}
