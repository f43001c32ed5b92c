package handlers

import (
	"container/list"
	"sync"
	"weak"

	"github.com/rollcall-go/rollcall/presence"
)

// Bounds of a viewCache.
const (
	maxCached        = 8 << 20 // bytes, of keys, values and the overhead of entries
	maxCachedEntries = 4096
	cachedCost       = 256 // bytes of overhead of an entry, about
)

// A viewCache keeps encodings of the latest view of each topic, each under a key. A newer
// view of the topic replaces them all. When the cache is full, the least recently used
// entry is removed. The zero value is empty. The cache holds views weakly: the memory of a
// roster of thousands is freed when the tracker has a newer one.
type viewCache[K comparable, V any] struct {
	mu     sync.Mutex
	bytes  int
	topics map[presence.Topic]*cachedView[K]
	order  list.List // of *cached[K, V], the most recently used at the front
}

type cachedView[K comparable] struct {
	view weak.Pointer[presence.View]
	kept map[K]*list.Element
}

type cached[K comparable, V any] struct {
	topic presence.Topic
	key   K
	value V
	size  int
}

// get returns the value of a view under a key, and false if there is none. A value of
// an earlier view does not count.
func (c *viewCache[K, V]) get(view *presence.View, key K) (value V, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	of := c.topics[view.Topic]
	if of == nil || of.view != weak.Make(view) {
		return value, false
	}
	e, ok := of.kept[key]
	if !ok {
		return value, false
	}
	c.order.MoveToFront(e)
	return e.Value.(*cached[K, V]).value, true
}

// put adds a value, and removes those of an earlier view. The size is that of the key and
// the value, in bytes.
func (c *viewCache[K, V]) put(view *presence.View, key K, value V, size int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	of := c.topics[view.Topic]
	if of != nil && of.view != weak.Make(view) {
		for _, e := range of.kept {
			c.removeLocked(e)
		}
		of = nil
	}
	if of != nil && of.kept[key] != nil {
		return // another goroutine was faster
	}
	if of == nil {
		if c.topics == nil {
			c.topics = make(map[presence.Topic]*cachedView[K])
		}
		of = &cachedView[K]{view: weak.Make(view), kept: make(map[K]*list.Element)}
		c.topics[view.Topic] = of
	}
	size += cachedCost
	of.kept[key] = c.order.PushFront(&cached[K, V]{view.Topic, key, value, size})
	c.bytes += size
	for last := c.order.Back(); last != nil && (c.bytes > maxCached || c.order.Len() > maxCachedEntries || c.staleLocked(last)); last = c.order.Back() {
		c.removeLocked(last)
	}
}

// staleLocked reports whether the view of an entry is not in memory any more.
func (c *viewCache[K, V]) staleLocked(e *list.Element) bool {
	return c.topics[e.Value.(*cached[K, V]).topic].view.Value() == nil
}

// removeLocked removes an entry.
func (c *viewCache[K, V]) removeLocked(e *list.Element) {
	out := c.order.Remove(e).(*cached[K, V])
	c.bytes -= out.size
	of := c.topics[out.topic]
	if delete(of.kept, out.key); len(of.kept) == 0 {
		delete(c.topics, out.topic)
	}
}
