package deliver

import (
	"context"
	"errors"
	"log/slog"
	"runtime/debug"
	"time"
)

// lane calls fn with one event after another.
func (l *leader) lane(ctx context.Context) {
	for {
		p, run := l.out.take(ctx)
		if p == nil {
			return
		}
		err := l.call(run, p.Event)
		if l.out.done(p, run, err) {
			time.AfterFunc(ackEvery, l.woken.Wake)
		}
		var gone *giveUpError
		if errors.As(err, &gone) && l.logs.Pass() {
			l.log().Warn("presence: an event was given up", slog.String("id", p.ID), slog.Any("error", err))
		}
	}
}

// errPanicked is the error of a call of fn that panicked.
var errPanicked = errors.New("the consumer's function panicked")

// call calls fn. A panic is an error.
func (l *leader) call(ctx context.Context, e Event) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = errPanicked
			if l.logs.Pass() {
				l.log().Error("presence: the consumer's function panicked; its event comes again",
					slog.Any("panic", r), slog.String("stack", string(debug.Stack())))
			}
		}
	}()
	return l.fn(ctx, e)
}
