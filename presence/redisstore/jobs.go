package redisstore

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/rollcall-go/rollcall/presence"
)

const (
	claimFor  = time.Second // a sweeper that died leaves its topics to others after this
	claimMost = 500         // topics a round trip
	lookAgain = time.Second // a topic is looked at this often, or when a lease expires
	sweepMost = 500         // leases a script, or in those of a round trip
	lookCosts = 8           // what a script costs that finds nothing to do, in leases
	trimMost  = 1000        // users a script, or in those of a round trip
)

// Sweep implements [presence.Store]. For every 500 topics that are due it costs two
// round trips, and one more for every 60 of them: each topic about once a second,
// whichever node sweeps. Where leases have expired it costs as much again, since it
// looks before it sweeps, and one for every 500 leases.
//
// A sweep that was on its way while the server was out of reach, and arrives
// before anybody could renew a lease, must remove none. So a step names the moment
// at which the topic was looked at, by the server's time, and does nothing when
// that is a while ago; and a look that took long is not acted upon.
func (s *Store) Sweep(ctx context.Context, opts presence.SweepOptions) (presence.Swept, error) {
	if err := s.ready(ctx, s.writes); err != nil {
		return presence.Swept{}, err
	}
	s.sharded(ctx)
	if opts.RenewedWithin != 0 {
		return s.sweepRecent(ctx, opts.RenewedWithin, opts.Limit)
	}
	var swept presence.Swept
	limit := opts.Limit
	looked := make(map[presence.Topic]int64) // the server's time, ms
	asked := time.Now()
	slow := false
	var torn []presence.Topic
	due := make(map[presence.Topic]int) // leases, when it was looked at
	err := s.eachDue(ctx, "sweep", "due", func(topic presence.Topic, topics int) (eval, int) {
		asked = time.Now()
		most := min(sweepMost, max(1, (limit-swept.Leases)/topics))
		return eval{sweepScript, s.keys(topic, topicKeys[:]...),
			append(s.topicArgs(topic), most, looked[topic], claimFor.Milliseconds())}, lookCosts + min(most, due[topic])
	}, func(topic presence.Topic, r []int64) time.Duration {
		slow = slow || time.Since(asked) > claimFor || looked[topic] > 0 && r[0] == 0 && r[2] == 0
		swept.Leases += int(r[0])
		swept.Leaves += int(r[1])
		swept.More = swept.Leases >= limit
		looked[topic], due[topic] = r[3], int(r[4])
		if r[5] == 1 {
			torn = append(torn, topic)
		}
		return min(time.Duration(r[2])*time.Millisecond, lookAgain)
	}, func() bool { return !swept.More && !slow })
	for _, topic := range torn {
		if err == nil {
			err = s.repair(ctx, topic)
		}
	}
	return swept, err
}

// repair puts back leases that a topic lost, and that its users' records have, a round
// trip for every 500 records: else nothing would ever end for these users.
func (s *Store) repair(ctx context.Context, topic presence.Topic) error {
	for last, name := range []string{"users", "hidden"} {
		for cursor := "0"; ; {
			answer, err := s.runOne(ctx, s.writes, "sweep", eval{repairScript, s.keys(topic, "leases", name, "count"), []any{s.now(), cursor, sweepMost, last}})
			if errors.Is(err, presence.ErrRefused) {
				return nil // it is this topic's alone
			} else if err != nil {
				return err
			}
			if cursor, err = answer.Text(); err != nil || cursor == "0" {
				break
			}
		}
	}
	return nil
}

// sweepRecent is Sweep for the time after an outage. It costs two round trips for every 500
// topics that are due, and one for every 500 leases that it may look at.
func (s *Store) sweepRecent(ctx context.Context, within time.Duration, limit int) (swept presence.Swept, err error) {
	err = s.eachDue(ctx, "sweep", "due", func(topic presence.Topic, topics int) (eval, int) {
		most := min(sweepMost, max(1, limit/topics))
		return eval{recentScript, s.keys(topic, topicKeys[:]...), append(s.topicArgs(topic), most, within.Milliseconds())}, lookCosts + most
	}, func(_ presence.Topic, r []int64) time.Duration {
		swept.Leases += int(r[0])
		swept.Leaves += int(r[1])
		return time.Duration(r[2]) * time.Millisecond
	}, func() bool { return true })
	return swept, err
}

// Age implements [presence.Store]. It costs two round trips for every 500 topics
// whose time has come, and one for every 60 of them.
func (s *Store) Age(ctx context.Context, period time.Duration) (turned int, err error) {
	if err := s.ready(ctx, s.writes); err != nil {
		return 0, err
	}
	err = s.eachDue(ctx, "age", "views", func(topic presence.Topic, _ int) (eval, int) {
		keys := s.keys(topic, "current", "old", "guests", "before", "aged")
		return eval{ageScript, keys, []any{s.now(), period.Milliseconds()}}, lookCosts
	}, func(_ presence.Topic, r []int64) time.Duration {
		turned += int(r[0])
		return time.Duration(r[1]) * time.Millisecond
	}, func() bool { return true })
	return turned, err
}

