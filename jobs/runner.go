package jobs

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/robfig/cron/v3"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/feed"
	"github.com/rollcall-go/rollcall/presence/track"
)

// A Runner runs the jobs of one process. Make it with [Start], and end it with
// [Runner.Stop].
type Runner struct {
	cron *cron.Cron
	stop context.CancelFunc // cancels the running jobs
}

// Start runs the jobs in the background, each for the first time after its interval. Stop
// the Runner before the tracker is closed.
//
// A job that is due while it still runs is skipped. A job that panics or fails runs again
// when it is due. The tracker's logger gets one line when a job begins to fail and one
// when it works again. An outage of the store gets no line of a job, because the tracker
// logs it. A job that cannot reach the store for 15 s while the tracker can is logged. The same
// holds for the database of feeds and its Keeper. Digests that cannot be sent are a failure of
// the job digest.
//
// The error is [presence.ErrInvalidConfig] and names every invalid field; no job runs
// then.
func Start(tracker *track.Tracker, config Config) (*Runner, error) {
	if tracker == nil {
		return nil, fmt.Errorf("%w: there is no tracker", presence.ErrInvalidConfig)
	}
	config = config.withDefaults()
	if err := config.validate(); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	r := &Runner{cron: cron.New(cron.WithLogger(cron.DiscardLogger)), stop: cancel}
	logger := tracker.Config().Logger
	needs := source{func() bool { return tracker.Stats().StoreOut }, []error{presence.ErrStoreOut, context.DeadlineExceeded}} // the store refuses connections, or hangs
	add := func(name string, when every, do func(context.Context) error) {
		if when.period > 0 {
			r.cron.Schedule(when, newJob(ctx, name, logger, needs, do))
		}
	}
	add("sweep", every{period: config.Sweep}, func(ctx context.Context) error {
		_, err := Sweep(ctx, tracker)
		return err
	})
	add("age", every{period: ageEvery(tracker.Config().Age)}, func(ctx context.Context) error {
		_, err := tracker.Age(ctx)
		return err
	})
	add("trim", every{period: trimEvery, jitter: trimJitter}, func(ctx context.Context) error {
		_, err := tracker.Trim(ctx)
		return err
	})
	if config.Feeds != nil {
		needs = source{func() bool { return config.Feeds.Stats().DatabaseOut }, []error{feed.ErrOut}}
		addFeeds(add, config)
	}
	r.cron.Start()
	return r, nil
}

// Stop starts no job any more, cancels those that run, and returns when they have ended. It
// may be called more than once, and concurrently.
func (r *Runner) Stop() {
	running := r.cron.Stop()
	r.stop()
	<-running.Done()
}

// every is a cron.Schedule of any duration. Cron's own @every rounds to seconds.
type every struct {
	period time.Duration
	jitter time.Duration // at most so much earlier or later
}

// Next implements [cron.Schedule].
func (e every) Next(now time.Time) time.Time {
	return now.Add(e.period - e.jitter + rand.N(2*e.jitter+1))
}
