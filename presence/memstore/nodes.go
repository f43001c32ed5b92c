package memstore

import (
	"context"
	"time"

	"github.com/rollcall-go/rollcall/presence/backend"
)

// A nodeLease is the lease of a node's process: rule 23.
type nodeLease struct {
	renewed time.Time
	term    time.Duration
}

func (l nodeLease) lapses() time.Time { return l.renewed.Add(l.term) }

// others returns the moment after which a renewed lease of a connection must have been renewed by another
// node. The node itself would have renewed its own lease by then too.
func (l nodeLease) others() time.Time { return l.renewed.Add(l.term / 2) }

// RenewNode implements [backend.Store].
func (s *Store) RenewNode(ctx context.Context, process string, term time.Duration) (alive bool, next time.Duration, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return false, 0, err
	}
	now := time.Now()
	was, known := s.nodes[process]
	if term > 0 {
		s.nodes[process] = nodeLease{now, term}
	} else {
		delete(s.nodes, process)
	}
	next = term
	for _, l := range s.nodes {
		next = min(next, l.lapses().Sub(now))
	}
	return known && was.lapses().After(now), next, nil
}

// sweepNodesLocked ends the leases of connections whose node's lease has lapsed. The caller holds mu.
func (s *Store) sweepNodesLocked() (swept backend.Swept) {
	now := time.Now()
	for process, lease := range s.nodes {
		if lease.lapses().After(now) {
			continue
		}
		for name, t := range s.topics {
			step := t.begin(now)
			swept.Leases += step.sweepNode(process, lease)
			swept.Leaves += s.commitLocked(name, step)
		}
		delete(s.nodes, process)
	}
	return swept
}

// sweepNode ends the leases of a lapsed node's connections, and returns how many it ended.
func (s *atomicStep) sweepNode(process string, lapsed nodeLease) (leases int) {
	for _, l := range s.topic.expiry.Items() {
		renewed := l.expires.Add(-l.length)
		if l.holder.Process() != process || renewed.After(lapsed.others()) {
			continue
		}
		u := s.note(l.user)
		u.seen = later(u.seen, lapsed.renewed)
		s.end(u, l)
		leases++
	}
	return leases
}
