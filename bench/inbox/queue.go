package main

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"sync"
	"time"
)

// A queue takes jobs in a transaction of the application, and has them worked after its
// commit. A job has a number.
type queue interface {
	// insert puts n jobs, numbered from first, into a transaction, and commits that. It
	// returns what the statements took that put them in.
	insert(ctx context.Context, first, n int) (time.Duration, error)
	// start begins to work, and calls worked with the number of each job.
	start(ctx context.Context, worked func(job int)) (stop func(), err error)
	close()
}

// A queueKind makes a queue in an empty database.
type queueKind struct {
	name    string
	missing func(r *run) error // why it cannot be had
	open    func(ctx context.Context, r *run, e *engine, database string) (queue, error)
}

// thousand is how many recipients, or jobs, come in one transaction.
const thousand = 1_000

// send measures what a transaction of the application pays, and how long it takes from its
// commit until the job is worked. With Rollcall the job is done when a page that is open at
// another node has read the item.
func send(ctx context.Context, r *run, e *engine) error {
	t := r.table("In the transaction of the application, and after its commit, " + e.name)
	for _, kind := range queueKinds {
		if err := kind.missing(r); err != nil {
			fmt.Fprintf(r.log, "%s is left out: %v\n", kind.name, err)
			continue
		}
		if e.name == "SQLite" && !kind.ours() {
			continue
		}
		if err := r.sent(ctx, e, t, kind); err != nil {
			return fmt.Errorf("%s: %w", kind.name, err)
		}
	}
	return r.plain(ctx, e, t)
}

func (k queueKind) ours() bool { return k.name == rollcallQueue }

const rollcallQueue = "Rollcall"

var queueKinds = []queueKind{
	{rollcallQueue, func(*run) error { return nil }, openOurs},
	{"River", func(*run) error { return nil }, openRiver},
	{"graphile-worker", missingGraphile, openGraphile},
}

// fresh makes a queue in a database of its own.
func (k queueKind) fresh(ctx context.Context, r *run, e *engine, name string) (q queue, done func(), err error) {
	db, err := e.create(ctx, name)
	if err != nil {
		return nil, nil, err
	}
	db.Close()
	if q, err = k.open(ctx, r, e, name); err != nil {
		return nil, nil, err
	}
	return q, func() { q.close(); _ = e.drop(context.WithoutCancel(ctx), name) }, nil
}

func (r *run) sent(ctx context.Context, e *engine, t *table, kind queueKind) error {
	q, done, err := kind.fresh(ctx, r, e, "sent")
	if err != nil {
		return err
	}
	defer done()
	var one, many durations
	for range r.Rounds {
		for range r.Calls {
			took, err := q.insert(ctx, 0, 1)
			if err != nil {
				return err
			}
			one = append(one, took)
		}
		for range max(r.Calls/25, 2) {
			took, err := q.insert(ctx, 0, thousand)
			if err != nil {
				return err
			}
			many = append(many, took)
		}
	}
	t.set(kind.name, "insert 1", short(one.median()))
	t.set(kind.name, "insert 1,000", short(many.median()))
	if kind.ours() {
		r.within("SendTx, 1 recipient, one statement", e, one.median(), either(e, 30*time.Microsecond, 250*time.Microsecond))
		r.within("SendTx, 1,000 recipients, one statement", e, many.median(), either(e, 30*time.Microsecond, 250*time.Microsecond))
		return nil // for the rest see relay and live
	}
	if err := r.drained(ctx, e, t, kind); err != nil {
		return err
	}
	p50, p99, err := r.paced(ctx, e, kind)
	t.set(kind.name, fmt.Sprintf("commit → worked at %d/s: p50", r.Rate), short(p50))
	t.set(kind.name, "p99", short(p99))
	return err
}

// drained measures how fast jobs are worked that wait.
func (r *run) drained(ctx context.Context, e *engine, t *table, kind queueKind) error {
	q, done, err := kind.fresh(ctx, r, e, "drained")
	if err != nil {
		return err
	}
	defer done()
	for first := 0; first < r.Backlog; first += thousand {
		if _, err := q.insert(ctx, first, min(thousand, r.Backlog-first)); err != nil {
			return err
		}
	}
	all := newArrivals(r.Backlog)
	began := time.Now()
	stop, err := q.start(ctx, all.worked)
	if err != nil {
		return err
	}
	err = all.wait(ctx, 2*time.Minute)
	t.set(kind.name, "waiting: worked/s", fmt.Sprintf("%.0f", float64(r.Backlog)/time.Since(began).Seconds()))
	stop()
	return err
}

