package presence

import "time"

// A past remembers connections that have ended, as long as that matters: which
// leases a store that lost the last writes may have again, in which topics the
// grace may still hold their user, and since when earlier page views count no
// longer. The tracker's mutex guards it.
type past struct {
	ended  *recollection[leaseKey, ending]
	held   *recollection[UserID, map[Topic]time.Time] // released there, when
	voided *recollection[UserID, time.Time]           // page views before this moment may be void
}

type leaseKey struct {
	topic  Topic
	holder Holder
}

// An ending is how a connection's lease ended: by OpRelease or OpDrop.
type ending struct {
	user UserID
	kind OpKind
	at   time.Time
}

// Bounds of what is remembered. Over them the oldest is forgotten: a grace, and a
// throttle, end by themselves.
const (
	maxPast       = 100_000 // users, and leases
	maxPastTopics = 100     // of one user
)

func newPast(forgotten func(int)) past {
	return past{
		ended:  newRecollection[leaseKey, ending](maxPast, forgotten),
		held:   newRecollection[UserID, map[Topic]time.Time](maxPast, forgotten),
		voided: newRecollection[UserID, time.Time](maxPast, forgotten),
	}
}

// release notes that a connection ended in a topic.
func (p *past) release(c *Connection, topic Topic, kind OpKind) {
	user := c.visitor.User.ID
	now := time.Now()
	p.ended.set(leaseKey{topic, c.id}, ending{user, kind, now})
	topics, _ := p.held.get(user)
	if topics == nil {
		topics = make(map[Topic]time.Time)
	}
	topics[topic] = now
	forgetOldest(topics, maxPastTopics)
	p.held.set(user, topics)
}

// forgetOldest takes the oldest topic out of a map that has more than max.
func forgetOldest(topics map[Topic]time.Time, max int) {
	if len(topics) <= max {
		return
	}
	var oldest Topic
	for topic, at := range topics {
		if oldest == "" || at.Before(topics[oldest]) {
			oldest = topic
		}
	}
	delete(topics, oldest)
}

// void notes that page views of a user before a moment count no longer.
func (p *past) void(user UserID, at time.Time) {
	if was, _ := p.voided.get(user); at.After(was) {
		p.voided.set(user, at)
	}
}

// topics returns where the grace may hold a user.
func (p *past) topics(user UserID, grace time.Duration) []Topic {
	var topics []Topic
	held, _ := p.held.get(user)
	for topic, at := range held {
		if time.Since(at) <= grace+time.Second {
			topics = append(topics, topic)
		}
	}
	return topics
}

// forget drops what no longer matters.
func (p *past) forget(cfg *Config) {
	for key, e := range p.ended.all() {
		if time.Since(e.at) > cfg.TTL { // the lease would have expired by itself
			p.ended.delete(key)
		}
	}
	for user := range p.held.all() {
		if len(p.topics(user, cfg.Grace)) == 0 {
			p.held.delete(user)
		}
	}
	for user, at := range p.voided.all() {
		if time.Since(at) > cfg.Age {
			p.voided.delete(user)
		}
	}
}
