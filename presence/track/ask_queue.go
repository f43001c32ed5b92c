package track

import (
	"context"
	"time"

	"github.com/rollcall-go/rollcall/internal/wait"
)

// An askQueue has what is to be asked about in the order in which they came, each once. The zero value is empty.
type askQueue[K comparable] struct {
	order  []K
	listed map[K]struct{}
}

// put adds a value at the end, unless the askQueue has it.
func (q *askQueue[K]) put(value K) {
	if _, listed := q.listed[value]; listed {
		return
	}
	if q.listed == nil {
		q.listed = make(map[K]struct{})
	}
	q.listed[value] = struct{}{}
	q.order = append(q.order, value)
}

// next removes the first value. It returns false if there is none.
func (q *askQueue[K]) next() (first K, ok bool) {
	if len(q.order) == 0 {
		*q = askQueue[K]{}
		return first, false
	}
	first = q.order[0]
	clear(q.order[:1])
	q.order = q.order[1:]
	delete(q.listed, first)
	return first, true
}

// askInTurn asks the Directory about people until ctx ends: after each wake-up, and after the window in which further
// questions come, until ask has nothing to ask. After an error it waits longer each time.
func askInTurn(ctx context.Context, kick wait.Wakeup, window time.Duration, ask func() (asked, answered bool)) {
	for backoff := backoffFirst; wait.Until(ctx, kick, -1) && wait.For(ctx, window); {
		for asked, answered := ask(); asked; asked, answered = ask() {
			switch {
			case answered:
				backoff = backoffFirst
			case !wait.For(ctx, backoff):
				return
			default:
				backoff = min(2*backoff, maxPeopleBackoff)
			}
		}
	}
}
