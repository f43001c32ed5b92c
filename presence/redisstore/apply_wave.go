package redisstore

import (
	"context"
	"errors"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
)

// A step is one script's share of a batch.
type step struct {
	batch  int // its index
	topic  presence.Topic
	ops    []backend.Op
	keep   presence.Keep
	beats  bool // they are heartbeats of one length; one script may handle several topics
	first  int  // the index of its first operation in the batch
	weight int  // its part of maxStep
}

// An answer is a script's answer about one step.
type answer struct {
	gone []int64 // lua/apply.lua says which
	err  error
}

// leftLease, at the end of an answer of lua/apply.lua, says that the step leaves leases.
const leftLease = -1

// wave runs the next step of each batch that has not failed, as many as fit into a round trip. It returns
// false if there is none. It adds to left the notes for what the steps leave.
func (s *fleet) wave(ctx context.Context, plans [][]step, results []backend.Result, left needs) bool {
	var steps []step
	var weights []int
	for i, plan := range plans {
		if len(plan) > 0 && results[i].Err == nil {
			steps, weights = append(steps, plan[0]), append(weights, plan[0].weight)
		}
	}
	if len(steps) == 0 {
		return false
	}
	steps = steps[:together(weights, maxStep)]
	answers, err := call(ctx, s.writes, "apply", func(ctx context.Context) ([]answer, error) { return s.runSteps(ctx, steps) })
	for i, one := range steps {
		switch {
		case answers == nil:
			results[one.batch].Err = err
		case answers[i].err != nil:
			results[one.batch].Err = wrap("apply", verdict(answers[i].err))
		default:
			for _, k := range answers[i].gone {
				if k == leftLease {
					left.add("due", one.topic, noteEvery)
				} else {
					results[one.batch].Unknown = append(results[one.batch].Unknown, one.first+int(k))
				}
			}
			plans[one.batch] = plans[one.batch][1:]
		}
	}
	return true
}

// runSteps runs steps in one round trip, and returns an answer for each. One script does the heartbeats of
// all topics that may share it. If the server refuses that script, for example because the key of one topic
// has another type, each topic gets a script of its own in a second round trip. Renewing a lease twice does
// no harm. There is an error only if every step failed.
func (s *fleet) runSteps(ctx context.Context, steps []step) ([]answer, error) {
	answers := make([]answer, len(steps))
	if again := s.runShares(ctx, steps, s.share(steps), answers); len(again) > 0 {
		s.runShares(ctx, steps, again, answers)
	}
	for _, a := range answers {
		if a.err == nil {
			return answers, nil
		}
	}
	return answers, answers[0].err
}

// share returns the indexes of the steps that one script does, for each script.
func (s *fleet) share(steps []step) (shares [][]int) {
	var topics []presence.Topic
	var beats []int
	for i, one := range steps {
		if one.beats {
			topics, beats = append(topics, one.topic), append(beats, i)
		} else {
			shares = append(shares, []int{i})
		}
	}
	for _, group := range s.gather(topics, maxStep/beatTopicWeight) {
		for k, j := range group {
			group[k] = beats[j]
		}
		shares = append(shares, group)
	}
	return shares
}

// runShares runs a script for each share, and stores its answer for each of the share's steps. It returns the
// steps that must run again, each as a share of its own.
func (s *fleet) runShares(ctx context.Context, steps []step, shares [][]int, answers []answer) (again [][]int) {
	evals := make([]eval, len(shares))
	for i, share := range shares {
		evals[i] = s.newEval(steps, share)
	}
	got, _, _ := s.runGathered(ctx, evals...) // each answer has its own error
	for i, share := range shares {
		gone, err := got[i].Int64Slice()
		retry := len(share) > 1 && errors.Is(verdict(err), presence.ErrRefused)
		before := int64(0) // heartbeats in earlier steps of this script
		for _, k := range share {
			if retry {
				again = append(again, []int{k})
			}
			answers[k] = answer{err: err}
			end := before + int64(len(steps[k].ops))
			for ; len(gone) > 0 && gone[0] < end; gone = gone[1:] { // in order, and what is left at the end
				if gone[0] >= 0 {
					gone[0] -= before
				}
				answers[k].gone = append(answers[k].gone, gone[0])
			}
			before = end
		}
	}
	return again
}

// newEval returns the script for some steps: heartbeats of several topics, or one other step.
func (s *fleet) newEval(steps []step, share []int) eval {
	if one := steps[share[0]]; !one.beats {
		return s.topicEval(applyScript, one.topic, append([]any{moreArg(one.keep)}, runs(one.ops)...)...)
	}
	var keys []string
	args := []any{s.now()}
	for _, k := range share {
		keys = append(keys, s.keys(steps[k].topic, "leases", "users", "hidden", "count")...)
		args = append(args, steps[k].ops[0].For.Milliseconds(), len(steps[k].ops))
		for _, op := range steps[k].ops {
			args = append(args, string(op.User.ID)+unit+holderName(op.Holder))
		}
	}
	return eval{heartbeatScript, keys, args}
}
