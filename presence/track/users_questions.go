package track

import (
	"maps"
	"slices"
	"time"

	"github.com/rollcall-go/rollcall/presence"
)

// questions are the open questions of a node about users' choices: see choices. users.mu guards them.
type questions struct {
	waiting  map[presence.UserID][]unresolved // functions to call once a choice is known, in order
	queued   int                              // functions in waiting
	reopened map[presence.UserID]*reopened    // questions that are to be asked once more, by user
	order    askQueue[presence.UserID]        // users to ask about
	asking   bool                             // a goroutine asks
	askAfter time.Time                        // do not ask before: the store lost choices, and other nodes are publishing them again
}

// An unresolved is a function to call once a user's choice is known.
type unresolved struct {
	conn *holder      // the connection whose lease waits; nil: a page view waits
	then func(choice) // nil: nothing waits yet, and the question was asked early
}

func newQuestions() questions {
	return questions{
		waiting: make(map[presence.UserID][]unresolved), reopened: make(map[presence.UserID]*reopened),
	}
}

// ask queues a question about a user. start reports whether the caller must start the goroutine that asks.
func (q *questions) ask(user presence.UserID) (start bool) {
	q.order.put(user)
	start, q.asking = !q.asking, true
	return start
}

// open reports whether something waits for a user's choice, or the question is reopened.
func (q *questions) open(user presence.UserID) bool {
	return len(q.waiting[user]) > 0 || q.reopened[user] != nil
}

// full reports whether no further function about a user may wait. At most most functions may.
func (q *questions) full(user presence.UserID, most int) bool {
	return q.queued >= most || q.queued >= most/2 && len(q.waiting[user]) > most/shareParts
}

// take returns the functions that wait for a user's choice, and removes them.
func (q *questions) take(user presence.UserID) []unresolved {
	waiting := q.waiting[user]
	delete(q.waiting, user)
	q.queued -= len(waiting)
	return waiting
}

// whenKnown calls then with a user's choice: at once, or when the choice is known. It drops then if most
// functions wait already. h is the connection whose lease waits, nil for a page view. then is called with mu
// held. start reports whether the caller must start the goroutine that asks.
func (p *users) whenKnown(h *holder, user presence.UserID, most int, then func(choice)) (start, dropped bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if chosen, known := p.records.choice(user); known {
		then(chosen)
		return false, false
	}
	q := &p.questions
	waiting := q.waiting[user]
	first, had := len(waiting) == 0, len(waiting)
	waiting = slices.DeleteFunc(waiting, func(u unresolved) bool { return u.then == nil || u.conn != nil && p.connections[u.conn.id] == nil })
	q.queued += len(waiting) - had
	q.waiting[user] = waiting
	if dropped = q.full(user, most); !dropped {
		waiting = append(waiting, unresolved{h, then})
		q.waiting[user] = waiting
		q.queued++
	}
	if len(waiting) == 0 {
		delete(q.waiting, user)
	} else if first {
		start = q.ask(user)
	}
	return start, dropped
}

// askFirst queues the question about a user's choice before anything waits for the answer. It takes room for one function
// of at most most, which the first call of whenKnown takes over. start is that of whenKnown.
func (p *users) askFirst(user presence.UserID, most int) (start bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	q := &p.questions
	if _, known := p.records.choice(user); known || len(q.waiting[user]) > 0 || q.full(user, most) {
		return false
	}
	q.waiting[user] = []unresolved{{}}
	q.queued++
	return q.ask(user)
}

// fullFor reports whether whenKnown would drop a function if at most most may wait.
func (p *users) fullFor(user presence.UserID, most int) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	_, known := p.records.choice(user)
	return !known && p.questions.full(user, most)
}

// nextAsked returns the next users to ask about, in the order in which they came. If it is too early to ask,
// it returns for how long. If there are none, the goroutine that asks must end.
func (p *users) nextAsked(most int) (users []presence.UserID, early time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	q := &p.questions
	if early = time.Until(q.askAfter); early > 0 {
		return nil, early
	}
	for len(users) < most {
		user, ok := q.order.next()
		if !ok {
			break
		}
		if q.begin(user) || len(q.waiting[user]) > 0 {
			users = append(users, user)
		}
	}
	q.asking = len(users) > 0
	return users, 0
}

// askAgain queues users again. start reports whether the caller must start the goroutine that asks.
func (p *users) askAgain(users []presence.UserID) (start bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, user := range users {
		start = p.questions.ask(user) || start
	}
	return start
}

// askFrom lets no question be asked before a moment.
func (p *users) askFrom(at time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.questions.askAfter = later(p.questions.askAfter, at)
}

// waiting returns the users for whose choices functions wait, and the number of these functions.
func (p *users) waiting() (users []presence.UserID, queued int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Collect(maps.Keys(p.questions.waiting)), p.questions.queued
}
