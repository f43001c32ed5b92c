package redisstore

import (
	"context"
	"errors"
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

// A dueJob runs a script on each topic of an index that is due.
type dueJob interface {
	// script returns the script for one of so many topics, and its weight.
	script(topic presence.Topic, topics int) (e eval, weight int)
	// took takes the script's answer. It returns when the topic is due again; negative:
	// the topic is empty.
	took(topic presence.Topic, answer []int64) (again time.Duration)
	// more reports whether to go on with topics that are still due.
	more() bool
}

// eachDue claims topics of an index, runs the job on each, and writes down when they are
// due again, until none is due or the job ends. A round trip takes scripts that together
// weigh no more than maxSweep.
func (s *Store) eachDue(ctx context.Context, op, list string, job dueJob) error {
	for job.more() {
		claimed, err := s.runOne(ctx, s.writes, op, eval{indexClaimScript, []string{s.index.key(list)}, []any{s.now(), claimFor.Milliseconds(), maxClaimed}})
		if err != nil {
			return err
		}
		topics, err := claimed.StringSlice()
		if err != nil || len(topics) == 0 {
			return wrap(op, err)
		}
		answers, err := s.runJob(ctx, op, topics, job)
		if err != nil {
			return err // the claim runs out
		}
		if err := s.settleDue(ctx, op, list, topics, answers, job); err != nil {
			return err
		}
	}
	return nil
}

// runJob runs a job's scripts and returns their answers, one for each topic.
func (s *Store) runJob(ctx context.Context, op string, topics []string, job dueJob) (answers []*redis.Cmd, err error) {
	evals, weights := make([]eval, len(topics)), make([]int, len(topics))
	for i, t := range topics {
		evals[i], weights[i] = job.script(presence.Topic(t), len(topics))
	}
	for len(answers) < len(topics) {
		from := len(answers)
		to := from + together(weights[from:], maxSweep)
		some, err := call(ctx, s.writes, op, func(ctx context.Context) ([]*redis.Cmd, error) { return s.run(ctx, evals[from:to]...) })
		if len(some) == 0 || err != nil && !errors.Is(err, presence.ErrRefused) { // ErrRefused is of these topics alone
			return nil, err
		}
		answers = append(answers, some...)
	}
	return answers, nil
}

// settleDue gives the job its answers, and writes down when the topics are due again.
func (s *Store) settleDue(ctx context.Context, op, list string, topics []string, answers []*redis.Cmd, job dueJob) error {
	args := []any{s.now(), idleFor.Milliseconds(), lookAgain.Milliseconds()}
	for i, t := range topics {
		again := lookAgain // after an error
		if r, err := answers[i].Int64Slice(); err == nil {
			again = job.took(presence.Topic(t), r)
		}
		args = append(args, t, max(again.Milliseconds(), -1))
	}
	other := "views"
	if list == other {
		other = "due"
	}
	keys := []string{s.index.key(list), s.index.key(list + ":idle"), s.index.key(other), s.index.key("topics")}
	answer, err := s.runOne(ctx, s.writes, op, eval{indexSettleScript, keys, args})
	s.index.took(answer, err)
	return err
}
