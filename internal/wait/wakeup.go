// Package wait has what goroutines wait for: a time, another goroutine, their turn.
package wait

// A Wakeup wakes one goroutine, which receives from it. Wake-ups that come while one is
// pending are merged with it, so the goroutine must look at everything that may have changed.
type Wakeup chan struct{}

// NewWakeup returns a Wakeup without a pending wake-up.
func NewWakeup() Wakeup { return make(Wakeup, 1) }

// Wake makes a wake-up pending. It never blocks, and may be called concurrently.
func (w Wakeup) Wake() {
	select {
	case w <- struct{}{}:
	default:
	}
}
