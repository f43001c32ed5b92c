package redisstore

import (
	"context"
	"errors"
	"strconv"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/rollcall-go/rollcall/internal/generations"
	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
)

// The leases of the nodes' processes are in the slot of the index (rule 23).

// nodeClaim is how long one node has the sole right to sweep the connections of a process. If that node ends
// meanwhile, another one sweeps them.
const nodeClaim = 5 * time.Second

// nodes has the leases of processes.
type nodes struct {
	*fleet
	reader *reader
	swept  nodeProgress
}

// RenewNode implements [backend.Store].
func (s *nodes) RenewNode(ctx context.Context, process string, term time.Duration) (alive bool, next time.Duration, err error) {
	if err := s.ready(ctx, s.writes); err != nil {
		return false, 0, err
	}
	s.sharded(ctx)
	answer, err := s.runOne(ctx, s.writes, "renew node", eval{nodeRenewScript, s.nodeKeys("nodes", "terms"), []any{s.now(), process, millis(term)}})
	if err != nil {
		return false, 0, err
	}
	r, err := answer.Int64Slice()
	if err == nil && len(r) < 2 {
		err = errAnswer
	}
	if err != nil {
		return false, 0, wrap("renew node", err)
	}
	return r[0] == 1, time.Duration(r[1]) * time.Millisecond, nil
}

// A lapsedNode is a process whose lease has lapsed.
type lapsedNode struct {
	process string
	lapsed  string // when, in Unix ms, as the server wrote it
	renewed int64  // the latest renewal, Unix ms
	term    int64  // ms
}

// sweep ends the leases of connections whose process has lapsed. While no process has, it costs one round
// trip. For each lapsed process it costs two for every 500 topics of the fleet, and one for every 500 leases
// or 60 topics among them.
func (s *nodes) sweep(ctx context.Context) (swept backend.Swept, err error) {
	for {
		asked := time.Now()
		n, err := s.claimNode(ctx)
		if err != nil || n.process == "" || time.Since(asked) > sweepWithin { // others may not have renewed their leases since the server is back
			return swept, err // the claim expires
		}
		if err := s.sweepNode(ctx, n, &swept); err != nil {
			return swept, err // the claim expires
		}
		if _, err := s.runOne(ctx, s.writes, "sweep", eval{nodeForgetScript, s.nodeKeys("nodes", "terms", "sweeps"), []any{n.process, n.lapsed}}); err != nil {
			return swept, err
		}
	}
}

// Nodes returns how many processes have a lease in the store. It counts a process that was killed until its
// lease has lapsed, and one that has closed not at all. It costs one round trip.
func (s *nodes) Nodes(ctx context.Context) (int, error) {
	answer, err := s.runOne(ctx, s.reads, "count nodes", eval{nodeCountScript, s.nodeKeys("nodes"), []any{s.now()}})
	if err != nil {
		return 0, err
	}
	n, err := answer.Int()
	return n, wrap("count nodes", err)
}

func (s *nodes) claimNode(ctx context.Context) (n lapsedNode, err error) {
	answer, err := s.runOne(ctx, s.writes, "sweep", eval{nodeClaimScript, s.nodeKeys("nodes", "terms", "sweeps"), []any{s.now(), nodeClaim.Milliseconds()}})
	if err != nil {
		return n, err
	}
	r, err := answer.StringSlice()
	if err != nil || len(r) < 3 {
		return n, wrap("sweep", err)
	}
	lapsed, err := strconv.ParseInt(r[1], 10, 64)
	n = lapsedNode{process: r[0], lapsed: r[1]}
	n.term, _ = strconv.ParseInt(r[2], 10, 64) // 0 for a process without a term
	n.renewed = lapsed - n.term
	return n, wrap("sweep", err)
}

// A nodeProgress remembers how far this node has swept the topics for each lapsed process, so that a sweep
// that ran out of time can continue.
type nodeProgress struct {
	mu   sync.Mutex
	upTo *generations.Map[lapsedNode, presence.Topic]
}

func newNodeProgress() nodeProgress {
	return nodeProgress{upTo: generations.New[lapsedNode, presence.Topic](maxProgress, nil)}
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

func (p *nodeProgress) forget(n lapsedNode) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.upTo.Delete(n)
}

// returned reports whether a process has renewed its lease since it lapsed, or was swept by another node. Its
// new leases must not be ended.
func (s *nodes) returned(ctx context.Context, n lapsedNode) (bool, error) {
	return call(ctx, s.writes, "sweep", func(ctx context.Context) (bool, error) {
		var score *redis.FloatSliceCmd
		err := s.pipelined(ctx, func(p redis.Pipeliner) { score = p.ZMScore(ctx, s.nodeKeys("nodes")[0], n.process) })
		if err != nil {
			return false, err
		}
		if len(score.Val()) != 1 {
			return false, errAnswer
		}
		return int64(score.Val()[0]) != n.renewed+n.term, nil
	})
}

// sweepNode ends the leases of one process, in all topics of the fleet.
func (s *nodes) sweepNode(ctx context.Context, n lapsedNode, swept *backend.Swept) error {
	for after := s.swept.get(n); ; {
		topics, err := s.reader.Topics(ctx, after, maxClaimed)
		if err != nil {
			return err
		}
		if len(topics) == 0 {
			s.swept.forget(n)
			return nil
		}
		cursors := make(map[presence.Topic]string, len(topics))
		for _, t := range topics {
			cursors[t] = "0"
		}
		for len(cursors) > 0 {
			if back, err := s.returned(ctx, n); back || err != nil {
				return err
			}
			if err := s.sweepNodeIn(ctx, n, cursors, swept); err != nil {
				return err
			}
		}
		after = topics[len(topics)-1]
		s.swept.set(n, after)
	}
}

// nodeTopics is how many topics a round trip of sweepNodeIn has at most: as many topics without leases as
// weigh maxSweep.
const nodeTopics = maxSweep / lookCosts

// sweepNodeIn runs a step of a sweep in some of the topics, at their cursors of ZSCAN. It removes topics that
// are done, or that the server refuses.
func (s *nodes) sweepNodeIn(ctx context.Context, n lapsedNode, cursors map[presence.Topic]string, swept *backend.Swept) error {
	var evals []eval
	var of []presence.Topic
	most := maxSweep / min(len(cursors), nodeTopics)
	for t, cursor := range cursors {
		args := append(s.topicArgs(t), n.process, n.renewed, n.renewed+n.term/2, cursor, most)
		evals, of = append(evals, eval{sweepNodeScript, s.keys(t, topicKeys[:]...), args}), append(of, t)
		if len(evals) == nodeTopics {
			break
		}
	}
	answers, err := call(ctx, s.writes, "sweep", func(ctx context.Context) ([]*redis.Cmd, error) { return s.run(ctx, evals...) })
	if len(answers) == 0 || err != nil && !errors.Is(err, presence.ErrRefused) { // ErrRefused concerns these topics alone
		return err
	}
	for i, t := range of {
		r, err := answers[i].Slice()
		if err != nil || len(r) < 3 {
			if err != nil && !errors.Is(verdict(err), presence.ErrRefused) {
				return wrap("sweep", verdict(err))
			}
			delete(cursors, t)
			continue
		}
		leases, _ := r[1].(int64)
		leaves, _ := r[2].(int64)
		swept.Leases, swept.Leaves = swept.Leases+int(leases), swept.Leaves+int(leaves)
		if cursor, _ := r[0].(string); cursor != "0" && cursor != "" {
			cursors[t] = cursor
		} else {
			delete(cursors, t)
		}
	}
	return nil
}
