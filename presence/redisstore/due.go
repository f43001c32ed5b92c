package redisstore

import (
	"context"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/rollcall-go/rollcall/presence"
)

const (
	maxClaimed = 500         // topics a round trip
	claimFor   = time.Second // after this, the topics of a node that died are due for other nodes
	lookAgain  = time.Second // after this at the earliest, or when a lease expires, a topic is due again
	lookCosts  = 8           // the weight, in leases, of a script that finds nothing to do
)

// upkeep has the work of crons for the whole fleet: sweeps, the turning of page views, and forgetting.
type upkeep struct {
	*fleet
	progress nodeProgress
	rest     rest
}

// A dueJob runs a script on each topic of an index that is due. One script may handle several topics.
type dueJob struct {
	// scripts returns the scripts for some topics.
	scripts func(topics []presence.Topic) []dueScript
	// took handles the script's answer about a topic. It returns when the topic is due again; negative: the
	// topic is empty.
	took func(topic presence.Topic, answer []int64) (again time.Duration)
	// more reports whether to go on with topics that are still due.
	more func() bool
}

// A dueScript is a script of a job.
type dueScript struct {
	eval
	weight int              // its part of maxSweep
	topics []presence.Topic // the topics that it handles; its answer has a part of equal length for each
}

func apiece(topics []presence.Topic, script func(presence.Topic) (e eval, weight int)) []dueScript {
	all := make([]dueScript, len(topics))
	for i, t := range topics {
		e, weight := script(t)
		all[i] = dueScript{e, weight, topics[i : i+1]}
	}
	return all
}

// eachDue claims topics of an index, runs the job on each, and stores when they are due again, until no topic
// is due or the job ends. An empty topic is due again after rest. It returns how long it takes until a topic
// is due; negative: there is none. The scripts of a round trip weigh at most maxSweep together.
func (s *upkeep) eachDue(ctx context.Context, op, list string, rest time.Duration, job dueJob) (next time.Duration, err error) {
	for again := true; again && job.more(); {
		var topics []presence.Topic
		if topics, next, err = s.claimDue(ctx, op, list); err != nil || len(topics) == 0 {
			return next, err
		}
		waits, err := s.runJob(ctx, op, topics, job)
		if err != nil {
			return 0, err // the claim expires
		}
		if err := s.settleDue(ctx, op, list, rest, waits); err != nil {
			return 0, err
		}
		again = len(topics) == maxClaimed
		for _, wait := range waits {
			if wait < 0 {
				wait = rest
			}
			if again = again || wait == 0; next < 0 || wait < next {
				next = wait
			}
		}
	}
	return next, nil
}

// claimDue claims topics of an index that are due. It returns how long it takes until another one is due;
// negative: there is none.
func (s *upkeep) claimDue(ctx context.Context, op, list string) (topics []presence.Topic, next time.Duration, err error) {
	claim := eval{indexClaimScript, s.indexKeys(list), []any{s.now(), claimFor.Milliseconds(), maxClaimed}}
	answer, err := s.texts(ctx, s.writes, op, 1, claim)
	if err != nil {
		return nil, 0, err
	}
	ms, err := strconv.ParseInt(answer[0], 10, 64)
	return as[presence.Topic](answer[1:]), time.Duration(ms) * time.Millisecond, wrap(op, err)
}

// runJob runs a job's scripts and passes their answers to it. It returns when each topic is due again;
// negative: the topic is empty.
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
		some, err := s.runEach(ctx, op, evals[from:to]...)
		if err != nil {
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

// settleDue stores when topics are due again, empty ones after rest.
func (s *upkeep) settleDue(ctx context.Context, op, list string, rest time.Duration, waits map[presence.Topic]time.Duration) error {
	args := []any{s.now(), idleFor.Milliseconds(), rest.Milliseconds()}
	for t, wait := range waits {
		args = append(args, string(t), max(wait.Milliseconds(), -1))
	}
	other := "views"
	if list == other {
		other = "due"
	}
	keys := s.indexKeys(list, list+":idle", other, "topics")
	answer, err := s.runOne(ctx, s.writes, op, eval{indexSettleScript, keys, args})
	s.index.took(answer, err)
	return err
}
