package deliver

import (
	"context"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/rollcall-go/rollcall/internal/wait"
	"github.com/rollcall-go/rollcall/presence/backend"
	"github.com/rollcall-go/rollcall/presence/internal/wire"
)

// commit writes the changes, and holds the record for holdFor from now on, even without changes. It returns
// false once ctx ends, or if another node holds the record, or may have held it since this node's time was over.
func (l *leader) commit(ctx context.Context) bool {
	l.drop(l.out.takeAcks())
	if !l.write(ctx) {
		return false
	}
	l.out.add(l.made...)
	l.made = nil
	dropped, gaps := l.out.shed()
	l.drop(dropped)
	for _, gap := range gaps {
		l.set(eventKey(gap.number), gap.encode())
	}
	if len(l.changes) > 0 {
		l.woken.Wake()
	}
	return true
}

// write commits the changes, in as many steps as they need, and tries until the store answers. The step
// names the one before it. If the record has another one, the store has lost steps, or the whole record, or the
// answer to the step. Then this node takes the record back, and writes it again from memory.
func (l *leader) write(ctx context.Context) bool {
	for backoff := backoffFirst; time.Now().Before(l.until); {
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
		if err != nil {
			if !wait.For(ctx, backoff) {
				return false
			}
			backoff = min(2*backoff, claimEvery)
			continue
		}
		if state != backend.ConsumerHeld {
			return false
		}
		l.steps = max(l.steps, stepsOf(step.Set))
		l.until, backoff = began.Add(holdFor), backoffFirst
		l.out.lease(began.Add(holdFor - holdMargin))
		if l.changes = rest; len(rest) == 0 {
			return true
		}
	}
	return false
}

func (c *consumer) try(ctx context.Context, step backend.ConsumerStep) (backend.ConsumerState, error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	return c.node.Store.CommitConsumer(ctx, c.name, step)
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

// step returns a step with the first changes, and the changes that are left. An event and its user are in one
// step: so a node that takes over between two steps does not make the event again. The number of a step is its
// time, so that a record that was written again is newer than each one before.
func (l *leader) step() (backend.ConsumerStep, []recordChange) {
	changes := l.changes
	n := min(len(changes), backend.MaxConsumerStep-1)
	if n < len(changes) && strings.HasPrefix(changes[n-1].key, wire.EventPrefix) {
		n--
	}
	step := backend.ConsumerStep{Holder: l.holder, For: holdFor, Set: make(map[string]string, n)}
	for _, c := range changes[:n] {
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
	return step, changes[n:]
}

// giveUp commits the events that are done, and lets another node take over at once.
func (l *leader) giveUp(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), giveUpFor)
	defer cancel()
	l.drop(l.out.takeAcks())
	if l.write(ctx) {
		_, _ = l.try(ctx, backend.ConsumerStep{Holder: l.holder})
	}
}
