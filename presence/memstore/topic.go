package memstore

import (
	"slices"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
	"github.com/tidwall/btree"
)

// Bounds of a topic's log: the diffs in it, and the changes in all of these.
const (
	maxLogDiffs   = 1024
	maxLogChanges = 100_000
)

// A topicState is all that a Store knows of one topic. The store's mutex guards it.
type topicState struct {
	members map[presence.UserID]*member
	total   int                     // how many of them are listed
	expiry  *btree.BTreeG[*lease]   // all that expires, the next first
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

func newTopicState() *topicState {
	return &topicState{
		members: make(map[presence.UserID]*member),
		expiry:  btree.NewBTreeGOptions(nextToExpire, btree.Options{NoLocks: true}),
		head:    backend.Origin,
		seen:    make(map[presence.UserID]time.Time),
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

// due reports whether a lease has expired.
func (t *topicState) due(now time.Time) bool {
	first, any := t.expiry.Min()
	return any && !first.expires.After(now)
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
	return len(t.views) == 0 && t.guests.empty() && len(t.bots) == 0
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

// forget drops the log of a topic that has been empty for a period, as others see it (rule 10). It also drops
// the names of users who were active long ago (rule 9).
func (t *topicState) forget(now time.Time, period time.Duration) {
	t.names.forget(now.Add(-backend.MaxWithin))
	if t.total == 0 && now.Sub(t.changed) >= max(period, keepLog) {
		t.head, t.log, t.changes = backend.Origin, nil, 0
	}
}

// empty reports whether the topic holds nothing any more.
func (t *topicState) empty() bool {
	return len(t.members) == 0 && t.head == backend.Origin && t.aged.IsZero() && len(t.seen) == 0 && t.names.len() == 0
}

// lately reports whether somebody is in the topic, or was recently.
func (t *topicState) lately() bool {
	for _, m := range t.members {
		if m.held() {
			return true
		}
	}
	return t.head != backend.Origin || !t.aged.IsZero()
}

// size is the number of changes in a diff.
func size(d backend.Diff) int { return len(d.Joins) + len(d.Updates) + len(d.Leaves) }
