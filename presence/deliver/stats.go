package deliver

import (
	"sync"
	"sync/atomic"
	"time"
)

// Stats are the figures of one consumer of [Consumers.Run] on this node.
type Stats struct {
	Leads    bool          // this node calls the consumer's fn
	Told     uint64        // events that fn took
	Failed   uint64        // calls of fn that returned an error or panicked
	Repeated uint64        // failed calls whose event comes again
	Dropped  uint64        // events given up, or dropped because too many waited
	Gaps     uint64        // gaps that were found
	Backlog  int           // events that wait; 0 on a node that does not lead
	Oldest   time.Duration // how long the oldest of them has waited
	Left     int           // topics of kinds that are not followed, because Options.MaxTopics others are
}

// Consumers has all consumers of a node, and their figures.
type Consumers struct {
	node Node

	mu      sync.Mutex // taken with no other mutex held
	byName  map[string]*counters
	running map[*consumer]bool
}

// New returns the Consumers of a node. None runs yet.
func New(node Node) *Consumers {
	return &Consumers{node: node, byName: make(map[string]*counters), running: make(map[*consumer]bool)}
}

// begin notes that a consumer runs, and returns its counters.
func (d *Consumers) begin(c *consumer) *counters {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.running[c] = true
	if d.byName[c.name] == nil {
		d.byName[c.name] = new(counters)
	}
	return d.byName[c.name]
}

func (d *Consumers) end(c *consumer) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.running, c)
}

type counters struct {
	told, failed, repeated, dropped, gaps atomic.Uint64

	leads   atomic.Bool
	backlog atomic.Int64
	left    atomic.Int64
	oldest  atomic.Pointer[time.Time] // nil: nothing waits
}

// Stats returns the figures of each consumer by name; nil if there is none.
func (d *Consumers) Stats() map[string]Stats {
	d.mu.Lock()
	defer d.mu.Unlock()
	var all map[string]Stats
	for name, c := range d.byName {
		if all == nil {
			all = make(map[string]Stats)
		}
		s := Stats{
			Leads: c.leads.Load(), Told: c.told.Load(), Failed: c.failed.Load(), Repeated: c.repeated.Load(),
			Dropped: c.dropped.Load(), Gaps: c.gaps.Load(), Backlog: int(c.backlog.Load()), Left: int(c.left.Load()),
		}
		if oldest := c.oldest.Load(); oldest != nil {
			s.Oldest = max(time.Since(*oldest), 0)
		}
		all[name] = s
	}
	return all
}

// waits stores how many events wait, and since when the oldest of them does.
func (c *counters) waits(n int, oldest *time.Time) {
	c.backlog.Store(int64(n))
	c.oldest.Store(oldest)
}
