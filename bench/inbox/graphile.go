package main

import (
	"bufio"
	"context"
	"database/sql"
	_ "embed"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"github.com/rollcall-go/rollcall/bench/internal/npm"
	"github.com/rollcall-go/rollcall/internal/bound"
)

//go:embed graphile.js
var graphileWorkers []byte

// graphileQueue is graphile-worker: its SQL function adds jobs, and a process of Node.js has
// 24 workers, which do nothing.
type graphileQueue struct {
	db      *sql.DB
	command func(args ...string) *exec.Cmd
}

func missingGraphile(r *run) error { return npm.Missing(r.NodeModules, "graphile-worker") }

func openGraphile(ctx context.Context, r *run, e *engine, database string) (queue, error) {
	script := filepath.Join(e.dir, "graphile.js")
	if err := os.WriteFile(script, graphileWorkers, 0o644); err != nil {
		return nil, err
	}
	module, err := filepath.Abs(filepath.Join(r.NodeModules, "graphile-worker"))
	if err != nil {
		return nil, err
	}
	q := &graphileQueue{command: func(args ...string) *exec.Cmd {
		cmd := bound.To(exec.CommandContext(ctx, "node", append([]string{script, module, e.dsn(database)}, args...)...), syscall.SIGKILL)
		cmd.Stderr = os.Stderr
		return cmd
	}}
	if err := q.command("migrate").Run(); err != nil {
		return nil, fmt.Errorf("the tables of graphile-worker: %w", err)
	}
	q.db, err = e.open(database)
	return q, err
}

func (q *graphileQueue) insert(ctx context.Context, first, n int) (took time.Duration, err error) {
	err = inTx(ctx, q.db, func(tx *sql.Tx) error {
		began := time.Now()
		defer func() { took = time.Since(began) }()
		if n == 1 {
			_, err := tx.ExecContext(ctx, "SELECT graphile_worker.add_job('notify', json_build_object('job', $1::int))", first)
			return err
		}
		_, err := tx.ExecContext(ctx, `SELECT count(*) FROM graphile_worker.add_jobs(ARRAY(SELECT ('notify', json_build_object('job', i), NULL, now(), NULL, NULL, NULL, NULL)::graphile_worker.job_spec
			FROM generate_series($1::int, $2::int) AS s(i)))`, first, first+n-1)
		return err
	})
	return took, err
}

func (q *graphileQueue) start(_ context.Context, worked func(int)) (stop func(), err error) {
	cmd := q.command()
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	ready, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		lines := bufio.NewScanner(out)
		for lines.Scan() {
			if job, err := strconv.Atoi(lines.Text()); err == nil && job >= 0 {
				worked(job)
			} else if err == nil {
				close(ready)
			}
		}
	}()
	stop = func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		<-ended
		_ = cmd.Wait()
	}
	select {
	case <-ready:
		return stop, nil
	case <-ended:
		return nil, errors.New("graphile-worker ended")
	}
}

func (q *graphileQueue) close() { q.db.Close() }
