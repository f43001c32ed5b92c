package chaostest_test

import (
	"fmt"
	"sync"
	"time"

	"github.com/rollcall-go/rollcall/examples/forum/internal/forumtest"
)

// An absence notes for how long a user had no stream. Who comes back too late, since the machine
// is busy, is seen to leave. So it counts how often that was.
type absence struct {
	mu      sync.Mutex
	streams int
	from    time.Time     // since when there is none; zero: the user did not come yet
	held    time.Duration // for how long the fleet holds the user then
	late    int
	latest  []string
}

// heldAfterKill is for how long the fleet holds those of a killed node, instead of the grace: they
// hang on its lease, of which a third may be over.
const heldAfterKill = chaosTTL * 2 / 3

// begin is for when a stream ends that was open since a moment.
func (a *absence) begin(at *forumtest.Node, since time.Time) {
	if a == nil {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.streams--; a.streams > 0 {
		return
	}
	a.from, a.held = time.Now(), chaosGrace
	if ended := at.LastEnd(); ended.At.After(since) {
		a.from = ended.At
		if ended.Killed {
			a.held = heldAfterKill
		}
	}
}

// end is for when a stream is open that was asked for at a moment.
func (a *absence) end(asked time.Time) {
	if a == nil {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.streams++; a.streams > 1 || a.from.IsZero() {
		return
	}
	away := asked.Sub(a.from)
	a.latest = append(a.latest, fmt.Sprintf("%s without a stream until %v later, open after %v, held for %v", a.from.Format("05.000"), away.Round(time.Millisecond), time.Since(a.from).Round(time.Millisecond), a.held))
	if away > a.held {
		a.late++
	}
}

// again is for when the user comes.
func (a *absence) again() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.from = time.Time{}
}

// taken returns how often the user came back too late, and all absences since the last call.
func (a *absence) taken() (late int, all []string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	late, all = a.late, a.latest
	a.latest = nil
	return late, all
}
