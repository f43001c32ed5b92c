package track

import (
	"context"
	"sync"
)

// A lifetime owns the goroutines of a Tracker. It begins with the Tracker, and no
// goroutine outlives [Tracker.Close].
type lifetime struct {
	ctx context.Context // done once the Tracker closes
	end context.CancelFunc

	mu    lifetimeMutex // orders spawn and stop
	owned sync.WaitGroup
}

func newLifetime() *lifetime {
	l := new(lifetime)
	l.ctx, l.end = context.WithCancel(context.Background())
	return l
}

// spawn runs fn in a goroutine. After stop it is a no-op that returns false.
func (l *lifetime) spawn(fn func(context.Context)) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ctx.Err() != nil {
		return false
	}
	l.owned.Go(func() { fn(l.ctx) })
	return true
}

// stop ends the context of all goroutines. wait returns once they have returned.
func (l *lifetime) stop() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.end()
}

func (l *lifetime) wait() { l.owned.Wait() }

// over reports whether stop was called.
func (l *lifetime) over() bool { return l.ctx.Err() != nil }
