package redisstore

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/rollcall-go/rollcall/presence"
)

const (
	maxClaimed = 500         // topics a round trip
	claimFor   = time.Second // after it, the topics of a node that died are due for other nodes
	lookAgain  = time.Second // a topic is due again after it, or when a lease expires
	lookCosts  = 8           // the weight of a script that finds nothing to do, in leases
)

// upkeep is what crons do to the whole fleet: sweeps, the turning of page views, and forgetting.
type upkeep struct {
	*fleet
	nodes    *nodes
	statuses *statuses
	rest     rest
}

// A dueJob runs a script on each topic of an index that is due. The scripts of several topics
// may be one.
type dueJob interface {
	// scripts returns what to run on so many topics.
	scripts(topics []presence.Topic) []dueScript
	// took takes the script's answer. It returns when the topic is due again; negative:
	// the topic is empty.
	took(topic presence.Topic, answer []int64) (again time.Duration)
	// more reports whether to go on with topics that are still due.
	more() bool
}

// A dueScript is a script of a job.
type dueScript struct {
	eval
	weight int              // of maxSweep
	topics []presence.Topic // that it is about, with an answer of the same length each
}

// apiece returns a script for each topic.
func apiece(topics []presence.Topic, script func(presence.Topic) (e eval, weight int)) []dueScript {
	all := make([]dueScript, len(topics))
	for i, t := range topics {
		e, weight := script(t)
		all[i] = dueScript{e, weight, topics[i : i+1]}
	}
	return all
}

// eachDue claims topics of an index, runs the job on each, and writes down when they are
// due again, until none is due at once or the job ends. A round trip takes scripts that together
// weigh no more than maxSweep.
func (s *upkeep) eachDue(ctx context.Context, op, list string, job dueJob) error {
	for again := true; again && job.more(); {
		claimed, err := s.runOne(ctx, s.writes, op, eval{indexClaimScript, []string{s.indexKey(list)}, []any{s.now(), claimFor.Milliseconds(), maxClaimed}})
		if err != nil {
			return err
		}
		names, err := claimed.StringSlice()
		if err != nil || len(names) == 0 {
			return wrap(op, err)
		}
		topics := make([]presence.Topic, len(names))
		for i, name := range names {
			topics[i] = presence.Topic(name)
		}
		waits, err := s.runJob(ctx, op, topics, job)
		if err != nil {
			return err // the claim runs out
		}
		if err := s.settleDue(ctx, op, list, waits); err != nil {
			return err
		}
		again = len(topics) == maxClaimed || slices.ContainsFunc(slices.Collect(maps.Values(waits)), func(wait time.Duration) bool { return wait == 0 })
	}
	return nil
}

// runJob runs a job's scripts and gives it their answers. It returns when each topic is due
// again; negative: the topic is empty.
func (s *upkeep) runJob(ctx context.Context, op string, topics []presence.Topic, job dueJob) (map[presence.Topic]time.Duration, error) {
	scripts := job.scripts(topics)
	evals, weights := make([]eval, len(scripts)), make([]int, len(scripts))
	for i, one := range scripts {
		evals[i], weights[i] = one.eval, one.weight
	}
	var answers []*redis.Cmd
	for len(answers) < len(evals) {
		from := len(answers)
		to := from + together(weights[from:], maxSweep)
		some, err := call(ctx, s.writes, op, func(ctx context.Context) ([]*redis.Cmd, error) {
			some, _, err := s.runGathered(ctx, evals[from:to]...)
			return some, err
		})
		if len(some) == 0 || err != nil && !errors.Is(err, presence.ErrRefused) { // ErrRefused is of these topics alone
			return nil, err
		}
		answers = append(answers, some...)
	}
	waits := make(map[presence.Topic]time.Duration, len(topics))
	for i, one := range scripts {
		figures, err := answers[i].Int64Slice()
		each := len(figures) / len(one.topics)
		for k, t := range one.topics {
			waits[t] = lookAgain // after an error
			if err == nil {
				waits[t] = job.took(t, figures[k*each:(k+1)*each])
			}
		}
	}
	return waits, nil
}

// settleDue writes down when topics are due again.
func (s *upkeep) settleDue(ctx context.Context, op, list string, waits map[presence.Topic]time.Duration) error {
	args := []any{s.now(), idleFor.Milliseconds(), lookAgain.Milliseconds()}
	for t, wait := range waits {
		args = append(args, string(t), max(wait.Milliseconds(), -1))
	}
	other := "views"
	if list == other {
		other = "due"
	}
	keys := []string{s.indexKey(list), s.indexKey(list + ":idle"), s.indexKey(other), s.indexKey("topics")}
	answer, err := s.runOne(ctx, s.writes, op, eval{indexSettleScript, keys, args})
	s.index.took(answer, err)
	return err
}
