package jobs

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/rollcall-go/rollcall/presence/feed"
)

// How long one run of relay or trim_feeds may take. The next run does the rest.
const (
	relayWait = 10 * time.Second
	trimWait  = 10 * time.Minute
)

// addFeeds adds the jobs of a site that has feeds. Each node runs them at other moments. A node whose job
// finds that another node is at work does nothing.
func addFeeds(add func(name string, when every, do func(context.Context) error), config Config) {
	add("relay", every{period: relayEvery, jitter: relayJitter}, bounded(relayWait, config.Feeds.Relay))
	add("trim_feeds", every{period: trimEvery, jitter: trimJitter}, bounded(trimWait, config.Feeds.Trim))
	if config.Mail != nil {
		look := digestEvery(config.Feeds.Config().MailAfter)
		add("digest", every{period: look, jitter: look / 4}, func(ctx context.Context) error {
			return digest(ctx, config)
		})
	}
}

// bounded returns a function that calls do with a timeout. Reaching the timeout is no failure: the next run
// does the rest.
func bounded(wait time.Duration, do func(context.Context) (int, error)) func(context.Context) error {
	return func(ctx context.Context) error {
		ctx, cancel := context.WithTimeout(ctx, wait)
		defer cancel()
		_, err := do(ctx)
		if errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, feed.ErrOut) {
			return nil
		}
		return err
	}
}

// digest sends the digests that are due. A digest that could not be sent is due again some minutes later.
// Only the next run that sends one ends the failure.
func digest(ctx context.Context, config Config) error {
	var sent atomic.Int64 // mails go out side by side
	err := config.Feeds.Digest(ctx, func(ctx context.Context, d feed.Digest) error {
		sent.Add(1)
		return config.Mail(ctx, d)
	})
	if err == nil && sent.Load() == 0 {
		return errNothing
	}
	return err
}
