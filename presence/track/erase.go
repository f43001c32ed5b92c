package track

import (
	"cmp"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/rollcall-go/rollcall/internal/generations"
	"github.com/rollcall-go/rollcall/internal/wait"
	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
	"github.com/rollcall-go/rollcall/presence/deliver"
)

// export is [Tracker.Export].
func (x *eraser) export(ctx context.Context, user presence.UserID) ([]backend.Kept, error) {
	if err := (presence.User{ID: user}).ValidateInside(); err != nil {
		return nil, err
	}
	var all []backend.Kept
	for _, r := range x.records() {
		kept, err := r.ExportUser(ctx, user)
		if err != nil {
			return nil, x.partOut(r, err)
		}
		all = append(all, kept...)
	}
	return all, nil
}

// An eraser does erasures.
//
//	0 s  the erasure is in the list. All nodes end the user's connections, and all parts are erased
//	2 s  each node forgets the user: whoever reads along has read by then that the user left
//	3 s  all parts are erased again: of what was on its way, and of the leave itself
//	6 s  and once more, of what a node wrote while it forgot. The list forgets the erasure
//
// If a part fails, the node begins again every two seconds while its claim lasts, and then some node claims
// the erasure anew. The log has a line when an erasure is put off and when it is done. It names no user.
//
// A node that dies leaves its claim, for seven seconds. Another node goes on from when it heard of the first
// pass. Example: Alice is erased at node a, which is killed at once. Node b heard a's notice, so all nodes forgot
// her two seconds later. At 7 s b claims the erasure, makes one pass, and it is done.
//
// A node works on 32 erasures at a time: of further ones it ends the connections, and the rest waits in the
// list, in order. A further erasure of a user waits there too, while this node works on an earlier one.
type eraser struct {
	cfg        *Config
	life       *lifetime
	store      backend.Store
	users      *users
	topics     *topics
	notices    *notices
	seal       *seal
	lastSeen   *lastSeen
	choices    *choices
	signOuts   *signOuts
	acts       *acts
	people     *peopleHere
	deliveries *deliver.Consumers
	list       backend.ErasureList
	turns      *erasureTurns

	mu    sync.Mutex // taken with no other mutex held
	parts []backend.UserRecords
	soon  map[presence.UserID]struct{}        // users whom this node will forget in a moment
	heard *generations.Map[string, time.Time] // MACs of the users whose ids this node was told: when the first pass began, zero for none yet
}

// Times of an erasure.
const (
	forgetAfter  = 2 * time.Second
	firstPass    = 1
	secondPass   = 3 * time.Second
	lastPass     = 6 * time.Second
	erasureHold  = lastPass + time.Second/4 // how long a claim lasts: all passes. Then a poll of another node finds it, within ten seconds
	erasureEvery = 2 * time.Second          // how often the list is read, and a part that failed is tried
	erasureWait  = 5 * time.Second          // how long one part may take

	maxErasedHeard = 1_000
)

// begin completes an eraser whose fields for other parts are set.
func (x *eraser) begin() *eraser {
	x.list, x.turns, x.parts = x.store, newErasureTurns(), []backend.UserRecords{x.store}
	x.soon, x.heard = make(map[presence.UserID]struct{}), generations.New[string, time.Time](maxErasedHeard, nil)
	if r, ok := x.cfg.Directory.(backend.UserRecords); ok {
		x.parts = append(x.parts, r)
	}
	if l, ok := x.cfg.Directory.(backend.ErasureList); ok {
		x.list = l
	}
	return x
}

func (x *eraser) add(r backend.UserRecords) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.parts = append(x.parts, r)
}

func (x *eraser) records() []backend.UserRecords {
	x.mu.Lock()
	defer x.mu.Unlock()
	return append([]backend.UserRecords(nil), x.parts...)
}

// partOut returns an error that names the part that failed.
func (x *eraser) partOut(r any, err error) error {
	if r == any(x.store) {
		return storeOut(err)
	}
	return fmt.Errorf("%w: %w", presence.ErrDirectoryOut, err)
}

