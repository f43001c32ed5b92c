package jobs

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"time"

	"github.com/robfig/cron/v3"
)

// A job is a function that cron runs. It remembers whether the last run failed. newJob makes sure that only
// one run is active at a time.
type job struct {
	ctx     context.Context // ends when the runner stops
	logger  *slog.Logger
	source  source
	do      func(context.Context) error
	failing bool      // a failure was logged
	since   time.Time // since when the job has failed with an error that an outage may explain; zero: it does not
}

// A source is a service that a job needs: the presence store, or the database of feeds. Its outages are
// logged by the tracker, or by the Keeper of feeds.
type source struct {
	out    func() bool // an outage was logged and is not over
	errors []error     // the errors of a job that cannot reach the source
}

// errNothing is returned by a job that had nothing to do. It proves neither that the job works nor that it
// fails.
var errNothing = errors.New("nothing to do")

// unexplainedFor is how long a job may fail because it cannot reach a source that seems to work, before the
// failure is logged. The tracker needs some seconds to notice an outage of the store, and a call that began
// in an outage may end some seconds after it. The same holds for the database of feeds and its Keeper.
const unexplainedFor = 15 * time.Second

// newJob returns a job for cron. The job is its own cron.Logger, so that a panic is a
// failure like others. Recover is the inner wrapper: a panic that reached
// SkipIfStillRunning would leave the job marked as running for ever.
func newJob(ctx context.Context, name string, logger *slog.Logger, needs source, do func(context.Context) error) cron.Job {
	j := &job{ctx: ctx, do: do, logger: logger.With(slog.String("job", name)), source: needs}
	return cron.NewChain(cron.SkipIfStillRunning(j), cron.Recover(j)).Then(j)
}

// Run implements [cron.Job].
func (j *job) Run() {
	err := j.do(j.ctx)
	switch {
	case errors.Is(err, errNothing):
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

// explained reports whether err is part of an outage that the tracker logs itself, once when it begins and
// once when it ends. If the tracker does reach the store, an error that says the store is out is explained
// only for unexplainedFor. Example: in a cluster, the server with the list of all topics is out, and the
// servers with the topics are not.
func (j *job) explained(err error) bool {
	if !slices.ContainsFunc(j.source.errors, func(of error) bool { return errors.Is(err, of) }) {
		return false
	}
	if j.source.out() {
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
