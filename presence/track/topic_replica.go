package track

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
)

// topicEnv has the parts of a tracker that replicas need. All replicas share it.
type topicEnv struct {
	store   backend.Store
	outage  *outage
	cfg     *Config
	stats   *counters
	spawn   func(func(context.Context)) // runs a function in a goroutine that ends with the tracker
	restore func(context.Context) error // writes again everything of this node that the store may have lost
	records *userRecords
	process string       // the name of this process
	names   atomic.Int32 // how many names nextVersion has made
	writer  *writer
	peaks   *peaks
	probes  *sync.Pool // of *entry, to search rosters by
	ages    broadcastAges
}

// A replica is the roster of one topic on this node, kept current by the store's diffs.
// What it has published, as View and as events, is at most Config.MergeWindow older than
// what it knows. Its files: topic_sync.go reads the store, topic_publish.go and
// topic_resume.go serve readers, topic_provisional.go covers a store that lost data,
// topic_signals.go hears what nobody keeps.
type replica struct {
	*topicEnv
	out    *outlet
	kind   presence.Kind
	view   atomic.Pointer[View] // nil until loaded
	loaded chan struct{}        // closed once view is set
	tried  chan struct{}        // closed once the first try to load failed

	// heard, if it is not nil, takes the place of readers: it gets the net changes of each publication, or nil
	// if anything may have changed. It is called with the outlet's mutex held, after view was set. See
	// backend.DevicesTopic.
	heard func(n *net)

	rest rest // when its figures are asked for

	from string // the client's address in whose share the topic counts; topics.mu guards it

	mu         outletMutex // which is the outlet's, too
	ledger     ledger
	watch      storeWatch
	settling   *time.Timer    // settles
	counts     backend.Counts // the latest figures; their total belongs to the head
	pace       figurePace
	staleSince time.Time       // since when the store is out; zero: it is not
	cursor     presence.Cursor // the cursor of the latest event
	counting   bool            // over the roster limit, or count-only: events have only totals
	closed     bool
	merging    mergeWindow
	arrived    moment               // when the oldest unpublished diff arrived
	resumed    map[int]*sharedEvent // the diffs for readers that resume, by position in the history
	signals    *topicSignals        // nil until the first signal
	windows    *windows
}

// newReplica returns a replica that load begins.
func newReplica(topic presence.Topic, env *topicEnv) *replica {
	r := &replica{
		topicEnv: env,
		kind:     env.cfg.Kind(topic),
		loaded:   make(chan struct{}),
		tried:    make(chan struct{}),
	}
	r.out = newOutlet(topic, env.stats, &r.mu)
	return r
}

func (r *replica) outlet() *outlet { return r.out }

// unused reports whether the topic has had no use and no readers for a duration.
func (r *replica) unused(after time.Duration) bool {
	if !r.out.unused(after) {
		return false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return !r.windows.inUse()
}

func (r *replica) latest() sourceView { return r.view.Load() }

// receive takes a diff from the store. It waits for mutexes only.
func (r *replica) receive(d backend.Diff) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.stats.diffsReceived.Add(1)
	switch {
	case r.closed || r.ledger.knows(d.ID):
	case !r.ledger.loaded() || r.watch.resyncing:
		r.watch.hold(d)
	case r.ledger.follows(d):
		r.addLocked(d)
		r.schedulePublishLocked()
	default:
		r.resyncLocked(false)
	}
}

// addLocked adds the next diff, to be published later.
func (r *replica) addLocked(d backend.Diff) {
	if r.ledger.unpublished() == 0 {
		r.arrived = momentOf(time.Now())
	}
	l := &r.ledger
	v := version{id: d.ID, total: d.Total}
	for c := range rosterChanges(d) {
		l.reach(c.moment())
		shown := l.get(c.id)
		a := apart{stored: c.after, counts: shown != nil} // who hides is listed until the store says so, or hidesWithin is over
		if _, is := l.apart[c.id]; is {
			a.since = time.Now()
		}
		if c.after != nil {
			c.left = backend.Departure{ID: c.id, LastSeen: d.At}
		}
		c.after = r.see(c.id, a, shown)
		l.change(&v, c)
	}
	l.history.add(v)
	l.history.mixed = l.history.mixed || len(l.apart) > 0
	l.head = d.ID
}

// has reports whether a user is there, as far as this node knows. It returns true before the topic is loaded.
func (r *replica) has(id presence.UserID) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return !r.ledger.loaded() || r.ledger.get(id) != nil
}

// close ends the replica. Its View stays readable.
func (r *replica) close() {
	r.mu.Lock()
	r.closed = true
	r.merging.stop()
	if r.settling != nil {
		r.settling.Stop()
	}
	r.windows.stop()
	r.signals.stop()
	stop := r.watch.stop
	r.mu.Unlock()
	if stop != nil {
		stop() // stop may wait for receive, which needs the mutex
	}
}
