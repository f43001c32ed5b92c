package track

import (
	"sync"
	"time"
)

// broadcastAges finds out how late a broadcast comes. A store that hangs hands on what it was
// sent long before, and what was said then is not so now. Each broadcast has the moment of its
// node's clock at which it was sent, and no two clocks agree. So the least difference between
// that moment and the arrival counts as no delay, for each node by itself. Until another one is
// seen, that difference is taken to be at most usualSkew. The zero value is empty. All methods
// may be called concurrently.
//
// Example: the clock of node a is 3 s behind. What a sends arrives "3.01 s" later, and once the
// store has hung for 20 s, "23 s" later: 20 s too late.
type broadcastAges struct {
	mu     sync.Mutex // taken with no other mutex held
	byNode map[string]*clockLag
}

// A clockLag is what arrives of one node.
type clockLag struct {
	least     time.Duration
	late      time.Duration
	lateSince time.Time // since when all that comes is late, by about that much; zero: the latest was not
}

const (
	// maxBroadcastAge is how late a broadcast may come. A signal that stands is shown for that
	// much longer (rule S5).
	maxBroadcastAge = time.Second
	usualSkew       = 2 * time.Second
	// clockTurned is how long all broadcasts of a node are late, by the same time, until its clock is
	// taken to be another one. What two stalls held up is late by two times.
	clockTurned = 10 * time.Second
	// maxBroadcasters bounds the nodes, whose names anybody may make up who writes to the store.
	maxBroadcasters = 1000
)

// tooLate notes a broadcast, and reports whether it comes too late to be shown.
func (a *broadcastAges) tooLate(node string, sent, now time.Time) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	lag := now.Round(0).Sub(sent) // between two clocks
	known := a.byNode[node]
	if known == nil {
		if a.byNode == nil || len(a.byNode) >= maxBroadcasters {
			a.byNode = make(map[string]*clockLag)
		}
		known = &clockLag{least: min(lag, usualSkew)}
		a.byNode[node] = known
	}
	switch {
	case lag-known.least <= maxBroadcastAge:
		known.least, known.lateSince = min(known.least, lag), time.Time{}
		return false
	case known.lateSince.IsZero(), (lag - known.late).Abs() > maxBroadcastAge:
		known.late, known.lateSince = lag, now
	case now.Sub(known.lateSince) > clockTurned:
		*known = clockLag{least: lag}
		return false
	}
	return true
}
