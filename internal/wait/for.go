package wait

import (
	"context"
	"time"
)

// For waits for d. It returns false if ctx ends first.
func For(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}

// Until waits until it receives from ready, until ready is closed, or for the time most. A negative most is
// no limit. It returns false if ctx has ended.
func Until(ctx context.Context, ready <-chan struct{}, most time.Duration) bool {
	var late <-chan time.Time
	if most >= 0 {
		timer := time.NewTimer(most)
		defer timer.Stop()
		late = timer.C
	}
	select {
	case <-ctx.Done():
	case <-ready:
	case <-late:
	}
	return ctx.Err() == nil
}
