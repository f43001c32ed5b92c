package track

import (
	"sync"
	"time"
)

// broadcastAges finds out how late a broadcast arrives. A store that hangs delivers broadcasts long after
// they were sent, when they are no longer true. Each broadcast has the time at which it was sent, by its
// node's clock, and clocks differ. So for each node, the least difference between that time and the arrival
// counts as no delay. Before anything else is known, the clock of a node is assumed to differ by usualSkew at
// most. The zero value is empty. All methods may be called concurrently.
//
// Example: the clock of node a is 3 s behind. What a sends arrives "3.01 s" later, and once the store has
// hung for 20 s, "23 s" later: 20 s too late.
type broadcastAges struct {
	mu     sync.Mutex // taken with no other mutex held
	byNode map[string]*clockLag
}

// A clockLag is what is known of the broadcasts of one node.
type clockLag struct {
	least     time.Duration
	late      time.Duration
	lateSince time.Time // since when all broadcasts are late by about the same time; zero: the latest was not
	lateTimes int       // how many these are; what arrives within maxBroadcastAge counts once
	lateLast  time.Time // when the latest one arrived that counted
}

const (
	// maxBroadcastAge is how late a broadcast may arrive. A standing signal is shown for that much longer
	// (rule S5).
	maxBroadcastAge = time.Second
	usualSkew       = 2 * time.Second
	// clockTurned is how long all broadcasts of a node must be late by the same time, and clockTimes how many these
	// must be, until its clock counts as changed. Broadcasts that two stalls delayed are late by two different times,
	// or by chance twice by about the same. Those that one stall delayed arrive together, so they count as one.
	clockTurned = 10 * time.Second
	clockTimes  = 3
	// maxBroadcasters bounds the nodes that are remembered, because anyone who writes to the store can invent
	// names.
	maxBroadcasters = 1000
)

// tooLate notes a broadcast, and reports whether it arrives too late to be shown.
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
		known.late, known.lateSince, known.lateTimes, known.lateLast = lag, now, 1, now
	case now.Sub(known.lateLast) > maxBroadcastAge:
		known.lateLast = now
		if known.lateTimes++; known.lateTimes >= clockTimes && now.Sub(known.lateSince) > clockTurned {
			*known = clockLag{least: lag}
			return false
		}
	}
	return true
}
