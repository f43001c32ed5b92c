package redisstore

import (
	"context"
	"strings"

	"github.com/redis/go-redis/v9"
	"github.com/rollcall-go/rollcall/presence"
)

// Bounds of one script (rule 9): so many operations stall the server for about
// a millisecond.
const (
	applyMost     = 250
	heartbeatMost = 1000
)

// unit separates user and holder in a lease's name: no user id holds it.
const unit = "\x1f"

// Apply implements [presence.Store]. Batches of more than 250 operations, or
// 1,000 heartbeats, are cut into several steps, a round trip each, between which
// the server serves others. Topics that this node has not noted lately are noted
// first, which costs one more.
func (s *Store) Apply(ctx context.Context, batches []presence.Batch) []presence.Result {
	results := make([]presence.Result, len(batches))
	s.sharded(ctx)
	if err := s.index.note(ctx, batches); err != nil {
		for i := range results {
			results[i].Err = err
		}
		return results
	}
	plans := make([][]step, len(batches))
	for i, b := range batches {
		plans[i] = s.plan(b)
	}
	for more := true; more; {
		more = s.wave(ctx, plans, results)
	}
	for _, r := range results {
		if len(r.Unknown) > 0 {
			s.index.forget() // what lost leases may have lost the index
			break
		}
	}
	return results
}

// wave runs the next step of each batch that has not failed, in one round trip.
// It returns false when there is none.
func (s *Store) wave(ctx context.Context, plans [][]step, results []presence.Result) bool {
	var evals []eval
	var of []int // which batch
	for i, steps := range plans {
		if len(steps) > 0 && results[i].Err == nil {
			evals, of = append(evals, steps[0].eval), append(of, i)
		}
	}
	if len(evals) == 0 {
		return false
	}
	answers, err := call(ctx, s, "apply", func(ctx context.Context) ([]*redis.Cmd, error) { return s.run(ctx, evals...) })
	for j, i := range of {
		switch {
		case err != nil:
			results[i].Err = err
		case answers[j].Err() != nil:
			results[i].Err = wrap("apply", answers[j].Err())
		default:
			gone, _ := answers[j].Int64Slice()
			for _, k := range gone {
				results[i].Unknown = append(results[i].Unknown, plans[i][0].first+int(k))
			}
			plans[i] = plans[i][1:]
		}
	}
	return true
}

// A step is one script's share of a batch.
type step struct {
	eval
	first int // the index of its first operation in the batch
}

// plan cuts a batch into steps. One that fits into a step is one. A larger one
// is cut into runs of heartbeats of one length, which a cheaper script takes,
// and runs of the rest.
func (s *Store) plan(b presence.Batch) []step {
	whole, onlyBeats := 0, true
	for _, op := range b.Ops {
		whole += weight(op)
		onlyBeats = onlyBeats && isBeat(op)
	}
	mixed := whole <= applyMost && !onlyBeats
	var steps []step
	for from := 0; from < len(b.Ops); {
		first := b.Ops[from]
		beats, room := isBeat(first) && !mixed, applyMost
		if beats {
			room = heartbeatMost
		}
		to := from + 1
		for room -= weight(first); to < len(b.Ops); to++ {
			op := b.Ops[to]
			if room -= weight(op); room < 0 || !mixed && isBeat(op) != beats || beats && op.For != first.For {
				break
			}
		}
		steps = append(steps, step{s.newEval(b.Topic, b.Ops[from:to], beats), from})
		from = to
	}
	return steps
}

// weight is how much of a step an operation takes. A sign-out ends all leases of
// its user: with ten of them it costs what three others do.
func weight(op presence.Op) int {
	if op.Kind == presence.OpSignOut {
		return 3
	}
	return 1
}

func isBeat(op presence.Op) bool { return op.Kind == presence.OpHeartbeat }

func (s *Store) newEval(topic presence.Topic, ops []presence.Op, beats bool) eval {
	if !beats {
		args := s.topicArgs(topic)
		for _, op := range ops {
			args = append(args, opArgs(op)...)
		}
		return eval{applyScript, s.keys(topic, topicKeys[:]...), args}
	}
	args := append(make([]any, 0, 2+len(ops)), s.now(), millis(ops[0].For))
	for _, op := range ops {
		args = append(args, string(op.User.ID)+unit+string(op.Holder))
	}
	return eval{heartbeatScript, s.keys(topic, "leases"), args}
}

// opArgs writes an operation for lua/apply.lua.
func opArgs(op presence.Op) []any {
	user, status, fields := string(op.User.ID), string(op.User.Status), ""
	var kind string
	switch op.Kind {
	case presence.OpJoin:
		kind, fields = "join", encodeProfile(op.User)
	case presence.OpSeen:
		kind, fields = "seen", encodeProfile(op.User)
	case presence.OpGuest:
		kind, user = "guest", op.Guest
	case presence.OpHeartbeat:
		kind = "heartbeat"
	case presence.OpRelease:
		kind = "release"
	case presence.OpDrop:
		kind = "drop"
	case presence.OpSignOut:
		kind = "signout"
	case presence.OpUpdate:
		kind = "update"
		if !op.User.StatusOnly() {
			fields = encodeProfile(op.User)
		}
	}
	return []any{kind, user, holderName(op.Holder), millis(op.For), status, fields}
}

// holderName is a holder as a record can have it. Ours always are; a foreign one,
// out of a request, becomes one that nobody has.
func holderName(h presence.Holder) string {
	if strings.ContainsFunc(string(h), func(r rune) bool { return r <= ' ' || r == '|' || r == '=' || r == 0x7f }) {
		return "?"
	}
	return string(h)
}
