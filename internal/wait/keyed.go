package wait

import (
	"context"
	"sync"
)

// Keyed has a few places for each key, such as a lock for each user. It keeps only the keys that are in use. The zero
// value has one place for each key.
type Keyed[K comparable] struct {
	Places int // of a key; at least 1

	mu   sync.Mutex
	used map[K]*keyPlaces
}

type keyPlaces struct {
	callers int // those that have a place or wait for one; Keyed.mu guards it
	taken   chan struct{}
}

// Enter waits for a place of a key, and returns the function that leaves it. It returns the error of ctx if ctx
// ends before.
func (k *Keyed[K]) Enter(ctx context.Context, key K) (leave func(), err error) {
	k.mu.Lock()
	in := k.used[key]
	if in == nil {
		if k.used == nil {
			k.used = make(map[K]*keyPlaces)
		}
		in = &keyPlaces{taken: make(chan struct{}, max(k.Places, 1))}
		k.used[key] = in
	}
	in.callers++
	k.mu.Unlock()
	select {
	case in.taken <- struct{}{}:
		return func() { <-in.taken; k.forget(key, in) }, nil
	case <-ctx.Done():
		k.forget(key, in)
		return nil, ctx.Err()
	}
}

// forget removes a key after its last caller.
func (k *Keyed[K]) forget(key K, in *keyPlaces) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if in.callers--; in.callers == 0 {
		delete(k.used, key)
	}
}
