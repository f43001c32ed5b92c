package redisstore

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
)

// maxSweep is how many leases one script removes, and also all scripts of a round trip together.
const maxSweep = 500

const (
	maxLooked  = 125 // topics that one script looks at
	lookWeight = 2   // weight of a topic in such a script, in leases
)

// sweepWithin is how soon a sweep must follow its look. It is well below the shortest grace, because joins of
// pages that change nodes wait too while a sweep waits for a server that hangs.
const sweepWithin = 250 * time.Millisecond

// Sweep implements [backend.Store]. It costs one round trip, two for every 500 topics that are due, and one
// for every 250 of them. A topic is due about once a second in the whole fleet. If leases have expired it
// costs as much again, and one round trip for every 500 leases.
//
// A sweep must not remove leases that no node could renew. Example: a sweep is sent at 12:00:00, the server
// is out of reach, and the sweep arrives at 12:01:00, before any heartbeat. So each topic is first only
// looked at. The sweep contains the server's time of that look. Its script removes nothing if the look is
// older than sweepWithin, or if the server does not know the script, because the server may have restarted
// since. A sweep also ends if a call before the look took that long.
func (s *upkeep) Sweep(ctx context.Context, opts backend.SweepOptions) (backend.Swept, error) {
	began := time.Now()
	if err := s.ready(ctx, s.writes); err != nil {
		return backend.Swept{}, err
	}
	if doubt, begins, err := s.doubts(ctx, opts.Doubt); doubt || err != nil || opts.Limit == 0 {
		return backend.Swept{Doubt: begins}, err
	}
	s.lengthen(ctx)
	var swept backend.Swept
	if opts.Nodes { // before expired leases, which may be many and take all the time
		if err := s.sweepNodes(ctx, &swept); err != nil {
			return swept, err
		}
	}
	expired, err := s.sweepExpired(ctx, opts, began)
	expired.Leases, expired.Leaves = expired.Leases+swept.Leases, expired.Leaves+swept.Leaves
	expired.Gone = swept.Gone
	return expired, err
}

func (s *upkeep) sweepExpired(ctx context.Context, opts backend.SweepOptions, began time.Time) (backend.Swept, error) {
	j := &sweepJob{store: s, limit: opts.Limit, again: max(lookAgain, opts.Soonest), latest: began, looked: make(map[presence.Topic]look)}
	job := dueJob{j.scripts, j.took, j.more}
	next, err := s.eachDue(ctx, "sweep", "due", j.again, job)
	if err == nil && j.unknown {
		var doubt bool
		if doubt, j.swept.Doubt, err = s.doubts(ctx, opts.Doubt); err == nil && !doubt {
			j.slow = false
			next, err = s.eachDue(ctx, "sweep", "due", j.again, job)
		}
	}
	if opts.Soonest > 0 && j.more() {
		j.swept.Next = opts.Soonest
		if next >= 0 {
			j.swept.Next = min(next, opts.Soonest)
		}
	}
	for _, topic := range j.torn {
		if err == nil {
			err = s.repair(ctx, topic)
		}
	}
	return j.swept, err
}

// A sweepJob removes expired leases, topic by topic.
type sweepJob struct {
	store   *upkeep
	limit   int
	again   time.Duration // after this, a topic is looked at again
	swept   backend.Swept
	looked  map[presence.Topic]look
	asked   time.Time        // when the latest scripts were made
	latest  time.Time        // when the job began, or had its latest answer
	slow    bool             // a look was too old when its script ran, or a call took too long
	unknown bool             // the server did not know a script
	torn    []presence.Topic // leases may be missing in these
}

// A look is what a script saw in a topic.
type look struct {
	at  int64 // the server's time, Unix ms
	due int   // expired leases
}

func (j *sweepJob) scripts(topics []presence.Topic) []dueScript {
	j.asked = time.Now()
	if j.asked.Sub(j.latest) > sweepWithin {
		j.slow = true
		clear(j.looked)
	}
	var fresh, looked []presence.Topic
	for _, t := range topics {
		if j.looked[t].at == 0 {
			fresh = append(fresh, t)
		} else {
			looked = append(looked, t)
		}
	}
	scripts := apiece(looked, func(t presence.Topic) (e eval, weight int) {
		most := min(maxSweep, max(1, (j.limit-j.swept.Leases)/len(topics)))
		e = j.store.topicEval(sweepScript, t, most, j.looked[t].at, sweepWithin.Milliseconds())
		return e, lookCosts + min(most, j.looked[t].due)
	})
	for _, group := range j.store.gather(fresh, maxLooked) {
		look := dueScript{eval: eval{script: sweepLookScript, args: []any{j.store.now()}}, weight: lookWeight * len(group)}
		for _, i := range group {
			look.topics = append(look.topics, fresh[i])
			look.keys = append(look.keys, j.store.keys(fresh[i], "leases", "users", "hidden", "count")...)
		}
		scripts = append(scripts, look)
	}
	return scripts
}

// lookAlone returns the arguments of sweepScript that make it remove nothing.
func lookAlone(args []any) []any { return append(slices.Clone(args[:len(args)-2]), 0, 0) }

// took handles what a script of lua/sweep.lua returns of a topic.
func (j *sweepJob) took(topic presence.Topic, answer []int64) time.Duration {
	if len(answer) != 6 || answer[2] < -1 { // it cannot be read, or the server refused to look at the topic
		answer = []int64{0, 0, lookAgain.Milliseconds(), 0, 0, 0}
	}
	leases, leaves, next := int(answer[0]), int(answer[1]), time.Duration(answer[2])*time.Millisecond
	j.latest = time.Now()
	refused, late := j.looked[topic].at > 0 && leases == 0 && next == 0, time.Since(j.asked) > sweepWithin
	j.slow = j.slow || refused || late
	j.unknown = j.unknown || refused && !late
	j.swept.Leases += leases
	j.swept.Leaves += leaves
	j.swept.More = j.swept.Leases >= j.limit
	j.looked[topic] = look{at: answer[3], due: int(answer[4])}
	if answer[5] == 1 {
		j.torn = append(j.torn, topic)
	}
	return min(next, j.again)
}

func (j *sweepJob) more() bool { return !j.swept.More && !j.slow }

// repair restores leases that a topic lost from the records of its users, a round trip for every 500 records.
// Without a lease, a user would stay online for ever.
func (s *upkeep) repair(ctx context.Context, topic presence.Topic) error {
	for last, name := range []string{"users", "hidden"} {
		for cursor := "0"; ; {
			answer, err := s.runOne(ctx, s.writes, "sweep", eval{sweepRepairScript, s.keys(topic, "leases", name, "count"), []any{s.now(), cursor, maxSweep, last}})
			if errors.Is(err, presence.ErrRefused) {
				return nil // the error concerns this topic alone
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
