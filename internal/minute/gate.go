// Package minute keeps a log readable: what goes wrong at every request is logged once a
// minute.
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

// Pass reports whether a minute has passed since it last returned true.
func (g *Gate) Pass() bool {
	was, now := g.last.Load(), time.Now().UnixNano()
	return now-was >= int64(time.Minute) && g.last.CompareAndSwap(was, now)
}
