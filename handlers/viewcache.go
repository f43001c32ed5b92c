package handlers

import (
	"container/list"
	"sync"
	"weak"

	"github.com/rollcall-go/rollcall/presence"
)

// Bounds of a viewCache.
const (
	maxCached        = 8 << 20 // bytes, of keys and of what it takes to keep an entry too
	maxCachedEntries = 4096
	cachedCost       = 256 // bytes of an entry beside key and value, about
)

// A viewCache holds what was encoded of views, each under a key: of the latest view of
// a topic, so that a newer one takes all of the older with it. The entry used least
// recently goes first when the room runs out. The zero value is empty. It remembers a
// view without keeping it: a roster of thousands goes when the tracker has a newer one.
type viewCache[K comparable, V any] struct {
	mu     sync.Mutex
	bytes  int
	topics map[presence.Topic]*cachedView[K]
	order  list.List // of *cached[K, V], the one used latest at the front
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

// get returns what was encoded of a view under a key, and false where that is
// nothing, or something of an earlier view.
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

// put keeps a value, and forgets those of an earlier view. The size is that of the
// key and the value, in bytes.
func (c *viewCache[K, V]) put(view *presence.View, key K, value V, size int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	of := c.topics[view.Topic]
	if of != nil && of.view != weak.Make(view) {
		for _, e := range of.kept {
			c.remove(e)
		}
		of = nil
	}
	if of != nil && of.kept[key] != nil {
		return // somebody else was faster
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
	for last := c.order.Back(); last != nil && (c.bytes > maxCached || c.order.Len() > maxCachedEntries || c.old(last)); last = c.order.Back() {
		c.remove(last)
	}
}

// old reports whether an entry is of a view that nobody has any more.
func (c *viewCache[K, V]) old(e *list.Element) bool {
	return c.topics[e.Value.(*cached[K, V]).topic].view.Value() == nil
}

func (c *viewCache[K, V]) remove(e *list.Element) {
	out := c.order.Remove(e).(*cached[K, V])
	c.bytes -= out.size
	of := c.topics[out.topic]
	if delete(of.kept, out.key); len(of.kept) == 0 {
		delete(c.topics, out.topic)
	}
}
