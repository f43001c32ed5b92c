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

// flush writes the proofs that are due, or all. It reports whether the Directory accepted them. Those that it did not accept
// go on waiting.
func (w *lastSeenWriter) flush(ctx context.Context, everything bool) bool {
	for some := range slices.Chunk(w.lastSeen.users(), maxSawAtOnce) {
		proofs := w.lastSeen.of(some)
		if !everything {
			w.postpone(proofs)
		}
		if !w.write(ctx, proofs) {
			return false
		}
	}
	return true
}

// postpone removes the proofs that are not due.
func (w *lastSeenWriter) postpone(proofs map[presence.UserID]proof) {
	w.users.mu.Lock()
	defer w.users.mu.Unlock()
	for user, p := range proofs {
		u := w.users.byID[user]
		online := u != nil && u.pages() > 0 || p.elsewhere && time.Since(p.at) < beatsStopped
		if online && !p.last && !w.isTurnOf(user) {
			delete(proofs, user)
		}
	}
}

// write writes proofs to the Directory, and reports whether it accepted them. It drops those of users who hide.
func (w *lastSeenWriter) write(ctx context.Context, proofs map[presence.UserID]proof) bool {
	hidden, err := w.hidden(ctx, proofs)
	if err != nil {
		return false
	}
	w.lastSeen.drop(hidden)
	at := make(map[presence.UserID]time.Time, len(proofs))
	for user, p := range proofs {
		if _, hides := hidden[user]; !hides {
			at[user] = p.at
		}
	}
	if len(at) > 0 && w.directory.saw(ctx, at) != nil {
		return false
	}
	w.lastSeen.drop(proofs)
	return true
}

// hidden returns the proofs that the settings of their users forbid to write. It asks the Directory about users whose settings
// this node does not know, or has forgotten.
func (w *lastSeenWriter) hidden(ctx context.Context, proofs map[presence.UserID]proof) (hidden map[presence.UserID]proof, err error) {
	hidden = make(map[presence.UserID]proof)
	now := time.Now()
	var unknown []presence.UserID
	hear := func(user presence.UserID, s presence.Settings) {
		if p := proofs[user]; p.hides(s.At(now)) {
			hidden[user] = p
		}
	}
	for user := range proofs {
		if chosen, known := w.users.records.choice(user); known {
			hear(user, chosen.settings.Settings)
		} else {
			unknown = append(unknown, user)
		}
	}
	if len(unknown) == 0 {
		return hidden, nil
	}
	chosen, err := w.directory.settings(ctx, unknown...)
	for i, s := range chosen {
		hear(unknown[i], s)
	}
	return hidden, err
}
