package redisstore

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/rollcall-go/rollcall/internal/generations"
	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
)

// The leases of the nodes' processes are in the slot of the index (rule 7).

// nodeClaim is how long one node has the sole right to sweep the connections of a process. If that node ends
// meanwhile, another one sweeps them.
const nodeClaim = 5 * time.Second

// A lapsedNode is a process whose lease has lapsed, or what a process wrote before a generation.
type lapsedNode struct {
	name    string // the process, unit, and the generation before which all ends
	lapsed  string // when, in Unix ms, as the server wrote it
	renewed int64  // the latest renewal, Unix ms
}

// sweepNodes ends the leases of connections whose process has lapsed. While no process has, it costs one round
// trip. For each lapsed process it costs two for every 500 topics of the fleet, and one for every 500 leases
// or 60 topics among them.
func (s *upkeep) sweepNodes(ctx context.Context, swept *backend.Swept) error {
	for {
		asked := time.Now()
		n, err := s.claimNode(ctx)
		if err != nil || n.name == "" || time.Since(asked) > sweepWithin { // others may not have renewed their leases since the server is back
			return err // the claim expires
		}
		if err := s.sweepNode(ctx, n, swept); err != nil {
			return err // the claim expires
		}
		if process, _, _ := strings.Cut(n.name, unit); n.renewed > 0 {
			swept.Gone = append(swept.Gone, process)
		}
		if _, err := s.runOne(ctx, s.writes, "sweep", eval{nodeForgetScript, s.indexKeys("nodes", "terms", "sweeps"), []any{n.name, n.lapsed}}); err != nil {
			return err
		}
	}
}

func (s *upkeep) claimNode(ctx context.Context) (n lapsedNode, err error) {
	r, err := s.texts(ctx, s.writes, "sweep", 0, eval{nodeClaimScript, s.indexKeys("nodes", "terms", "sweeps"), []any{s.now(), nodeClaim.Milliseconds()}})
	if err != nil || len(r) < 3 {
		return n, err
	}
	lapsed, err := strconv.ParseInt(r[1], 10, 64)
	n = lapsedNode{name: r[0], lapsed: r[1]}
	term, _ := strconv.ParseInt(r[2], 10, 64) // 0 for a process without a term
	n.renewed = lapsed - term
	return n, wrap("sweep", err)
}

// A nodeProgress remembers how far this node has swept the topics for each lapsed process, so that a sweep
// that ran out of time can continue.
type nodeProgress struct {
	mu   sync.Mutex
	upTo *generations.Map[lapsedNode, presence.Topic] // the latest topic that was swept; empty: all were
}

// maxProgress bounds it. Other nodes may have swept the rest.
const maxProgress = 1000

func (p *nodeProgress) get(n lapsedNode) presence.Topic {
	p.mu.Lock()
	defer p.mu.Unlock()
	topic, _ := p.upTo.Get(n)
	return topic
}

func (p *nodeProgress) set(n lapsedNode, topic presence.Topic) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.upTo.Set(n, topic)
}

// sweepNode ends the leases of one process, in all topics of the fleet.
func (s *upkeep) sweepNode(ctx context.Context, n lapsedNode, swept *backend.Swept) error {
	for after := s.progress.get(n); ; {
		topics, err := s.Topics(ctx, after, maxClaimed)
		if err != nil {
			return err
		}
		if len(topics) == 0 {
			s.progress.set(n, "")
			return nil
		}
		cursors := make(map[presence.Topic]string, len(topics))
		for _, t := range topics {
			cursors[t] = "0"
		}
		for len(cursors) > 0 {
			if err := s.sweepNodeIn(ctx, n, cursors, swept); err != nil {
				return err
			}
		}
		after = topics[len(topics)-1]
		s.progress.set(n, after)
	}
}

// nodeTopics is how many topics a round trip of sweepNodeIn has at most: as many topics without leases as
// weigh maxSweep.
const nodeTopics = maxSweep / lookCosts

// sweepNodeIn runs a step of a sweep in some of the topics, at their cursors of ZSCAN. It removes topics that
// are done, or that the server refuses.
func (s *upkeep) sweepNodeIn(ctx context.Context, n lapsedNode, cursors map[presence.Topic]string, swept *backend.Swept) error {
	var evals []eval
	var of []presence.Topic
	most := maxSweep / min(len(cursors), nodeTopics)
	for t, cursor := range cursors {
		evals, of = append(evals, s.topicEval(nodeSweepScript, t, n.name, n.renewed, cursor, most)), append(of, t)
		if len(evals) == nodeTopics {
			break
		}
	}
	answers, err := s.runEach(ctx, "sweep", evals...)
	if err != nil {
		return err
	}
	for i, t := range of {
		r, err := answers[i].StringSlice()
		if err = verdict(err); err != nil && !errors.Is(err, presence.ErrRefused) {
			return wrap("sweep", err)
		}
		if err != nil || len(r) < 3 || r[0] == "0" {
			delete(cursors, t)
		} else {
			cursors[t] = r[0]
		}
		if len(r) == 3 {
			leases, _ := strconv.Atoi(r[1])
			leaves, _ := strconv.Atoi(r[2])
			swept.Leases, swept.Leaves = swept.Leases+leases, swept.Leaves+leaves
		}
	}
	return nil
}
