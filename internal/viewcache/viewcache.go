// Package viewcache keeps what was made of a [track.View], such as JSON or HTML, until
// the topic changes.
package viewcache

import (
	"container/list"
	"errors"
	"sync"
	"weak"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/track"
)

const (
	MaxBytes   = 8 << 20 // of all entries of a Cache
	EntryCost  = 256     // bytes of an entry beside its key and value, about
	maxEntries = 4096
)

// A Cache holds values by view and key. It holds those of one view a topic: a value of a
// newer view removes the values of the older one. When it is full, at 8 MiB or 4,096
// entries, it removes the entry that was used least recently.
//
// It keeps views weakly: a roster of thousands of users is freed once the tracker has a
// newer one. The zero value is empty. All methods may be called concurrently.
type Cache[K comparable, V any] struct {
	mu     sync.Mutex
	bytes  int
	topics map[presence.Topic]*cachedView[K]
	order  list.List // of *entry[K, V], the most recently used first
	making map[made[K]]*making[V]
}

// A made identifies a value, and a making is one that is being made.
type (
	made[K comparable] struct {
		view *track.View
		key  K
	}
	making[V any] struct {
		done  chan struct{} // closed after the other fields are set
		value V
		err   error
	}
)

type cachedView[K comparable] struct {
	view   weak.Pointer[track.View]
	values map[K]*list.Element
}

type entry[K comparable, V any] struct {
	topic presence.Topic
	key   K
	value V
	size  int
}

// Get returns the value of a view under a key, and whether there is one.
func (c *Cache[K, V]) Get(view *track.View, key K) (value V, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	cached := c.topics[view.Topic]
	if cached == nil || cached.view.Value() != view {
		return value, false
	}
	e, ok := cached.values[key]
	if !ok {
		return value, false
	}
	c.order.MoveToFront(e)
	return e.Value.(*entry[K, V]).value, true
}

// Latest returns the value under a key of the view of a topic that the cache holds, which may be an older one.
func (c *Cache[K, V]) Latest(topic presence.Topic, key K) (value V) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if cached := c.topics[topic]; cached != nil && cached.values[key] != nil {
		return cached.values[key].Value.(*entry[K, V]).value
	}
	return value
}

var errPanicked = errors.New("viewcache: the value could not be made")

// Make returns the value of a view under a key. If there is none, it calls make and keeps the value. Callers that come
// meanwhile wait for that value, so a crowd after a change costs one call. size is as for Put. No value is kept after an
// error, which all of them get.
func (c *Cache[K, V]) Make(view *track.View, key K, make func() (value V, size int, err error)) (V, error) {
	if value, ok := c.Get(view, key); ok {
		return value, nil
	}
	m, first := c.begin(made[K]{view, key})
	if !first {
		<-m.done
		return m.value, m.err
	}
	defer func() {
		c.mu.Lock()
		delete(c.making, made[K]{view, key})
		c.mu.Unlock()
		close(m.done)
	}()
	if value, ok := c.Get(view, key); ok { // another call has ended just now
		m.value, m.err = value, nil
		return value, nil
	}
	value, size, err := make()
	if err == nil {
		c.Put(view, key, value, size)
	}
	m.value, m.err = value, err
	return value, err
}

// begin returns the making of a value, and whether it is a new one.
func (c *Cache[K, V]) begin(of made[K]) (m *making[V], first bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if m, ok := c.making[of]; ok {
		return m, false
	}
	if c.making == nil {
		c.making = make(map[made[K]]*making[V])
	}
	m = &making[V]{done: make(chan struct{}), err: errPanicked}
	c.making[of] = m
	return m, true
}

// Put keeps a value, unless the view has one under the same key already. The size is that
// of the key and the value, in bytes.
func (c *Cache[K, V]) Put(view *track.View, key K, value V, size int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	cached := c.currentLocked(view)
	if cached.values[key] != nil {
		return
	}
	size += EntryCost
	cached.values[key] = c.order.PushFront(&entry[K, V]{view.Topic, key, value, size})
	c.bytes += size
	for last := c.order.Back(); last != nil && (c.bytes > MaxBytes || c.order.Len() > maxEntries || c.freedLocked(last)); last = c.order.Back() {
		c.removeLocked(last)
	}
}

// currentLocked returns the values of a view, after it has removed those of another view
// of the topic.
func (c *Cache[K, V]) currentLocked(view *track.View) *cachedView[K] {
	cached := c.topics[view.Topic]
	if cached != nil && cached.view.Value() == view {
		return cached
	}
	if cached != nil {
		for _, e := range cached.values {
			c.removeLocked(e)
		}
	}
	if c.topics == nil {
		c.topics = make(map[presence.Topic]*cachedView[K])
	}
	cached = &cachedView[K]{view: weak.Make(view), values: make(map[K]*list.Element)}
	c.topics[view.Topic] = cached
	return cached
}

// freedLocked reports whether the view of an entry is no longer in memory.
func (c *Cache[K, V]) freedLocked(e *list.Element) bool {
	return c.topics[e.Value.(*entry[K, V]).topic].view.Value() == nil
}

func (c *Cache[K, V]) removeLocked(e *list.Element) {
	old := c.order.Remove(e).(*entry[K, V])
	c.bytes -= old.size
	cached := c.topics[old.topic]
	if delete(cached.values, old.key); len(cached.values) == 0 {
		delete(c.topics, old.topic)
	}
}

// Held returns how many bytes the cache counts, and its values.
func (c *Cache[K, V]) Held() (bytes int, values []V) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for e := c.order.Front(); e != nil; e = e.Next() {
		values = append(values, e.Value.(*entry[K, V]).value)
	}
	return c.bytes, values
}
