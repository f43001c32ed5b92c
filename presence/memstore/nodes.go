package memstore

import (
	"context"
	"time"

	"github.com/rollcall-go/rollcall/presence/backend"
)

// A nodeLease is the lease of a node's process: rule 7.
type nodeLease struct {
	gen     int32     // the generation
	renewed time.Time // the latest renewal
	lapses  time.Time
	before  time.Time // when the generations before lapse; zero: they have lapsed
}

// Poll implements [backend.Store]. It says that all figures may have changed: to ask for them costs nothing here.
func (s *Store) Poll(ctx context.Context, p backend.Poll) (backend.Polled, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return backend.Polled{}, err
	}
	now := time.Now()
	lease, alive := s.nodes[p.Process]
	if p.Term > 0 {
		lease.gen, lease.renewed, lease.lapses = p.Gen, now, now.Add(p.Term)
		if p.Before > 0 {
			lease.before = now.Add(p.Before)
		}
		s.nodes[p.Process] = lease
	} else {
		delete(s.nodes, p.Process)
	}
	next := p.Term
	for _, l := range s.nodes {
		next = min(next, l.next().Sub(now))
	}
	return backend.Polled{Alive: alive, Next: next, Changes: backend.Changes{All: true}, Erasures: s.erasures.claimable(now)}, nil
}

// next returns when something lapses.
func (l nodeLease) next() time.Time {
	if l.before.IsZero() || l.lapses.Before(l.before) {
		return l.lapses
	}
	return l.before
}

// sweepNodesLocked ends what hangs on leases of nodes that have lapsed. The caller holds mu.
func (s *Store) sweepNodesLocked() (swept backend.Swept) {
	now := time.Now()
	for process, lease := range s.nodes {
		if lease.next().After(now) {
			continue
		}
		dead := !lease.lapses.After(now)
		for name, t := range s.topics {
			step := t.begin(now)
			swept.Leases += step.sweepNode(process, lease, dead)
			swept.Leaves += s.commitLocked(name, step)
		}
		if !dead {
			lease.before = time.Time{}
			s.nodes[process] = lease
			continue
		}
		delete(s.nodes, process)
		swept.Gone = append(swept.Gone, process)
	}
	return swept
}
