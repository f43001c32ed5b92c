package deliver

import (
	"context"
	"log/slog"
	"maps"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
)

// A Node has what [Consumers] need from the node that they run on. A track.Tracker makes it.
type Node struct {
	Name   string
	Logger *slog.Logger
	Store  backend.Store

	Life  context.Context                     // ends when the node closes
	Spawn func(fn func(context.Context)) bool // runs fn until Life ends; false: it has ended

	// Restored reports what is true of a topic's roster after the store may have lost data at a moment. restored:
	// every node has had time to write again who is there. ended: the lease of nobody who left still runs.
	Restored func(topic presence.Topic, loss time.Time) (restored, ended bool)
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

// register notes that a consumer runs, and gives it its counters.
func (d *Consumers) register(c *consumer) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.running[c] = true
	if d.byName[c.name] == nil {
		d.byName[c.name] = new(counters)
	}
	c.stats = d.byName[c.name]
}

func (d *Consumers) unregister(c *consumer) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.running, c)
}

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

type counters struct {
	told, failed, repeated, dropped, gaps atomic.Uint64

	left  atomic.Int64
	leads atomic.Pointer[outbox] // nil: this node does not lead
}

// Stats returns the figures of each consumer by name.
func (d *Consumers) Stats() map[string]Stats {
	d.mu.Lock()
	byName := maps.Clone(d.byName)
	d.mu.Unlock()
	all := make(map[string]Stats, len(byName))
	for name, c := range byName {
		s := Stats{Told: c.told.Load(), Failed: c.failed.Load(), Repeated: c.repeated.Load(), Dropped: c.dropped.Load(), Gaps: c.gaps.Load()}
		if out := c.leads.Load(); out != nil {
			s.Leads, s.Left = true, int(c.left.Load())
			s.Backlog, s.Oldest = out.waits()
		}
		all[name] = s
	}
	return all
}

// Forget makes each consumer forget a user.
func (d *Consumers) Forget(e backend.Erasure) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for c := range d.running {
		c.erased = append(c.erased, erasedAt{e, time.Now().Add(-e.Ago)})
		c.woken.Wake()
	}
}

// An erasedAt is an erasure, and the time of its request.
type erasedAt struct {
	backend.Erasure
	at time.Time
}

// forgetErased removes erased users from what a node that does not lead remembers, and returns the erasures.
func (c *consumer) forgetErased() (all []erasedAt) {
	c.mu.Lock()
	all, c.erased = c.erased, nil
	c.mu.Unlock()
	for _, e := range all {
		maps.DeleteFunc(c.memory, e.NamesEntry)
	}
	return all
}

// forgetErased removes erased users from the record: those whose joins were told, and their events that wait.
func (l *leader) forgetErased() {
	for _, e := range l.consumer.forgetErased() {
		for _, f := range l.follows {
			if u, told := f.users[e.User]; told && u.Since.Before(e.at) {
				delete(f.users, e.User)
				l.set(toldKey(f.topic, e.User), "")
			}
		}
		l.out.forget(e)
	}
}
