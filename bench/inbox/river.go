package main

import (
	"context"
	"io"
	"log/slog"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivermigrate"
)

// riverQueue is River with its own driver, as in its examples: 100 workers, which do nothing.
type riverQueue struct {
	pool   *pgxpool.Pool
	client *river.Client[pgx.Tx]
	worker *riverWorker
}

type riverJob struct {
	Job int `json:"job"`
}

func (riverJob) Kind() string { return "notify" }

type riverWorker struct {
	river.WorkerDefaults[riverJob]
	worked func(int)
}

func (w *riverWorker) Work(_ context.Context, job *river.Job[riverJob]) error {
	w.worked(job.Args.Job)
	return nil
}

func openRiver(ctx context.Context, _ *run, e *engine, database string) (queue, error) {
	pool, err := pgxpool.New(ctx, e.dsn(database))
	if err != nil {
		return nil, err
	}
	quiet := slog.New(slog.NewTextHandler(io.Discard, nil))
	driver := riverpgxv5.New(pool)
	migrator, err := rivermigrate.New(driver, &rivermigrate.Config{Logger: quiet})
	if err == nil {
		_, err = migrator.Migrate(ctx, rivermigrate.DirectionUp, nil)
	}
	q := &riverQueue{pool: pool, worker: &riverWorker{}}
	if err == nil {
		workers := river.NewWorkers()
		river.AddWorker(workers, q.worker)
		q.client, err = river.NewClient(driver, &river.Config{
			Queues: map[string]river.QueueConfig{river.QueueDefault: {MaxWorkers: 100}}, Workers: workers, Logger: quiet,
		})
	}
	if err != nil {
		pool.Close()
		return nil, err
	}
	return q, nil
}

func (q *riverQueue) insert(ctx context.Context, first, n int) (took time.Duration, err error) {
	tx, err := q.pool.Begin(ctx)
	if err != nil {
		return 0, err
	}
	defer tx.Rollback(ctx) // does nothing after Commit
	began := time.Now()
	if n == 1 {
		_, err = q.client.InsertTx(ctx, tx, riverJob{first}, nil)
	} else {
		all := make([]river.InsertManyParams, n)
		for i := range all {
			all[i].Args = riverJob{first + i}
		}
		_, err = q.client.InsertManyFastTx(ctx, tx, all)
	}
	took = time.Since(began)
	if err != nil {
		return took, err
	}
	return took, tx.Commit(ctx)
}

func (q *riverQueue) start(ctx context.Context, worked func(int)) (stop func(), err error) {
	q.worker.worked = worked
	if err := q.client.Start(ctx); err != nil {
		return nil, err
	}
	return func() { _ = q.client.Stop(context.WithoutCancel(ctx)) }, nil
}

func (q *riverQueue) close() { q.pool.Close() }
