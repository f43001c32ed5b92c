package feed

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/rollcall-go/rollcall/internal/minute"
)

// calls knows whether the database answers. It logs once when the database goes out, and once when it is
// back. If some calls fail and others do not, as on a locked SQLite, it logs at most once in logPause.
type calls struct {
	logger *slog.Logger
	failed func() // called when the database goes out, with no lock held

	mu   sync.Mutex
	out  bool
	told bool // the outage was logged
	logs minute.Gate
}

const logPause = 10 * time.Second

// Errors of visitors, which are no sign of an outage.
var harmless = []error{ErrInvalidName, ErrInvalidMessage, ErrInvalidMark, ErrInvalidMute, ErrTooManyMutes, ErrGap, ErrNoItem}

// done returns the error of a call, as an [ErrOut] if the database failed. A caller that gave up early, such
// as a page after 50 ms, is no sign of that.
func (c *calls) done(ctx context.Context, began time.Time, err error) error {
	for _, h := range harmless {
		if errors.Is(err, h) {
			return err
		}
	}
	gaveUp := time.Since(began)
	if end, ok := ctx.Deadline(); ok {
		gaveUp = min(gaveUp, end.Sub(began)) // this machine may be busy, so that the answer is late
	}
	if err != nil && ctx.Err() != nil && gaveUp < patience*9/10 {
		return fmt.Errorf("%w: %w", ErrOut, err)
	}
	c.mu.Lock()
	was := c.out
	c.out = err != nil
	fails := c.out && (!c.told && c.logs.PassAfter(logPause) || c.logs.Pass())
	back := c.told && !c.out
	c.told = c.out && (fails || c.told)
	c.mu.Unlock()
	switch {
	case fails:
		c.logger.Warn("presence: the database of feeds fails; bells stand still, and what is sent waits", slog.Any("error", err))
	case back:
		c.logger.Info("presence: the database of feeds is back")
	}
	if !was && err != nil {
		c.failed()
	}
	if err != nil && !errors.Is(err, ErrOut) {
		return fmt.Errorf("%w: %w", ErrOut, err)
	}
	return err
}

// patience is how long a call of the Keeper's own may take. A caller that gives up clearly earlier is no sign
// of an outage.
const patience = time.Second

func (c *calls) isOut() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.out
}

// call calls the Store.
func call[T any](ctx context.Context, c *calls, do func(context.Context) (T, error)) (T, error) {
	began := time.Now()
	answer, err := do(ctx)
	return answer, c.done(ctx, began, err)
}