// order is [Tracker.Erase]. It promises an erasure, and starts it.
func (x *eraser) order(ctx context.Context, user presence.UserID) error {
	if err := (presence.User{ID: user}).ValidateInside(); err != nil {
		return err
	}
	user = presence.UserID(strings.Clone(string(user)))
	now, hold := x.turns.enter(user)
	e, err := x.list.AddErasure(ctx, user, hold)
	if err != nil {
		if now {
			x.turns.leave(user)
		}
		return x.partOut(x.list, err)
	}
	if !now {
		if hold == 0 {
			x.turns.wait()
		}
		x.turns.pass(ctx, func() { _ = x.end(ctx, e) }) // end runs again when the erasure has its turn
		return nil
	}
	begun := make(chan struct{})
	if !x.life.spawn(func(ctx context.Context) { x.work(ctx, e, sync.OnceFunc(func() { close(begun) })) }) {
		return nil // another node does it
	}
	wait.Until(ctx, begun, -1)
	return nil
}

// work carries out an erasure that has its turn. It calls begun after the first pass.
func (x *eraser) work(ctx context.Context, e backend.Erasure, begun func()) {
	defer x.turns.leave(e.User)
	defer begun()
	claimed, began, asked := time.Now(), x.began(e), time.Now().Add(-e.Ago)
	for {
		failed := x.passes(ctx, e, began, begun)
		e.Ago = time.Since(asked)
		switch {
		case ctx.Err() != nil:
			return
		case failed == nil:
			x.cfg.Logger.Info("presence: a user was erased", "asked", e.Ago)
			return
		case time.Since(claimed) >= erasureHold:
			x.cfg.Logger.Warn("presence: the erasure of a user is put off, because a part of what is kept is out", "asked", e.Ago, "error", failed)
			x.turns.wait()
			return
		case !wait.For(ctx, erasureEvery):
			return
		}
		began = time.Time{}
	}
}

// began returns when an erasure's first pass began, and zero if this node has not heard of it.
func (x *eraser) began(e backend.Erasure) time.Time {
	x.mu.Lock()
	defer x.mu.Unlock()
	if at, _ := x.heard.Get(x.nameOf(e.User)); time.Since(at) <= e.Ago+time.Second {
		return at
	}
	return time.Time{}
}

// passes makes the passes of an erasure that are not over, and at least one. Then the list forgets it.
func (x *eraser) passes(ctx context.Context, e backend.Erasure, began time.Time, begun func()) (failed error) {
	var latest time.Duration // when the latest pass was made
	pass := func() {
		if began.IsZero() {
			began, failed = time.Now(), x.end(ctx, e)
		}
		latest = max(time.Since(began), firstPass)
		failed = errors.Join(failed, x.pass(ctx, backend.Erasure{User: e.User, Ago: latest}))
	}
	for _, at := range []time.Duration{firstPass, secondPass, lastPass} {
		if latest >= at {
			continue
		}
		if latest != 0 && !wait.For(ctx, time.Until(began.Add(at))) || !x.turns.pass(ctx, pass) {
			return ctx.Err()
		}
		begun()
		if failed != nil {
			return failed
		}
	}
	return within(ctx, func(ctx context.Context) error { return x.list.EndErasure(ctx, e) })
}

// end makes all nodes end the user's connections. The lasting notice, for nodes that cannot be reached now,
// has a MAC in place of the id. A node compares it with those of the users whom it holds.
func (x *eraser) end(ctx context.Context, e backend.Erasure) error {
	x.endHere(e.User, e.Ago)
	ctx, cancel := context.WithTimeout(ctx, erasureWait)
	defer cancel()
	name := x.nameOf(e.User)
	if name == "" {
		return presence.ErrStoreOut
	}
	told := x.store.Publish(ctx, backend.Notice{Kind: backend.NoticeErased, User: e.User, Payload: endFirst, Ago: e.Ago})
	kept := x.notices.publish(ctx, backend.Notice{Kind: backend.NoticeErased, Payload: name, Lasting: true, Ago: e.Ago})
	return cmp.Or(storeOut(told), kept)
}

