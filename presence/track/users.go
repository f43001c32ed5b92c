package track

import (
	"container/list"
	"math"
	"time"

	"github.com/rollcall-go/rollcall/presence"
)

// users has everything that this node remembers of each user, and the open connections. One mutex guards
// both. No method waits for the store.
//
// A user with an open connection is always remembered, and of the others at most maxUsersKnown. The users who were
// used longest ago are dropped first. That is safe: page views are recorded all the same. Only a store that loses its
// data would not get these views back.
type users struct {
	cfg       *Config
	forgotten func(n int) // counts users who were dropped for lack of room
	max       int         // maxUsersKnown, or a smaller number in tests

	records *userRecords
	learnt  func(presence.UserID, choice) // called with mu held for each choice that this node learns
	ask     func() bool                   // called with mu held: starts the goroutine that asks for choices

	mu          usersMutex
	closed      bool // no connection can be opened any more
	connections map[presence.Holder]*holder
	guests      map[string][]*holder // the open connections of each guest who counts, and those of a passing one for the grace
	passing     map[string]*passingGuest
	byID        map[presence.UserID]*knownUser
	away        list.List                   // of *knownUser: users without a connection, the latest touched first
	visited     map[presence.Holder]*holder // visits, by the connection at another node
	questions   questions
}

func newUsers(cfg *Config, forgotten func(int)) *users {
	return &users{
		cfg: cfg, forgotten: forgotten, max: maxUsersKnown, records: newUserRecords(forgotten),
		connections: make(map[presence.Holder]*holder),
		guests:      make(map[string][]*holder),
		passing:     make(map[string]*passingGuest),
		byID:        make(map[presence.UserID]*knownUser),
		questions:   questions{open: make(map[presence.UserID]*openQuestion)},
		visited:     make(map[presence.Holder]*holder),
		learnt:      func(presence.UserID, choice) {},
		ask:         func() bool { return false },
	}
}

// knownLocked returns what is remembered of a user, and marks the user as used. If there are more than
// maxUsersKnown, it drops the user who was used longest ago.
func (p *users) knownLocked(id presence.UserID) *knownUser {
	u := p.byID[id]
	if u == nil {
		u = &knownUser{id: id}
		p.byID[id] = u
	}
	if len(u.connections) == 0 {
		p.touchLocked(u)
	}
	for p.away.Len() > p.max {
		p.forgotten(1)
		p.forgetLocked(p.oldestLocked())
	}
	return u
}

// touchLocked makes a user without a connection the most recently used one.
func (p *users) touchLocked(u *knownUser) {
	u.touched = time.Now()
	if u.place == nil {
		u.place = p.away.PushFront(u)
	} else {
		p.away.MoveToFront(u.place)
	}
}

// oldestLocked returns the user without a connection who was used longest ago, or nil.
func (p *users) oldestLocked() *knownUser {
	if last := p.away.Back(); last != nil {
		return last.Value.(*knownUser)
	}
	return nil
}

func (p *users) forgetLocked(u *knownUser) {
	p.away.Remove(u.place)
	delete(p.byID, u.id)
}

// expire drops users without a connection whose views, graces and ended leases do not matter any more. It
// checks at most maxExpired users, those who were used longest ago, so that it does
// not hold the mutex for long.
func (p *users) expire() {
	p.mu.Lock()
	defer p.mu.Unlock()
	keep := max(p.cfg.longestTTL(), p.viewsMatterFor(), p.cfg.longestGrace()+time.Second)
	for range maxExpired {
		u := p.oldestLocked()
		if u == nil || time.Since(u.touched) <= keep {
			return
		}
		p.forgetLocked(u)
	}
}

// viewsMatterFor is how long after a page view the view may hold its user. It holds for Config.Age from when
// it is written, and may have waited while the store was out.
func (p *users) viewsMatterFor() time.Duration { return 2 * min(p.cfg.Age, math.MaxInt64/2) }

// with calls do for a user whom this node remembers, with mu held: so what do reads does not change until it
// returns, and its writes are in order.
func (p *users) with(user presence.UserID, do func(*knownUser)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if u := p.byID[user]; u != nil {
		do(u)
	}
}

// figures returns how many connections and how many signed-in users with a connection
// there are.
func (p *users) figures() (connections, users int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.connections), len(p.byID) - p.away.Len()
}
