package track

import (
	"context"
	"hash/maphash"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/rollcall-go/rollcall/internal/generations"
	"github.com/rollcall-go/rollcall/internal/wait"
	"github.com/rollcall-go/rollcall/presence"
)

// lastSeen writes to the Directory when the users of this node were last seen (rule P12).
// Nothing is written on the way of a request.
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
	directory *directoryCalls
	users     *users
	seed      maphash.Seed

	mu      lastSeenMutex
	waiting *generations.Map[presence.UserID, proof]
	turn    int

	ended chan struct{} // closed once run has returned
}

// A proof is the latest proof of life of a user that the Directory does not have yet.
type proof struct {
	at        time.Time
	elsewhere bool // a beat for a connection of another node
	last      bool // the user turned invisible then
}

const (
	lastSeenEvery = 15 * time.Second
	lastSeenTurns = 16
	// beatsStopped is how old a beat for another node's connection is if no other followed.
	beatsStopped = 20 * time.Second
)

func newLastSeen(d *directoryCalls, u *users, forgotten func(int)) *lastSeen {
	return &lastSeen{
		directory: d, users: u, seed: maphash.MakeSeed(), ended: make(chan struct{}),
		waiting: generations.New[presence.UserID, proof](maxUsersKnown, forgotten),
	}
}

// viewed takes a page view of now.
func (l *lastSeen) viewed(user presence.User) { l.take(user, proof{at: time.Now()}) }

// closed takes the end of a connection.
func (l *lastSeen) closed(c *Connection) {
	if !c.holdsDevice() {
		return
	}
	at := c.lastProof()
	if now := time.Now(); now.Sub(at) < c.TTL() { // else its lease had expired
		at = now
	}
	l.take(c.visitor.User, proof{at: at})
}

// beaten takes a beat for a user's connection of another node. by says whether the user hides;
// the zero Visitor says no.
func (l *lastSeen) beaten(user presence.UserID, by presence.Visitor) {
	by.User.ID = user
	l.take(by.User, proof{at: time.Now(), elsewhere: true})
}

