package redisstore

import (
	"sync/atomic"
	"time"

	"github.com/rollcall-go/rollcall/internal/wait"
)

// A pace is how often this node asks the server whether messages were lost. A node asks about once a second
// while it is used: it follows a topic, or in the last minute it wrote something or lost a connection. A node
// that nobody uses asks every ten seconds, and at once when it is used again.
type pace struct {
	began time.Time
	last  atomic.Int64 // when the node was last used, in nanoseconds since began
	woken wait.Wakeup  // the node is used again after a rest
}

const (
	restsAfter = time.Minute
	restHear   = 10 * time.Second
	restPing   = 10 * time.Second
)

func newPace() *pace { return &pace{began: time.Now(), woken: wait.NewWakeup()} }

// used notes that the node is used.
func (p *pace) used() {
	if p.rests() {
		p.woken.Wake()
	}
	p.last.Store(int64(time.Since(p.began)))
}

// rests reports whether nobody uses the node.
func (p *pace) rests() bool { return time.Since(p.began)-time.Duration(p.last.Load()) > restsAfter }

// or returns busy, or quiet if nobody uses the node.
func (p *pace) or(busy, quiet time.Duration) time.Duration {
	if p.rests() {
		return quiet
	}
	return busy
}
