// Package minute limits log lines: an error that occurs at every request is logged once a minute.
package minute

import (
	"sync/atomic"
	"time"
)

// A Gate lets one caller a minute through. The zero value lets the first one through. It
// may be used concurrently.
type Gate struct {
	last atomic.Int64 // when it last let a caller through, Unix nanoseconds
}

// Pass reports whether a minute has passed since the Gate last let a caller through.
func (g *Gate) Pass() bool { return g.PassAfter(time.Minute) }

// PassAfter is Pass with another pause than a minute.
func (g *Gate) PassAfter(pause time.Duration) bool {
	was, now := g.last.Load(), time.Now().UnixNano()
	return now-was >= int64(pause) && g.last.CompareAndSwap(was, now)
}

// Open makes the Gate let the next caller through.
func (g *Gate) Open() { g.last.Store(0) }
