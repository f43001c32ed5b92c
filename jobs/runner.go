package jobs

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/robfig/cron/v3"

	"github.com/rollcall-go/rollcall/presence"
)

// A Runner runs the jobs of one process. [Start] makes one, [Runner.Stop] ends it.
type Runner struct {
	cron *cron.Cron
	stop context.CancelFunc // ends what the jobs are doing
}

// Start runs the jobs in the background, each for the first time when its
// interval has passed once. Stop the Runner before the tracker is closed.
//
// A job that is still running when it is due is skipped; one that panics or
// fails runs again when it is due. That it fails is logged to the tracker's
// logger when it begins, and once more when it works again.
//
// Start returns an error that is [presence.ErrInvalidConfig] and names every
// field that is wrong; then nothing runs.
func Start(tracker *presence.Tracker, config Config) (*Runner, error) {
	if tracker == nil {
		return nil, fmt.Errorf("%w: there is no tracker", presence.ErrInvalidConfig)
	}
	config = config.withDefaults(tracker.Config().Age)
	if err := config.validate(); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	r := &Runner{cron: cron.New(cron.WithLogger(cron.DiscardLogger)), stop: cancel}
	logger := tracker.Config().Logger
	add := func(name string, when every, do func(context.Context) error) {
		if when.period > 0 {
			r.cron.Schedule(when, newJob(ctx, name, logger, do))
		}
	}
	add("sweep", every{period: config.Sweep}, func(ctx context.Context) error {
		_, err := Sweep(ctx, tracker)
		return err
	})
	add("age", every{period: config.Age}, func(ctx context.Context) error {
		_, err := Age(ctx, tracker)
		return err
	})
	add("trim", every{period: config.Trim, jitter: config.Trim / 10}, func(ctx context.Context) error {
		_, err := Trim(ctx, tracker)
		return err
	})
	r.cron.Start()
	return r, nil
}

// Stop ends the jobs: none begins any more, those that run are told to end, and
// it returns when they have. It may be called more than once, and concurrently.
func (r *Runner) Stop() {
	running := r.cron.Stop()
	r.stop()
	<-running.Done()
}

// every is a cron.Schedule of any duration; that of cron itself, @every, counts
// whole seconds.
type every struct {
	period time.Duration
	jitter time.Duration // at most so much earlier or later
}

// Next implements [cron.Schedule].
func (e every) Next(now time.Time) time.Time {
	return now.Add(e.period - e.jitter + rand.N(2*e.jitter+1))
}
