package track

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/rollcall-go/rollcall/presence/backend"
)

// DeliveryStats are the figures of one consumer of [Tracker.Deliver] on this node.
type DeliveryStats struct {
	Leads    bool          // this node calls the consumer's fn
	Told     uint64        // events that fn took
	Failed   uint64        // calls of fn that returned an error or panicked
	Repeated uint64        // failed calls whose event comes again
	Dropped  uint64        // events given up, or dropped since too many waited
	Gaps     uint64        // gaps that were found
	Backlog  int           // events that wait; 0 on a node that does not lead
	Oldest   time.Duration // how long the oldest of them has waited
	Left     int           // topics of kinds that are not followed, since DeliverOptions.MaxTopics are
}

// deliveries are all consumers, and their figures.
type deliveries struct {
	cfg    *Config
	life   *lifetime
	store  backend.Store
	outage *outage

	mu     sync.Mutex // taken with no other mutex held
	byName map[string]*deliveryCounters

	running map[*consumer]struct{}
}

// begin notes a consumer that runs, and end that it ended.
func (d *deliveries) begin(c *consumer) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.running == nil {
		d.running = make(map[*consumer]struct{})
	}
	d.running[c] = struct{}{}
}

func (d *deliveries) end(c *consumer) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.running, c)
}

type deliveryCounters struct {
	told, failed, repeated, dropped, gaps atomic.Uint64

	leads   atomic.Bool
	backlog atomic.Int64
	left    atomic.Int64
	oldest  atomic.Int64 // Unix nanoseconds; 0: nothing waits
}

func (d *deliveries) of(consumer string) *deliveryCounters {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.byName == nil {
		d.byName = make(map[string]*deliveryCounters)
	}
	if d.byName[consumer] == nil {
		d.byName[consumer] = new(deliveryCounters)
	}
	return d.byName[consumer]
}

// stats returns the figures of each consumer by name; nil if there is none.
func (d *deliveries) stats() map[string]DeliveryStats {
	d.mu.Lock()
	defer d.mu.Unlock()
	var all map[string]DeliveryStats
	for name, c := range d.byName {
		if all == nil {
			all = make(map[string]DeliveryStats)
		}
		s := DeliveryStats{
			Leads: c.leads.Load(), Told: c.told.Load(), Failed: c.failed.Load(), Repeated: c.repeated.Load(),
			Dropped: c.dropped.Load(), Gaps: c.gaps.Load(), Backlog: int(c.backlog.Load()), Left: int(c.left.Load()),
		}
		if oldest := c.oldest.Load(); oldest != 0 {
			s.Oldest = max(time.Since(time.Unix(0, oldest)), 0)
		}
		all[name] = s
	}
	return all
}

// waits notes how many events wait, and since when the oldest does.
func (c *deliveryCounters) waits(n int, oldest time.Time) {
	c.backlog.Store(int64(n))
	if n == 0 {
		c.oldest.Store(0)
	} else {
		c.oldest.Store(oldest.UnixNano())
	}
}
