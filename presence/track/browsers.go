package track

import (
	"strings"
	"sync/atomic"
	"time"
)

// browsers is what the browsers that got pages of this node made of them. A mistake in the wiring keeps all of
// them from opening a stream, so nothing is noted any more once one has.
type browsers struct {
	streamed atomic.Bool // a client has asked a node of the fleet for a stream or a poll
	scripted atomic.Bool // a client has asked this node for the script

	since        atomic.Int64 // when the first of the pages was shown, Unix nanoseconds; 0: there is none
	pages, heads atomic.Int64 // with an element, and those of them with a head
	page         atomic.Pointer[string]
	reports      int // only the fleet's goroutine uses it
}

const (
	streamsWithin = time.Minute // a browser asks for a stream as soon as it has the script
	maxShownPath  = 100         // bytes of a path that are logged
)

// shown is [Tracker.Shown].
func (b *browsers) shown(path string, head bool) {
	if b.pages.Add(1); head {
		b.heads.Add(1)
	}
	path = strings.Clone(path[:min(len(path), maxShownPath)])
	b.page.Store(&path)
	b.since.CompareAndSwap(0, time.Now().UnixNano())
}

// missed returns what to log if pages have waited for a stream in vain: at first for a minute, and then for
// twice as long each time. It returns nil otherwise.
func (b *browsers) missed() []any {
	since := b.since.Load()
	if since == 0 || b.streamed.Load() || time.Now().UnixNano()-since < int64(streamsWithin<<min(b.reports, 10)) {
		return nil
	}
	b.reports++
	b.since.Store(0)
	return []any{"pages", b.pages.Swap(0), "heads", b.heads.Swap(0), "script", b.scripted.Load(), "page", *b.page.Load()}
}
