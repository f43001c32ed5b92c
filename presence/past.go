package presence

import "time"

// A past remembers connections that have ended, as long as that matters: which
// leases a store that lost the last writes may have again, in which topics the
// grace may still hold their user, and since when earlier page views count no
// longer. The tracker's mutex guards it.
type past struct {
	ended  map[leaseKey]ending
	held   map[UserID]map[Topic]time.Time // released there, when
	voided map[UserID]time.Time           // page views before this moment may be void
}

type leaseKey struct {
	topic  Topic
	holder Holder
}

// An ending is how a connection's lease ended: by OpRelease or OpDrop.
type ending struct {
	user UserID
	kind Kind
	at   time.Time
}

// Bounds of what is remembered. Over them it is forgotten: a grace, and a
// throttle, end by themselves.
const (
	pastMost   = 100_000 // users, and leases
	pastTopics = 100     // of one user
)

func newPast() past {
	return past{ended: make(map[leaseKey]ending), held: make(map[UserID]map[Topic]time.Time), voided: make(map[UserID]time.Time)}
}

// release notes that a connection ended in a topic.
func (p *past) release(c *Connection, topic Topic, kind Kind) {
	user := c.visitor.User.ID
	if len(p.ended) >= pastMost {
		clear(p.ended)
	}
	p.ended[leaseKey{topic, c.id}] = ending{user, kind, time.Now()}
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
func (p *past) forget(cfg *Config) {
	for key, e := range p.ended {
		if time.Since(e.at) > cfg.TTL { // the lease would have expired by itself
			delete(p.ended, key)
		}
	}
	for user := range p.held {
		if len(p.topics(user, cfg.Grace)) == 0 {
			delete(p.held, user)
		}
	}
	for user, at := range p.voided {
		if time.Since(at) > cfg.Age {
			delete(p.voided, user)
		}
	}
}
