package jobs

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/robfig/cron/v3"

	"github.com/rollcall-go/rollcall/presence"
)

// A job is a function that cron runs, and whether its last run failed. The chain of newJob
// runs it once at a time.
type job struct {
	ctx      context.Context // ends when the runner stops
	logger   *slog.Logger
	storeOut func() bool // the tracker has logged that the store is out
	do       func(context.Context) error
	failing  bool      // a failure was logged
	since    time.Time // of failures that the tracker may be about to explain; zero: none
}

// unexplainedFor is how long a job fails because it cannot reach the store, while the
// tracker can, before the failure is logged. The tracker finds an outage out within some
// seconds, and a call that began in an outage may end some seconds after it.
const unexplainedFor = 15 * time.Second

// newJob returns a job for cron. The job is its own cron.Logger, so that a panic is a
// failure like others. Recover is the inner wrapper: a panic that reached
// SkipIfStillRunning would leave the job marked as running for ever.
func newJob(ctx context.Context, name string, tracker *presence.Tracker, do func(context.Context) error) cron.Job {
	j := &job{
		ctx: ctx, do: do, logger: tracker.Config().Logger.With(slog.String("job", name)),
		storeOut: func() bool { return tracker.Stats().StoreOut },
	}
	return cron.NewChain(cron.SkipIfStillRunning(j), cron.Recover(j)).Then(j)
}

// Run implements [cron.Job].
func (j *job) Run() {
	err := j.do(j.ctx)
	switch {
	case err != nil && j.explained(err):
	case err != nil:
		j.fail(err)
	default:
		if j.failing {
			j.logger.Info("presence: a job works again")
		}
		j.failing, j.since = false, time.Time{}
	}
}

// explained reports whether an error is part of an outage of the store, which the tracker
// logs itself: once when it begins and once when it ends. An error that says that the store
// is out, while the tracker reaches it, is explained only for a while. Example: of a
// cluster, the server with the list of all topics is out, and those of the topics are not.
func (j *job) explained(err error) bool {
	if !errors.Is(err, presence.ErrStoreOut) && !errors.Is(err, context.DeadlineExceeded) { // it refuses, or hangs
		return false
	}
	if j.storeOut() {
		j.since = time.Time{}
		return true
	}
	if j.since.IsZero() {
		j.since = time.Now()
	}
	return time.Since(j.since) < unexplainedFor
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
