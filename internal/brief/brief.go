// Package brief has a cache of answers that are right for a short time only.
package brief

import (
	"sync"
	"time"

	"github.com/rollcall-go/rollcall/internal/generations"
)

// A Cache keeps answers until they have an age. A timer drops old answers even if no request comes; it runs
// while there are answers. All methods may be called concurrently.
type Cache[K comparable, V any] struct {
	Age time.Duration // how long an answer is valid; not to be changed while the cache is used

	mu    sync.Mutex
	timer *time.Timer // runs while answers are kept; nil: never started
	kept  *generations.Map[K, answer[V]]
}

type answer[V any] struct {
	value V
	asked time.Time
}

// New returns an empty Cache of up to most answers.
func New[K comparable, V any](age time.Duration, most int) *Cache[K, V] {
	return &Cache[K, V]{Age: age, kept: generations.New[K, answer[V]](most, nil)}
}

// Get returns the answer under a key, and whether there is one that is still valid.
func (c *Cache[K, V]) Get(key K) (value V, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	a, ok := c.kept.Get(key)
	if !ok || time.Since(a.asked) >= c.Age {
		return value, false
	}
	return a.value, true
}

// Set keeps an answer. Its age counts from the question: what has happened since is not in it. The key must
// share no memory with a request.
func (c *Cache[K, V]) Set(key K, value V, asked time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.kept.Len() == 0 {
		c.startTimerLocked()
	}
	c.kept.Set(key, answer[V]{value, asked})
}

// Len returns how many answers are kept.
func (c *Cache[K, V]) Len() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.kept.Len()
}

// startTimerLocked starts a timer that drops each answer within two ages.
func (c *Cache[K, V]) startTimerLocked() {
	if c.timer != nil {
		c.timer.Reset(c.Age)
		return
	}
	c.timer = time.AfterFunc(c.Age, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.kept.Turn(); c.kept.Len() > 0 {
			c.timer.Reset(c.Age)
		}
	})
}
