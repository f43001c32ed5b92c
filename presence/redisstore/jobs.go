package redisstore

import (
	"context"
	"time"

	"github.com/rollcall-go/rollcall/presence"
)

const (
	claimFor  = 2 * time.Second // a sweeper that died leaves its topics to others after this
	claimMost = 500             // topics a round trip
	lookAgain = time.Second     // a topic is looked at this often, or when a lease expires
	sweepMost = 500             // leases a script
	trimMost  = 1000            // users a script
)

// Sweep implements [presence.Store]. It costs three round trips for every 500
// topics that are due: each topic about once a second, whichever node sweeps.
func (s *Store) Sweep(ctx context.Context, limit int) (presence.Swept, error) {
	var swept presence.Swept
	err := s.eachDue(ctx, "sweep", "due", func(ctx context.Context, topics []string) ([]int64, error) {
		evals := make([]*eval, len(topics))
		for i, t := range topics {
			topic := presence.Topic(t)
			most := min(sweepMost, max(1, limit-swept.Leases))
			evals[i] = &eval{script: sweepScript, keys: s.keys(topic, topicKeys[:]...), args: append(s.topicArgs(topic), most)}
		}
		err := s.run(ctx, evals...)
		next := make([]int64, len(topics))
		for i, e := range evals {
			r, e := e.cmd.Int64Slice()
			if e != nil {
				continue // its next look is that of the claim
			}
			swept.Leases += int(r[0])
			swept.Leaves += int(r[1])
			if next[i] = r[2]; r[2] > lookAgain.Milliseconds() {
				next[i] = lookAgain.Milliseconds()
			}
		}
		swept.More = swept.Leases >= limit
		return next, err
	}, func() bool { return !swept.More })
	return swept, err
}

// Age implements [presence.Store]. It costs three round trips for every 500
// topics whose time has come.
func (s *Store) Age(ctx context.Context, period time.Duration) (turned int, err error) {
	err = s.eachDue(ctx, "age", "views", func(ctx context.Context, topics []string) ([]int64, error) {
		evals := make([]*eval, len(topics))
		for i, t := range topics {
			keys := s.keys(presence.Topic(t), "current", "old", "guests", "before", "aged")
			evals[i] = &eval{script: ageScript, keys: keys, args: []any{s.now(), period.Milliseconds()}}
		}
		err := s.run(ctx, evals...)
		next := make([]int64, len(topics))
		for i, e := range evals {
			if r, e := e.cmd.Int64Slice(); e == nil {
				turned += int(r[0])
				next[i] = r[1]
			}
		}
		return next, err
	}, func() bool { return true })
	return turned, err
}

// eachDue claims topics of an index, works on them, and says when each is due
// next, until none is due or more says no.
func (s *Store) eachDue(ctx context.Context, op, name string, work func(context.Context, []string) ([]int64, error), more func() bool) error {
	due, idle := s.index.key(name), s.index.key(name+":idle")
	for more() {
		claimed := 0
		err := s.call(ctx, op, func(ctx context.Context) error {
			claim := &eval{script: claimScript, keys: []string{due}, args: []any{s.now(), claimFor.Milliseconds(), claimMost}}
			if err := s.run(ctx, claim); err != nil {
				return err
			}
			topics, err := claim.cmd.StringSlice()
			if claimed = len(topics); err != nil || claimed == 0 {
				return err
			}
			next, err := work(ctx, topics)
			args := []any{s.now(), idleFor.Milliseconds(), lookAgain.Milliseconds()}
			for i, t := range topics {
				args = append(args, t, next[i])
			}
			if e := s.run(ctx, &eval{script: settleScript, keys: []string{due, idle}, args: args}); err == nil {
				err = e
			}
			return err
		})
		if err != nil || claimed == 0 {
			return err
		}
	}
	return nil
}

// Trim implements [presence.Store]. It costs one round trip a topic, and more
// where thousands are forgotten.
func (s *Store) Trim(ctx context.Context, keep time.Duration, most int) (forgotten int, err error) {
	var topics []string
	err = s.call(ctx, "trim", func(ctx context.Context) (err error) {
		topics, err = s.client.SMembers(ctx, s.index.key("seen")).Result()
		return err
	})
	for _, t := range topics {
		for again := true; again && err == nil; {
			err = s.call(ctx, "trim", func(ctx context.Context) error {
				e := &eval{script: trimScript, keys: s.keys(presence.Topic(t), "seen"), args: []any{s.now(), keep.Milliseconds(), most, trimMost}}
				if err := s.run(ctx, e); err != nil {
					return err
				}
				r, err := e.cmd.Int64Slice()
				if err != nil {
					return err
				}
				forgotten += int(r[0])
				again = r[1] == 1
				return nil
			})
		}
	}
	return forgotten, err
}
