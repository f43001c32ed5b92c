package gate

import (
	"context"
	"runtime"
	"time"

	"github.com/rollcall-go/rollcall/internal/wait"
)

// Lanes let only a few of a caller's expensive requests run at a time: as many as half of the cores. So a burst of one
// user, or of the guests at one address, takes the time that it costs, and not all cores at once: pages of others are
// served meanwhile. A request is expensive if it costs more than its own token. Others do not wait.
type Lanes struct{ places wait.Keyed[Caller] }

// NewLanes returns Lanes that nobody uses.
func NewLanes() *Lanes {
	return &Lanes{places: wait.Keyed[Caller]{Places: runtime.GOMAXPROCS(0) / 2}}
}

// maxQueued is how long a request waits for a place. Those before it may wait for a store that is out.
const maxQueued = 2 * time.Second

// Enter waits for a place, and returns a function that leaves it. After maxQueued, or once ctx ends, the request goes on
// without one.
func (l *Lanes) Enter(ctx context.Context, c Caller) (leave func()) {
	if c.Guest = ""; c.User != "" {
		c.Address = ""
	}
	ctx, cancel := context.WithTimeout(ctx, maxQueued)
	defer cancel()
	leave, err := l.places.Enter(ctx, c)
	if err != nil {
		return func() {}
	}
	return leave
}