// nameOf returns a MAC of a user's id, "" while the fleet's secret is not known.
func (x *eraser) nameOf(user presence.UserID) string {
	mac, known := x.seal.sign(erasedPurpose, string(user))
	if !known {
		return ""
	}
	return hex.EncodeToString(mac[:])
}

const (
	erasedPurpose = "erased" // of the MAC
	endFirst      = "end"    // the payload of a notice that begins an erasure
)

// pass makes all nodes forget the user, and erases all parts that can be reached.
func (x *eraser) pass(ctx context.Context, e backend.Erasure) error {
	x.forgetSoon(e.User, e.Ago)
	failed := within(ctx, func(ctx context.Context) error {
		return storeOut(x.store.Publish(ctx, backend.Notice{Kind: backend.NoticeErased, User: e.User, Ago: e.Ago}))
	})
	for _, part := range x.records() {
		if err := within(ctx, func(ctx context.Context) error { return part.EraseUser(ctx, e) }); err != nil {
			failed = errors.Join(failed, x.partOut(part, err))
		}
	}
	return failed
}

// within calls do, which may take erasureWait.
func within(ctx context.Context, do func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, erasureWait)
	defer cancel()
	return do(ctx)
}

// hear applies a notice of end or of pass.
func (x *eraser) hear(n backend.Notice) {
	user := presence.UserID(strings.Clone(string(n.User)))
	switch {
	case user != "" && n.Payload != endFirst:
		x.hears(x.nameOf(user), time.Now().Add(-n.Ago))
		x.forgetSoon(user, n.Ago)
	case user != "":
		x.hears(x.nameOf(user), time.Time{})
		x.endHere(user, n.Ago)
	case !x.hasHeard(n.Payload): // comparing takes half a microsecond for each user whom this node knows
		for _, user := range x.users.ids() {
			if x.nameOf(user) == n.Payload {
				x.endHere(user, n.Ago)
				x.forgetSoon(user, n.Ago)
			}
		}
	}
}

// hears notes that this node was told the id of a user, and when the first pass began.
func (x *eraser) hears(name string, began time.Time) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.heard.Set(name, began)
}

func (x *eraser) hasHeard(name string) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	_, heard := x.heard.Get(name)
	return heard
}

// endHere ends everything that holds the user here. It also ends the user's leases in the store: operations
// that were under way reach the store before that.
func (x *eraser) endHere(user presence.UserID, ago time.Duration) {
	at := time.Now().Add(-ago)
	leave(x.signOuts.write(append(x.signOuts.endUser(user, at), placed{siteOf(user), cell{member: user, out: at}})))
}

// forgetSoon makes this node forget a user a while later.
func (x *eraser) forgetSoon(user presence.UserID, ago time.Duration) {
	x.mu.Lock()
	_, soon := x.soon[user]
	x.soon[user] = struct{}{}
	x.mu.Unlock()
	if soon {
		return
	}
	at := time.Now().Add(-ago)
	x.life.spawn(func(ctx context.Context) {
		if wait.For(ctx, forgetAfter) {
			x.mu.Lock()
			delete(x.soon, user)
			x.mu.Unlock()
			x.forget(backend.Erasure{User: user, Ago: time.Since(at)})
		}
	})
}

// forget removes what this node remembers of a user.
func (x *eraser) forget(e backend.Erasure) {
	x.users.forgetUser(e)
	x.lastSeen.forget(e.User)
	x.choices.untils.set(e.User, time.Time{})
	x.notices.forget(e)
	for _, r := range x.topics.all() {
		r.forget(e)
	}
	x.deliveries.Forget(e)
	x.acts.forget(e)
	x.people.relationsChanged(e.User)
}
