package memstore

import (
	"context"
	"time"

	"github.com/rollcall-go/rollcall/presence/backend"
)

// A nodeLease is the lease of a node's process: rule 23.
type nodeLease struct {
	renewed time.Time // the latest renewal; zero: the process writes no more
	lapses  time.Time
}

// Poll implements [backend.Store]. It says that all figures may have changed: to ask for them costs nothing here.
func (s *Store) Poll(ctx context.Context, p backend.Poll) (backend.Polled, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return backend.Polled{}, err
	}
	now := time.Now()
	_, alive := s.nodes[p.Process]
	switch {
	case p.Term > 0:
		s.nodes[p.Process] = nodeLease{now, now.Add(p.Term)}
	case p.Term < 0:
		s.nodes[p.Process] = nodeLease{lapses: now.Add(-p.Term)}
	default:
		delete(s.nodes, p.Process)
	}
	next := max(p.Term, -p.Term)
	for _, l := range s.nodes {
		next = min(next, l.lapses.Sub(now))
	}
	return backend.Polled{Alive: alive, Next: next, Changes: backend.Changes{All: true}, Erasures: s.erasures.claimable(now)}, nil
}

// sweepNodesLocked ends the leases of connections whose node's lease has lapsed. The caller holds mu.
func (s *Store) sweepNodesLocked() (swept backend.Swept) {
	now := time.Now()
	for process, lease := range s.nodes {
		if lease.lapses.After(now) {
			continue
		}
		for name, t := range s.topics {
			step := t.begin(now)
			swept.Leases += step.sweepNode(process, lease)
			swept.Leaves += s.commitLocked(name, step)
		}
		delete(s.nodes, process)
		if !lease.renewed.IsZero() {
			swept.Gone = append(swept.Gone, process)
		}
	}
	return swept
}

// sweepNode ends the leases of a lapsed node's connections, and returns how many it ended.
func (s *atomicStep) sweepNode(process string, lapsed nodeLease) (leases int) {
	for _, l := range s.topic.expiry.Items() {
		if l.holder.Process() != process {
			continue
		}
		u := s.note(l.user)
		u.seen = later(u.seen, lapsed.renewed)
		s.end(u, l)
		leases++
	}
	return leases
}
