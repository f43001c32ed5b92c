package track

import (
	"maps"
	"slices"
	"time"

	"github.com/rollcall-go/rollcall/presence"
)

// questions are the open questions of a node about users' choices: see choices. users.mu guards them.
type questions struct {
	waiting  map[presence.UserID]chan struct{} // closed once the choice is known
	reopened map[presence.UserID]*reopened     // questions that are to be asked once more, by user
	order    askQueue[presence.UserID]         // users to ask about
	asking   bool                              // a goroutine asks
	askAfter time.Time                         // do not ask before: the store lost choices, and other nodes are publishing them again
}

func newQuestions() questions {
	return questions{
		waiting: make(map[presence.UserID]chan struct{}), reopened: make(map[presence.UserID]*reopened),
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
	return q.waiting[user] != nil || q.reopened[user] != nil
}

// answered closes the question about a user.
func (q *questions) answered(user presence.UserID) {
	if known := q.waiting[user]; known != nil {
		delete(q.waiting, user)
		close(known)
	}
}

// askFirst queues the question about a user's choice, unless this node knows the choice or asks already. At most most
// questions wait. start reports whether the caller must start the goroutine that asks.
func (p *users) askFirst(user presence.UserID, most int) (start bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if _, known := p.records.choice(user); known || len(p.questions.waiting) >= most {
		return false
	}
	return p.askLocked(user)
}

// askLocked queues the question about a user whose choice this node does not know, unless it asks already. start is that of askFirst.
func (p *users) askLocked(user presence.UserID) (start bool) {
	if p.questions.waiting[user] != nil {
		return false
	}
	p.questions.waiting[user] = make(chan struct{})
	return p.questions.ask(user)
}

// whenKnown returns a channel that is closed once a user's choice is known. It is nil if nobody asks.
func (p *users) whenKnown(user presence.UserID) <-chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	if _, known := p.records.choice(user); known {
		return closedChannel
	}
	return p.questions.waiting[user]
}

var closedChannel = func() chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}()

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
		if q.begin(user) || q.waiting[user] != nil {
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

// waiting returns the users for whose choices something waits.
func (p *users) waiting() []presence.UserID {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Collect(maps.Keys(p.questions.waiting))
}