// vanished takes the moment at which a user turned invisible.
func (l *lastSeen) vanished(user presence.UserID, at time.Time) {
	if !l.directory.on() {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.putLocked(user, proof{at: at, last: true})
}

// take remembers a proof of life of a user, unless the user hides.
func (l *lastSeen) take(user presence.User, p proof) {
	if !l.directory.on() || user.ID == "" || user.Status == presence.Invisible {
		return
	}
	l.users.mu.Lock()
	chosen := l.users.chosenLocked(user.ID)
	l.users.mu.Unlock()
	if chosen.hides() || user.Veiled && (chosen == nil || chosen.Status == "") {
		return
	}
	if chosen != nil && chosen.since.After(p.at) {
		p.at = chosen.since // before that nobody saw the user
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.putLocked(user.ID, p)
}

// putLocked remembers the later one of two proofs.
func (l *lastSeen) putLocked(user presence.UserID, p proof) {
	if was, ok := l.waiting.Get(user); ok && was.at.After(p.at) {
		return
	}
	l.waiting.Set(user, p)
}

// size returns how many users wait to be written.
func (l *lastSeen) size() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.waiting.Len()
}

// run writes until ctx ends. What waits then is for close.
func (l *lastSeen) run(ctx context.Context) {
	defer close(l.ended)
	pause := rand.N(lastSeenEvery) // the nodes of a fleet do not all write at once
	for ; wait.For(ctx, pause); pause = lastSeenEvery {
		l.turn = (l.turn + 1) % lastSeenTurns
		for _, c := range l.users.all() {
			if c.holdsDevice() && l.isTurnOf(c.visitor.User.ID) {
				l.take(c.visitor.User, proof{at: c.lastProof()})
			}
		}
		l.flush(ctx, false)
	}
}

// close writes all that waits, once run has returned. It tries until ctx ends.
func (l *lastSeen) close(ctx context.Context) {
	if !l.directory.on() {
		return
	}
	<-l.ended
	for !l.flush(ctx, true) && wait.For(ctx, backoffFirst) {
	}
}

func (l *lastSeen) isTurnOf(user presence.UserID) bool {
	return maphash.String(l.seed, string(user))%lastSeenTurns == uint64(l.turn)
}

// flush writes what is due, or everything. It reports whether the Directory took it.
func (l *lastSeen) flush(ctx context.Context, everything bool) bool {
	l.mu.Lock()
	waiting := l.waiting.Take()
	l.mu.Unlock()
	users := make([]presence.UserID, 0, waiting.Len())
	for user := range waiting.All() {
		users = append(users, user)
	}
	well := true
	for some := range slices.Chunk(users, maxSawAtOnce) {
		now := make(map[presence.UserID]proof, len(some))
		for _, user := range some {
			now[user], _ = waiting.Get(user)
		}
		kept := make(map[presence.UserID]proof)
		if !everything {
			l.postpone(now, kept)
		}
		if well {
			well = l.write(ctx, now)
		}
		if !well {
			for user, p := range now {
				kept[user] = p
			}
		}
		l.keep(kept)
	}
	return well
}

// postpone moves the users who are not due from one map to another.
func (l *lastSeen) postpone(now, later map[presence.UserID]proof) {
	l.users.mu.Lock()
	defer l.users.mu.Unlock()
	for user, p := range now {
		u := l.users.byID[user]
		online := u != nil && len(u.connections) > 0 || p.elsewhere && time.Since(p.at) < beatsStopped
		if online && !p.last && !l.isTurnOf(user) {
			later[user] = p
			delete(now, user)
		}
	}
}

// write writes proofs to the Directory, and reports whether it took them. It takes those
// users out of the map who hide.
func (l *lastSeen) write(ctx context.Context, now map[presence.UserID]proof) bool {
	hide, err := l.hidden(ctx, now)
	if err != nil {
		return false
	}
	for _, user := range hide {
		delete(now, user)
	}
	if len(now) == 0 {
		return true
	}
	at := make(map[presence.UserID]time.Time, len(now))
	for user, p := range now {
		at[user] = p.at
	}
	return l.directory.saw(ctx, at) == nil
}

// hidden returns those users who hide. It asks the Directory about users of whom this node
// does not know: these were recorded before it knew, or were forgotten since.
func (l *lastSeen) hidden(ctx context.Context, users map[presence.UserID]proof) (hide []presence.UserID, err error) {
	now := time.Now()
	var unknown []presence.UserID
	l.users.mu.Lock()
	for user, p := range users {
		if chosen := l.users.chosenLocked(user); chosen == nil {
			unknown = append(unknown, user)
		} else if p.hides(chosen.At(now)) {
			hide = append(hide, user)
		}
	}
	l.users.mu.Unlock()
	if len(unknown) == 0 {
		return hide, nil
	}
	chosen, err := l.directory.settings(ctx, unknown...)
	for i, s := range chosen {
		if users[unknown[i]].hides(s.At(now)) {
			hide = append(hide, unknown[i])
		}
	}
	return hide, err
}

// hides reports whether settings, which come from Settings.At, forbid to write the proof.
func (p proof) hides(s presence.Settings) bool {
	if p.last && s.Status == presence.Invisible {
		return s.Online == presence.Nobody
	}
	return s.Hides()
}

// chosenLocked returns a user's settings, nil if this node does not know them.
func (p *users) chosenLocked(user presence.UserID) *chosenSettings {
	c, _ := p.choiceLocked(user)
	return c.settings
}

// hides reports whether it is known that nobody may see now that the user is online.
func (s *chosenSettings) hides() bool { return s != nil && s.At(time.Now()).Hides() }

// keep puts proofs back, unless later ones have come since.
func (l *lastSeen) keep(kept map[presence.UserID]proof) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for user, p := range kept {
		l.putLocked(user, p)
	}
}

// lastProof returns when the connection last proved that its page is alive: now, unless its
// page has to beat.
func (c *Connection) lastProof() time.Time {
	if !c.beat.Load() {
		return time.Now()
	}
	return time.Unix(0, c.beaten.Load())
}
