package wait

import "context"

// A Mutex is a lock whose Lock ends with a context.
type Mutex chan struct{}

// NewMutex returns an unlocked Mutex.
func NewMutex() Mutex { return make(Mutex, 1) }

// Lock waits for the lock. If ctx ends first it returns ctx.Err(), and the caller does not
// hold the lock.
func (m Mutex) Lock(ctx context.Context) error {
	select {
	case m <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// TryLock takes the lock if it is free, and reports whether it did.
func (m Mutex) TryLock() bool {
	select {
	case m <- struct{}{}:
		return true
	default:
		return false
	}
}

// Unlock gives the lock back. Only the goroutine that holds the lock may call it.
func (m Mutex) Unlock() { <-m }
