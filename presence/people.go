package presence

import (
	"container/list"
	"time"
)

// people is all that this node remembers of each user, and its table of open
// connections. One mutex guards both. No method waits for the store.
//
// A user with an open connection is always remembered. Of all others at most maxPeople
// are: the user who was touched longest ago is forgotten first. That is safe: the status is asked for again, and page views are recorded all the same; only a
// store that loses its data would not get those views back.
type people struct {
	cfg       *Config
	forgotten func(n int) // counts users who were forgotten for want of room

	mu          peopleMutex
	closed      bool // no connection is opened any more
	connections map[Holder]*Connection
	byID        map[UserID]*person
	away        list.List // of *person: users without a connection, the latest touched first
}

func newPeople(cfg *Config, forgotten func(int)) *people {
	return &people{cfg: cfg, forgotten: forgotten, connections: make(map[Holder]*Connection), byID: make(map[UserID]*person)}
}

// personLocked returns what is remembered of a user, and touches it. If over maxPeople,
// the user touched longest ago is forgotten.
func (p *people) personLocked(id UserID) *person {
	u := p.byID[id]
	if u == nil {
		u = &person{id: id}
		p.byID[id] = u
	}
	if len(u.connections) == 0 {
		p.touchLocked(u)
	}
	for p.away.Len() > maxPeople {
		p.forgotten(1)
		p.forgetLocked(p.oldestLocked())
	}
	return u
}

// touchLocked makes a user without a connection the latest of those.
func (p *people) touchLocked(u *person) {
	u.touched = time.Now()
	if u.place == nil {
		u.place = p.away.PushFront(u)
	} else {
		p.away.MoveToFront(u.place)
	}
}

// oldestLocked returns the user without a connection who was touched longest ago, or nil.
func (p *people) oldestLocked() *person {
	if last := p.away.Back(); last != nil {
		return last.Value.(*person)
	}
	return nil
}

func (p *people) forgetLocked(u *person) {
	p.away.Remove(u.place)
	delete(p.byID, u.id)
}

// expire forgets users without a connection of whom nothing matters any more: no view, no
// grace and no ended lease. It looks at maxExpired users at most, those who were touched
// longest ago, so that nothing waits for the mutex for long.
func (p *people) expire() {
	p.mu.Lock()
	defer p.mu.Unlock()
	// 2*Age: a page view that waited for the store while it was out holds the user for
	// up to an Age from when it is written.
	keep := max(p.cfg.TTL, 2*p.cfg.Age, p.cfg.Grace+time.Second)
	for range maxExpired {
		u := p.oldestLocked()
		if u == nil || time.Since(u.touched) <= keep {
			return
		}
		chose := u.choice != nil && u.choice.Status != ""
		if !chose && time.Since(u.attended) >= attendedFor {
			p.forgetLocked(u)
			continue
		}
		u.views, u.released, u.ended = nil, nil, nil // the chosen status and attended stay
		p.touchLocked(u)
	}
}

// chosen returns the status that a user chose, "" where this node knows of none.
func (p *people) chosen(user UserID) Status {
	p.mu.Lock()
	defer p.mu.Unlock()
	if u := p.byID[user]; u != nil && u.choice != nil {
		return u.choice.Status
	}
	return ""
}

// figures returns how many connections and how many signed-in users with a connection
// there are.
func (p *people) figures() (connections, users int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.connections), len(p.byID) - p.away.Len()
}
