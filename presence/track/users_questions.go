package track

import (
	"time"

	"github.com/rollcall-go/rollcall/presence"
)

// questions are the open questions of a node about users' choices: see choices. users.mu guards them.
type questions struct {
	open     map[presence.UserID]*openQuestion
	order    askQueue[presence.UserID] // users to ask about
	asking   bool                      // a goroutine asks
	askAfter time.Time                 // do not ask before: the store lost choices, and other nodes are publishing them again
}

// An openQuestion is about a user whose choice this node does not know, or of whom it may have missed a later one. It is closed by the
// answer to a call that began since. One that is not asked again is closed by a notice, too.
type openQuestion struct {
	again    bool          // a later choice may have been missed
	asked    bool          // a call has begun since
	answered chan struct{} // closed with the question
}

// askLocked opens a question about a user, unless it is open.
func (p *users) askLocked(user presence.UserID) {
	if p.questions.open[user] == nil {
		p.questions.open[user] = &openQuestion{answered: make(chan struct{})}
		p.queueLocked(user)
	}
}

// queueLocked makes an open question be asked, once more if it was asked before.
func (p *users) queueLocked(user presence.UserID) {
	q := &p.questions
	q.open[user].asked = false
	q.order.put(user)
	q.asking = q.asking || p.ask()
}

// askFirst asks about a user, unless this node knows the choice. It opens no question over most, and as many that are asked again.
func (p *users) askFirst(user presence.UserID, most int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if _, known := p.records.choice(user); !known && len(p.questions.open) < 2*most {
		p.askLocked(user)
	}
}

// askAgain asks about users of whom this node may have missed a later choice.
func (p *users) askAgain(users ...presence.UserID) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, user := range users {
		p.askLocked(user)
		p.questions.open[user].again = true
		p.queueLocked(user)
	}
}

// repeat asks once more about users whose questions are open.
func (p *users) repeat(users []presence.UserID) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, user := range users {
		if p.questions.open[user] != nil {
			p.queueLocked(user)
		}
	}
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
		if is := q.open[user]; is != nil {
			is.asked = true
			users = append(users, user)
		}
	}
	q.asking = len(users) > 0
	return users, 0
}

// whenKnown returns a channel that is closed once a user's choice is known. It is nil if nobody asks.
func (p *users) whenKnown(user presence.UserID) <-chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	if _, known := p.records.choice(user); known {
		return closedChannel
	}
	if is := p.questions.open[user]; is != nil {
		return is.answered
	}
	return nil
}

var closedChannel = func() chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}()

// askFrom lets no question be asked before a moment.
func (p *users) askFrom(at time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.questions.askAfter = later(p.questions.askAfter, at)
}

// openQuestions returns the open questions by user: all, or those about users of whom this node may have missed a later choice.
func (p *users) openQuestions(again bool) map[presence.UserID]*openQuestion {
	p.mu.Lock()
	defer p.mu.Unlock()
	some := make(map[presence.UserID]*openQuestion)
	for user, is := range p.questions.open {
		if is.again || !again {
			some[user] = is
		}
	}
	return some
}

// waiting returns how many users there are whose choice this node does not know, and asks for.
func (p *users) waiting() (n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for user := range p.questions.open {
		if _, known := p.records.choice(user); !known {
			n++
		}
	}
	return n
}
