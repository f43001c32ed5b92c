package track

import (
	"context"
	"hash/maphash"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/rollcall-go/rollcall/internal/wait"
	"github.com/rollcall-go/rollcall/presence"
)

// A lastSeenWriter writes to the Directory what lastSeen remembers.
type lastSeenWriter struct {
	directory *directoryCalls
	users     *users
	lastSeen  *lastSeen
	seed      maphash.Seed
	turn      int
	ended     chan struct{} // closed once run has returned
}

func newLastSeenWriter(d *directoryCalls, u *users, l *lastSeen) *lastSeenWriter {
	return &lastSeenWriter{directory: d, users: u, lastSeen: l, seed: maphash.MakeSeed(), ended: make(chan struct{})}
}

// run writes until ctx ends. close writes the rest.
func (w *lastSeenWriter) run(ctx context.Context) {
	defer close(w.ended)
	pause := rand.N(lastSeenEvery) // the nodes of a fleet do not all write at once
	for ; wait.For(ctx, pause); pause = lastSeenEvery {
		w.turn = (w.turn + 1) % lastSeenTurns
		for _, c := range w.users.all() {
			if c.holdsDevice() && w.isTurnOf(c.visitor.User.ID) {
				w.users.see(w.lastSeen, c.visitor.User, proof{at: c.lastProof()})
			}
		}
		w.flush(ctx, false)
	}
}

// close writes all that waits, once run has returned. It tries until ctx ends.
func (w *lastSeenWriter) close(ctx context.Context) {
	if !w.directory.on() {
		return
	}
	<-w.ended
	for !w.flush(ctx, true) && wait.For(ctx, backoffFirst) {
	}
}

func (w *lastSeenWriter) isTurnOf(user presence.UserID) bool {
	return maphash.String(w.seed, string(user))%lastSeenTurns == uint64(w.turn)
}

// flush writes the proofs that are due, or all. It reports whether the Directory accepted them.
func (w *lastSeenWriter) flush(ctx context.Context, everything bool) bool {
	waiting := w.lastSeen.takeAll()
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
			w.postpone(now, kept)
		}
		if well {
			well = w.write(ctx, now)
		}
		if !well {
			for user, p := range now {
				kept[user] = p
			}
		}
		w.lastSeen.keep(kept, len(some))
	}
	return well
}

// postpone moves the proofs that are not due from one map to the other.
func (w *lastSeenWriter) postpone(now, later map[presence.UserID]proof) {
	connected := w.users.connected(now)
	for user, p := range now {
		_, online := connected[user]
		online = online || p.elsewhere && time.Since(p.at) < beatsStopped
		if online && !p.last && !w.isTurnOf(user) {
			later[user] = p
			delete(now, user)
		}
	}
}

// connected returns those of some users who have a connection here.
func (p *users) connected(some map[presence.UserID]proof) map[presence.UserID]struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	all := make(map[presence.UserID]struct{})
	for user := range some {
		if u := p.byID[user]; u != nil && u.pages() > 0 {
			all[user] = struct{}{}
		}
	}
	return all
}

// write writes proofs to the Directory, and reports whether it accepted them. It removes users who hide from
// the map.
func (w *lastSeenWriter) write(ctx context.Context, now map[presence.UserID]proof) bool {
	hide, err := w.hidden(ctx, now)
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
	return w.directory.saw(ctx, at) == nil
}

// hidden returns the users who hide. It asks the Directory about users whose settings this node does not
// know, or has forgotten.
func (w *lastSeenWriter) hidden(ctx context.Context, users map[presence.UserID]proof) (hide []presence.UserID, err error) {
	now := time.Now()
	hide, unknown := w.users.hidden(users, now)
	if len(unknown) == 0 {
		return hide, nil
	}
	chosen, err := w.directory.settings(ctx, unknown...)
	for i, s := range chosen {
		if users[unknown[i]].hides(s.At(now)) {
			hide = append(hide, unknown[i])
		}
	}
	return hide, err
}

// hidden returns the users whose settings forbid writing the proof, and those whose settings this node does
// not know.
func (p *users) hidden(some map[presence.UserID]proof, now time.Time) (hide, unknown []presence.UserID) {
	for user, life := range some {
		if chosen, known := p.records.choice(user); !known {
			unknown = append(unknown, user)
		} else if life.hides(chosen.settings.At(now)) {
			hide = append(hide, user)
		}
	}
	return hide, unknown
}
