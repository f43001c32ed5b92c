package memstore

import (
	"container/heap"
	"slices"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
)

// Bounds of a topic's log: the diffs in it, and the changes in all of these.
const (
	maxLogDiffs   = 1024
	maxLogChanges = 100_000
)

// A topicState is all that a Store knows of one topic. The store's mutex guards it.
type topicState struct {
	users   map[presence.UserID]*presentUser // users who hold a lease, visible or not
	total   int                              // how many of them are visible
	expiry  leaseHeap
	joins   uint64                  // the order of the latest lease; rule 6 depends on the order of leases
	views   window[presence.UserID] // users who viewed a page
	guests  guestSets
	bots    botSet
	aged    time.Time // when the sets last turned; zero while there are none
	began   time.Time // when the previous period of the sets began
	head    presence.DiffID
	log     []backend.Diff
	changes int // number of changes in log
	changed time.Time
	seen    map[presence.UserID]time.Time // when each user who left was last seen
	keep    presence.Keep                 // the Keep of the latest batch
	names   *nameList                     // nil unless keep.Names
}

// A presentUser is a user who holds at least one lease.
type presentUser struct {
	presence.Member
	visible bool
	seen    time.Time    // the last proof of life
	leases  []*heldLease // two or three, so a slice beats a map
}

// A heldLease holds a user online until it expires.
type heldLease struct {
	user    presence.UserID
	holder  presence.Holder
	order   uint64 // the value of topic.joins when the connection joined, or when the latest page view came
	expires time.Time
	length  time.Duration // the latest proof of life was at expires - length
	idle    bool          // for a page view: a connection has taken its place (rule 24)

	due   time.Time // its place in the heap; expires may be later
	index int       // in the heap; -1: the lease has ended
}

func newTopicState() *topicState {
	return &topicState{
		users: make(map[presence.UserID]*presentUser),
		head:  backend.Origin,
		seen:  make(map[presence.UserID]time.Time),
	}
}

// append adds a diff to the log, and drops the oldest diffs over the bounds.
func (t *topicState) append(d backend.Diff, now time.Time) {
	t.head, t.changed = d.ID, now
	t.log = append(t.log, d)
	t.changes += size(d)
	drop := 0
	for len(t.log)-drop > 1 && (len(t.log)-drop > maxLogDiffs || t.changes > maxLogChanges) {
		t.changes -= size(t.log[drop])
		drop++
	}
	t.log = slices.Delete(t.log, 0, drop)
}

// due reports whether a lease has expired. It brings the heap up to date first.
func (t *topicState) due(now time.Time) bool {
	for len(t.expiry) > 0 && !t.expiry[0].due.After(now) {
		first := t.expiry[0]
		if !first.expires.After(now) {
			return true
		}
		first.due = first.expires // a heartbeat has lengthened the lease without updating the heap
		heap.Fix(&t.expiry, 0)
	}
	return false
}

// age turns the sets if a period is over (rule 8), and reports whether it was.
func (t *topicState) age(now time.Time, period time.Duration) bool {
	if t.aged.IsZero() || now.Sub(t.aged) < period {
		return false
	}
	t.turn()
	if now.Sub(t.aged) >= 2*period {
		t.turn()
	}
	t.began, t.aged = t.aged, now
	if t.unvisited() {
		t.aged = time.Time{}
	}
	return true
}

// unvisited reports whether the sets are empty.
func (t *topicState) unvisited() bool {
	return len(t.views) == 0 && t.guests.empty() && t.bots.empty()
}

func (t *topicState) turn() {
	t.views.turn()
	t.guests.turn()
	t.bots.turn()
}

// setKeep applies the Keep of a batch.
func (t *topicState) setKeep(k presence.Keep) {
	t.keep = k
	switch {
	case k.Names == 0:
		t.names = nil
	case t.names == nil:
		t.names = newNameList()
	default:
		t.names.trim(k.Names)
	}
}

// keepLog is how long the log of an empty topic is kept at least.
const keepLog = time.Minute

// forget drops the log of a topic that has been empty for a period, as others see it (rule 9). It also drops
// the names of users who were active long ago (rule 15).
func (t *topicState) forget(now time.Time, period time.Duration) {
	t.names.forget(now.Add(-backend.MaxWithin))
	if t.total == 0 && now.Sub(t.changed) >= max(period, keepLog) {
		t.head, t.log, t.changes = backend.Origin, nil, 0
	}
}

// empty reports whether the topic holds nothing any more.
func (t *topicState) empty() bool {
	return len(t.users) == 0 && t.head == backend.Origin && t.aged.IsZero() && len(t.seen) == 0 && t.names.len() == 0
}

// lately reports whether somebody is in the topic, or was recently.
func (t *topicState) lately() bool {
	return len(t.users) > 0 || t.head != backend.Origin || !t.aged.IsZero()
}

// leaseHeap orders leases by due, the next to expire first.
type leaseHeap []*heldLease

func (h leaseHeap) Len() int           { return len(h) }
func (h leaseHeap) Less(i, j int) bool { return h[i].due.Before(h[j].due) }
func (h leaseHeap) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].index, h[j].index = i, j
}

func (h *leaseHeap) Push(x any) {
	l := x.(*heldLease)
	l.index = len(*h)
	*h = append(*h, l)
}

func (h *leaseHeap) Pop() any {
	old := *h
	l := old[len(old)-1]
	old[len(old)-1] = nil
	*h = old[:len(old)-1]
	l.index = -1
	return l
}

// size is the number of changes in a diff.
func size(d backend.Diff) int { return len(d.Joins) + len(d.Updates) + len(d.Leaves) }
