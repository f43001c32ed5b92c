package presence

import "time"

// A past remembers connections that have ended, as long as that matters: in
// which topics the grace may still hold their user, and since when earlier page
// views count no longer. The tracker's mutex guards it.
type past struct {
	held   map[UserID]map[Topic]time.Time // released there, when
	voided map[UserID]time.Time           // page views before this moment may be void
}

// Bounds of what is remembered. Over them it is forgotten: a grace, and a
// throttle, end by themselves.
const (
	pastMost   = 100_000 // users
	pastTopics = 100     // of one user
)

func newPast() past {
	return past{held: make(map[UserID]map[Topic]time.Time), voided: make(map[UserID]time.Time)}
}

// release notes that a connection of a user ended in a topic.
func (p *past) release(user UserID, topic Topic) {
	if len(p.held) >= pastMost {
		clear(p.held)
	}
	if p.held[user] == nil || len(p.held[user]) >= pastTopics {
		p.held[user] = make(map[Topic]time.Time)
	}
	p.held[user][topic] = time.Now()
}

// void notes that page views of a user before a moment count no longer.
func (p *past) void(user UserID, at time.Time) {
	if len(p.voided) >= pastMost {
		clear(p.voided)
	}
	if at.After(p.voided[user]) {
		p.voided[user] = at
	}
}

// topics returns where the grace may hold a user.
func (p *past) topics(user UserID, grace time.Duration) []Topic {
	var topics []Topic
	for topic, at := range p.held[user] {
		if time.Since(at) <= grace+time.Second {
			topics = append(topics, topic)
		}
	}
	return topics
}

// forget drops what no longer matters.
func (p *past) forget(grace, age time.Duration) {
	for user := range p.held {
		if len(p.topics(user, grace)) == 0 {
			delete(p.held, user)
		}
	}
	for user, at := range p.voided {
		if time.Since(at) > age {
			delete(p.voided, user)
		}
	}
}
