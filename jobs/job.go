package jobs

import (
	"context"
	"errors"
	"log/slog"

	"github.com/robfig/cron/v3"
)

// A job is a function that cron runs, and whether its last run failed. The chain of newJob
// runs it once at a time.
type job struct {
	ctx     context.Context // ends when the runner stops
	logger  *slog.Logger
	do      func(context.Context) error
	failing bool
}

// newJob returns a job for cron. The job is its own cron.Logger, so that a panic is a
// failure like others. Recover is the inner wrapper: a panic that reached
// SkipIfStillRunning would leave the job marked as running for ever.
func newJob(ctx context.Context, name string, logger *slog.Logger, do func(context.Context) error) cron.Job {
	j := &job{ctx: ctx, logger: logger.With(slog.String("job", name)), do: do}
	return cron.NewChain(cron.SkipIfStillRunning(j), cron.Recover(j)).Then(j)
}

// Run implements [cron.Job].
func (j *job) Run() {
	if err := j.do(j.ctx); err != nil {
		j.fail(err)
	} else if j.failing {
		j.failing = false
		j.logger.Info("presence: a job works again")
	}
}

// fail logs the first failure in a row. Cancellation on shutdown is not a failure.
func (j *job) fail(err error, details ...any) {
	if j.failing || j.ctx.Err() != nil && errors.Is(err, context.Canceled) {
		return
	}
	j.failing = true
	j.logger.Error("presence: a job fails", append([]any{slog.Any("error", err)}, details...)...)
}

// Error implements [cron.Logger]. It is called after a panic.
func (j *job) Error(err error, _ string, details ...any) { j.fail(err, details...) }

// Info implements [cron.Logger]. It is called if the job is due while it runs.
func (j *job) Info(string, ...any) { j.logger.Debug("presence: a job takes longer than its interval") }
