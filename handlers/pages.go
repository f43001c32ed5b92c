package handlers

import (
	"sync"
	"weak"

	"github.com/rollcall-go/rollcall/presence"
)

// maxCachedPages bounds what a pageCache holds, in bytes of bodies.
const maxCachedPages = 8 << 20

// A pageCache holds the first pages of rosters, encoded. The zero value is
// empty. It remembers a view without keeping it: a roster of thousands goes when
// the tracker has a newer one.
type pageCache struct {
	mu    sync.Mutex
	bytes int
	pages map[pageKey]cachedPage
}

type pageKey struct {
	topic presence.Topic
	limit int
}

type cachedPage struct {
	view weak.Pointer[presence.View]
	*page
}

// get returns the page of a view, or nil where there is none.
func (c *pageCache) get(view *presence.View, limit int) *page {
	c.mu.Lock()
	defer c.mu.Unlock()
	if p := c.pages[pageKey{view.Topic, limit}]; p.view == weak.Make(view) {
		return p.page
	}
	return nil
}

// put keeps a page in the place of one of an earlier view. When the room runs
// out all are forgotten: what is asked for comes back at once.
func (c *pageCache) put(view *presence.View, limit int, p *page) {
	c.mu.Lock()
	defer c.mu.Unlock()
	key := pageKey{view.Topic, limit}
	if old, ok := c.pages[key]; ok {
		c.bytes -= len(old.body)
	}
	c.bytes += len(p.body)
	if c.pages == nil || c.bytes > maxCachedPages {
		c.pages = make(map[pageKey]cachedPage)
		c.bytes = len(p.body)
	}
	c.pages[key] = cachedPage{weak.Make(view), p}
}