// paced measures how long after its commit a job is worked, at a rate.
func (r *run) paced(ctx context.Context, e *engine, kind queueKind) (p50, p99 time.Duration, err error) {
	q, done, err := kind.fresh(ctx, r, e, "paced")
	if err != nil {
		return 0, 0, err
	}
	defer done()
	n := int(float64(r.Rate) * r.For.Seconds())
	all := newArrivals(n)
	stop, err := q.start(ctx, all.worked)
	if err != nil {
		return 0, 0, err
	}
	defer stop()
	if err := all.send(ctx, r.Rate, func(job int) error { _, err := q.insert(ctx, job, 1); return err }); err != nil {
		return 0, 0, err
	}
	if err := all.wait(ctx, time.Minute); err != nil {
		return 0, 0, err
	}
	took := all.latencies()
	return took.quantile(0.5), took.quantile(0.99), nil
}

// arrivals notes when jobs were committed, and when each was first worked.
type arrivals struct {
	mu        sync.Mutex
	committed []time.Time
	done      []time.Time
	missing   int
	all       chan struct{} // closed when none is missing
}

func newArrivals(n int) *arrivals {
	return &arrivals{committed: make([]time.Time, n), done: make([]time.Time, n), missing: n, all: make(chan struct{})}
}

func (a *arrivals) worked(job int) {
	now := time.Now()
	a.mu.Lock()
	defer a.mu.Unlock()
	if job < 0 || job >= len(a.done) || !a.done[job].IsZero() {
		return
	}
	a.done[job] = now
	if a.missing--; a.missing == 0 {
		close(a.all)
	}
}

// send calls one for each job, at a rate, and notes when it returns.
func (a *arrivals) send(ctx context.Context, rate int, one func(job int) error) error {
	jobs := make(chan int, len(a.done))
	var senders sync.WaitGroup
	var failed error
	for range 8 {
		senders.Go(func() {
			for job := range jobs {
				err := one(job)
				now := time.Now()
				a.mu.Lock()
				if a.committed[job] = now; err != nil {
					failed = err
				}
				a.mu.Unlock()
			}
		})
	}
	began := time.Now()
	for job := range a.done {
		time.Sleep(time.Until(began.Add(time.Duration(job) * time.Second / time.Duration(rate))))
		if ctx.Err() != nil {
			break
		}
		jobs <- job
	}
	close(jobs)
	senders.Wait()
	if failed != nil {
		return failed
	}
	return ctx.Err()
}

func (a *arrivals) wait(ctx context.Context, patience time.Duration) error {
	select {
	case <-a.all:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(patience):
		a.mu.Lock()
		defer a.mu.Unlock()
		return fmt.Errorf("%d of %d have not come", a.missing, len(a.done))
	}
}

func (a *arrivals) latencies() (all durations) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for i, at := range a.done {
		all = append(all, max(at.Sub(a.committed[i]), 0))
	}
	return all
}

// plain measures an insert of rows into a table with no index but its key: what an
// application pays that has no outbox. It has one statement for all rows.
func (r *run) plain(ctx context.Context, e *engine, t *table) error {
	db, err := e.create(ctx, "plain")
	if err != nil {
		return err
	}
	defer func() { db.Close(); _ = e.drop(context.WithoutCancel(ctx), "plain") }()
	if _, err := db.ExecContext(ctx, "CREATE TABLE plain (id "+e.pick("integer", "bigint GENERATED ALWAYS AS IDENTITY")+" PRIMARY KEY, user_id text, text text, url text)"); err != nil {
		return err
	}
	for _, n := range []int{1, thousand} {
		values := make([]string, n)
		args := make([]any, 0, 3*n)
		for i := range values {
			values[i] = fmt.Sprintf("($%d, $%d, $%d)", 3*i+1, 3*i+2, 3*i+3)
			args = append(args, fmt.Sprint("user-", i), "{actors} replied in “What are you listening to today?”", "/threads/42#post-17")
		}
		statement := "INSERT INTO plain (user_id, text, url) VALUES " + strings.Join(values, ", ")
		if e.name == "SQLite" {
			statement = "INSERT INTO plain (user_id, text, url) VALUES (?, ?, ?)" + strings.Repeat(", (?, ?, ?)", n-1)
		}
		var took durations
		for range r.Rounds * max(r.Calls/n, 3) {
			if err := inTx(ctx, db, func(tx *sql.Tx) error {
				return took.timed(1, func(int) error { _, err := tx.ExecContext(ctx, statement, args...); return err })
			}); err != nil {
				return err
			}
		}
		t.set("plain rows", map[int]string{1: "insert 1", thousand: "insert 1,000"}[n], short(took.median()))
	}
	return nil
}

func inTx(ctx context.Context, db *sql.DB, do func(*sql.Tx) error) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback() // does nothing after Commit
	if err := do(tx); err != nil {
		return err
	}
	return tx.Commit()
}
