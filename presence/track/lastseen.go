package track

import (
	"time"

	"github.com/rollcall-go/rollcall/internal/generations"
	"github.com/rollcall-go/rollcall/presence"
)

// lastSeen remembers when the users of this node were last seen, until a lastSeenWriter has written it
// to the Directory (rule P12). Nothing is written on the way of a request.
//
//	proof of life                                   written
//	a page view                                     within lastSeenEvery
//	the end of a user's last connection here        within lastSeenEvery
//	an open connection here                         every lastSeenTurns × lastSeenEvery
//	a beat here for a connection of another node    the same, and once the beats have stopped
//
// So a node that dies takes less than five minutes with it. The users with a connection have
// their turns at different moments. A user who has a connection here waits for it also with
// page views: the user is online, and nobody asks when an online user was last seen.
//
// A moment is kept until the Directory has it: the Directory keeps the later of two moments,
// so it may get one twice and in any order. Neither a leader nor a cursor is needed.
//
// Nothing is written of what a user does who hides. Whoever turns invisible was last seen at that
// moment, since to others that is leaving. Whoever turns hidden by the settings loses the moments
// that wait: they could tell when the user did so.
type lastSeen struct {
	on bool // the site has a Directory

	mu      lastSeenMutex
	waiting *generations.Map[presence.UserID, proof]
}

// A proof is a user's latest proof of life that the Directory does not have yet.
type proof struct {
	at        time.Time
	elsewhere bool // a beat for a connection of another node
	last      bool // the user turned invisible then
}

const (
	lastSeenEvery = 15 * time.Second
	lastSeenTurns = 16
	// beatsStopped is the time without a beat after which beats for another node's connection count as
	// stopped.
	beatsStopped = 20 * time.Second
)

func newLastSeen(on bool, forgotten func(int)) *lastSeen {
	return &lastSeen{on: on, waiting: generations.New[presence.UserID, proof](maxUsersKnown, forgotten)}
}

// see notes a proof of life of a user, unless the user hides.
func (p *users) see(l *lastSeen, user presence.User, life proof) {
	if !l.on || user.ID == "" || user.Status == presence.Invisible {
		return
	}
	chosen := p.choiceOf(user.ID).settings
	if !chosen.At(time.Now()).Hides() && !(user.Veiled && chosen.Status == "") {
		l.take(user.ID, life, chosen.since)
	}
}

// take remembers a proof of life of a user whose viewers see nothing from before a moment, unless there is a later one.
func (l *lastSeen) take(user presence.UserID, p proof, since time.Time) {
	p.at = later(p.at, since)
	l.mu.Lock()
	defer l.mu.Unlock()
	if was, waits := l.waiting.Get(user); !waits || !was.at.After(p.at) {
		l.waiting.Set(user, p)
	}
}

// size returns how many users wait to be written.
func (l *lastSeen) size() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.waiting.Len()
}

// users returns the users who wait to be written.
func (l *lastSeen) users() (all []presence.UserID) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for user := range l.waiting.All() {
		all = append(all, user)
	}
	return all
}

// of returns the proofs of some users that wait.
func (l *lastSeen) of(some []presence.UserID) map[presence.UserID]proof {
	l.mu.Lock()
	defer l.mu.Unlock()
	proofs := make(map[presence.UserID]proof, len(some))
	for _, user := range some {
		if p, waits := l.waiting.Get(user); waits {
			proofs[user] = p
		}
	}
	return proofs
}

// drop removes proofs that were written or must not be, unless others have come since.
func (l *lastSeen) drop(proofs map[presence.UserID]proof) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for user, p := range proofs {
		if now, _ := l.waiting.Get(user); now == p {
			l.waiting.Delete(user)
		}
	}
}

// hides reports whether settings forbid writing the proof. They must come from Settings.At.
func (p proof) hides(s presence.Settings) bool {
	if p.last && s.Status == presence.Invisible {
		return s.Online == presence.Nobody
	}
	return s.Hides()
}

// endsLife notes the end of the connection as the latest proof of life of its user.
func (c *Connection) endsLife() {
	if !c.holdsDevice() {
		return
	}
	at := c.lastProof()
	if now := time.Now(); now.Sub(at) < c.TTL() { // otherwise its lease had expired
		at = now
	}
	c.env.users.see(c.env.lastSeen, c.visitor.User, proof{at: at})
}