// eachDue claims topics of an index, runs a script on each, and writes down when
// they are due next, which took says of each answer (negative: it is empty). It
// ends when none is due, or more says no. A round trip takes scripts that weigh
// no more than sweepMost.
func (s *Store) eachDue(ctx context.Context, op, list string, script func(topic presence.Topic, topics int) (e eval, weight int), took func(presence.Topic, []int64) time.Duration, more func() bool) error {
	due, idle := s.index.key(list), s.index.key(list+":idle")
	for more() {
		claimed, err := s.runOne(ctx, s.writes, op, eval{claimScript, []string{due}, []any{s.now(), claimFor.Milliseconds(), claimMost}})
		if err != nil {
			return err
		}
		topics, err := claimed.StringSlice()
		if err != nil || len(topics) == 0 {
			return wrap(op, err)
		}
		evals, weights := make([]eval, len(topics)), make([]int, len(topics))
		for i, t := range topics {
			evals[i], weights[i] = script(presence.Topic(t), len(topics))
		}
		var answers []*redis.Cmd
		for len(answers) < len(topics) {
			from := len(answers)
			to := from + together(weights[from:], sweepMost)
			some, err := call(ctx, s.writes, op, func(ctx context.Context) ([]*redis.Cmd, error) { return s.run(ctx, evals[from:to]...) })
			if len(some) == 0 || err != nil && !errors.Is(err, presence.ErrRefused) { // which is of these topics alone
				return err // the claim runs out
			}
			answers = append(answers, some...)
		}
		args := []any{s.now(), idleFor.Milliseconds(), lookAgain.Milliseconds()}
		for i, t := range topics {
			wait := lookAgain // after an error
			if r, err := answers[i].Int64Slice(); err == nil {
				wait = took(presence.Topic(t), r)
			}
			args = append(args, t, max(wait.Milliseconds(), -1))
		}
		if _, err := s.runOne(ctx, s.writes, op, eval{settleScript, []string{due, idle}, args}); err != nil {
			return err
		}
	}
	return nil
}

// Trim implements [presence.Store]. It costs one round trip for the chosen statuses, three round trips for every few
// hundred topics, and more where thousands are forgotten.
func (s *Store) Trim(ctx context.Context, keep time.Duration, most int) (forgotten int, err error) {
	if err := s.ready(ctx, s.writes); err != nil {
		return 0, err
	}
	if forgotten, err = s.trimChosen(ctx, keep, most); err != nil {
		return forgotten, err
	}
	type page struct {
		topics []string
		cursor uint64
	}
	for cursor := uint64(0); ; {
		p, err := call(ctx, s.writes, "trim", func(ctx context.Context) (p page, err error) {
			p.topics, p.cursor, err = s.client.SScan(ctx, s.index.key("seen"), cursor, "", claimMost).Result()
			return p, err
		})
		if err != nil {
			return forgotten, err
		}
		n, err := s.trim(ctx, p.topics, keep, most)
		if forgotten += n; err != nil {
			return forgotten, err
		}
		if cursor = p.cursor; cursor == 0 {
			return forgotten, nil
		}
	}
}

// trim trims topics until nothing is left to do, and takes those off the list in
// which nobody is remembered.
func (s *Store) trim(ctx context.Context, topics []string, keep time.Duration, most int) (forgotten int, err error) {
	var empty []any
	for len(topics) > 0 {
		evals, share := make([]eval, len(topics)), max(trimMost/len(topics), 10)
		for i, t := range topics {
			evals[i] = eval{trimScript, s.keys(presence.Topic(t), "seen"), []any{s.now(), keep.Milliseconds(), most, share}}
		}
		answers, err := call(ctx, s.writes, "trim", func(ctx context.Context) ([]*redis.Cmd, error) { return s.run(ctx, evals...) })
		if len(answers) == 0 || err != nil && !errors.Is(err, presence.ErrRefused) {
			return forgotten, err
		}
		var again []string
		for i, t := range topics {
			r, err := answers[i].Int64Slice()
			if err != nil {
				continue // another time
			}
			forgotten += int(r[0])
			switch {
			case r[1] == 1:
				again = append(again, t)
			case r[2] == 0:
				empty = append(empty, t)
			}
		}
		topics = again
	}
	for part := range slices.Chunk(empty, noteMost) {
		if _, err := s.runOne(ctx, s.writes, "trim", eval{forgetScript, []string{s.index.key("seen"), s.index.key("due")}, part}); err != nil {
			return forgotten, err
		}
	}
	return forgotten, nil
}
