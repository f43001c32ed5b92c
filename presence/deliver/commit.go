package deliver

import (
	"context"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/rollcall-go/rollcall/internal/wait"
	"github.com/rollcall-go/rollcall/presence/backend"
)

// commit writes the changes, in as many steps as they need, and hands their events to the lanes. It tries until the
// store answers. Each step holds the record for holdFor from then on, also one without changes. commit returns false
// once ctx ends, or if another node holds the record.
//
// The step names the one before it. If the record has another one, the store has lost steps, or the whole record, or
// the answer to the step. Then this node takes the record back, and writes it again from memory.
func (l *leader) commit(ctx context.Context) bool {
	for _, c := range l.out.takeChanges() {
		l.set(c.key, c.value)
	}
	for backoff := backoffFirst; ctx.Err() == nil; {
		step, rest := l.step()
		began := time.Now()
		state, err := l.try(ctx, step)
		if err == nil && state == backend.ConsumerMissing {
			var has map[string]string
			if state, err = l.hold(ctx, true); err == nil && state == backend.ConsumerHeld {
				has, err = l.read(ctx)
			}
			if number, ok := step.Set[stepsKey]; err == nil && state == backend.ConsumerHeld && (!ok || has[stepsKey] != number) {
				l.steps = stepsOf(has)
				for _, k := range l.kinds {
					if k.begun {
						l.tellGap(k.all)
					}
				}
				l.rewrite(has)
				continue
			}
		}
		switch {
		case err != nil:
			wait.For(ctx, backoff)
			backoff = min(2*backoff, claimEvery)
			continue
		case state != backend.ConsumerHeld:
			return false
		}
		l.steps = max(l.steps, stepsOf(step.Set))
		l.until, backoff = began.Add(holdFor), backoffFirst
		l.ends.Reset(time.Until(l.until) - holdMargin)
		if l.changes = rest; len(rest) == 0 {
			l.out.add(l.made...)
			l.made = nil
			return true
		}
	}
	return false
}

// rewrite makes the changes that write the whole record again, whatever the store has of it.
func (l *leader) rewrite(has map[string]string) {
	l.changes = nil
	for key := range has {
		if l.record[key] == "" && key != stepsKey {
			l.set(key, "")
		}
	}
	for _, key := range slices.Sorted(maps.Keys(l.record)) {
		l.set(key, l.record[key])
	}
}

// step returns a step with the first changes, and the changes that are left. The number of a step is its time, so
// that a record that was written again is newer than each one before.
func (l *leader) step() (backend.ConsumerStep, []recordChange) {
	n := min(len(l.changes), backend.MaxConsumerStep-1)
	step := backend.ConsumerStep{Holder: l.holder, For: holdFor, Set: make(map[string]string, n)}
	for _, c := range l.changes[:n] {
		step.Set[c.key] = c.value
	}
	for key, value := range step.Set {
		if value == "" {
			delete(step.Set, key)
			step.Delete = append(step.Delete, key)
		}
	}
	if l.steps > 0 {
		step.Expect = map[string]string{stepsKey: strconv.FormatUint(l.steps, 10)}
	}
	if n > 0 {
		step.Set[stepsKey] = strconv.FormatUint(max(l.steps+1, uint64(time.Now().UnixMicro())), 10)
	}
	return step, l.changes[n:]
}
