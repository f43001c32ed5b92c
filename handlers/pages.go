package handlers

import (
	"sync"
	"weak"

	"github.com/rollcall-go/rollcall/presence"
)

// maxCached bounds what a viewCache holds, in bytes.
const maxCached = 8 << 20

// A viewCache holds what was encoded of views, each under a key: the latest of its
// topic. The zero value is empty. It remembers a view without keeping it: a roster
// of thousands goes when the tracker has a newer one.
type viewCache[K comparable, V any] struct {
	mu    sync.Mutex
	bytes int
	kept  map[viewKey[K]]cached[V]
}

type viewKey[K comparable] struct {
	topic presence.Topic
	key   K
}

type cached[V any] struct {
	view  weak.Pointer[presence.View]
	value V
	size  int
}

// get returns what was encoded of a view under a key, and false where that is
// nothing, or something of an earlier view.
func (c *viewCache[K, V]) get(view *presence.View, key K) (value V, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if e := c.kept[viewKey[K]{view.Topic, key}]; e.view == weak.Make(view) {
		return e.value, true
	}
	return value, false
}

// put keeps a value of so many bytes, in the place of one of an earlier view. When
// the room runs out all are forgotten: what is asked for comes back at once.
func (c *viewCache[K, V]) put(view *presence.View, key K, value V, size int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	at := viewKey[K]{view.Topic, key}
	c.bytes += size - c.kept[at].size
	if c.kept == nil || c.bytes > maxCached {
		c.kept = make(map[viewKey[K]]cached[V])
		c.bytes = size
	}
	c.kept[at] = cached[V]{weak.Make(view), value, size}
}
