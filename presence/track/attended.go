package track

import (
	"context"
	"strings"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
)

// attendance finds out whether somebody is at any page of a user.
type attendance struct {
	store     backend.Store
	outage    *outage
	users     *users
	topics    *topics
	directory *directoryCalls
}

// attended is [Tracker.Attended].
func (a *attendance) attended(ctx context.Context, user presence.UserID) (at bool, err error) {
	if err := (presence.User{ID: user}).ValidateInside(); err != nil {
		return false, err
	}
	if a.users.atPage(user) {
		return true, nil
	}
	if a.directory.on() {
		return a.attendedDevice(ctx, user)
	}
	return a.attendedSite(ctx, user)
}

// attendedDevice is Attended by the user's devices. Their visibility includes the status, even of a user whom
// no viewer sees.
func (a *attendance) attendedDevice(ctx context.Context, user presence.UserID) (bool, error) {
	r, err := a.current(ctx, backend.DevicesTopic)
	if err != nil {
		return false, err
	}
	here, idle := false, true
	r.view.Load().roster.devicesOf(user, func(e *entry) bool {
		here, idle = true, e.visibility().Status == presence.Idle
		return idle
	})
	switch {
	case here:
		return !idle, nil
	case a.directory.out():
		return false, presence.ErrDirectoryOut // a user whose settings are unknown may wait to be announced
	}
	return false, a.certain(r)
}

// attendedSite is Attended by the site's roster, which does not contain invisible users.
func (a *attendance) attendedSite(ctx context.Context, user presence.UserID) (bool, error) {
	r, err := a.current(ctx, siteOf(user))
	if err != nil {
		return false, err
	}
	view := r.view.Load()
	if e := view.find(user); e != nil {
		return e.Status.Base() != presence.Idle, nil
	}
	if err := a.certain(r); err != nil {
		return false, err
	}
	chosen, err := a.store.Statuses(ctx, user)
	if err != nil {
		return false, storeOut(err)
	}
	if counting := r.view.Load().counting; !counting && (len(chosen) != 1 || chosen[0].Status.Base() != presence.Invisible) {
		return false, nil
	}
	found, err := a.store.Inspect(ctx, siteOf(user), justBefore(user), 1)
	if err != nil {
		return false, storeOut(err)
	}
	return len(found) == 1 && found[0].ID == user && found[0].Status.Base() != presence.Idle, nil
}

// justBefore returns a text that sorts directly before a user's id, and after all smaller ids.
func justBefore(user presence.UserID) presence.UserID {
	last := len(user) - 1
	return user[:last] + presence.UserID([]byte{user[last] - 1}) + presence.UserID(strings.Repeat("\xff", presence.MaxUserIDLen))
}

// atPage reports whether somebody is at a page of a user that is open on this node.
func (p *users) atPage(user presence.UserID) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	u := p.byID[user]
	if u == nil {
		return false
	}
	for _, c := range u.connections {
		if c.holds() && !c.idle.Load() && time.Since(c.lastProof()) < p.cfg.ttl(presence.Site) {
			return true
		}
	}
	return false
}

// current returns the replica of a topic, with a view that is not stale.
func (a *attendance) current(ctx context.Context, topic presence.Topic) (*replica, error) {
	if _, ok := ctx.Deadline(); !ok {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, viewWait)
		defer cancel()
	}
	r, err := a.topics.loaded(ctx, topic)
	if err != nil {
		return nil, err
	}
	if r.view.Load().Stale {
		return nil, presence.ErrStoreOut
	}
	return r, nil
}

// certain returns nil if a user who is not in a replica is certainly offline. It returns ErrStoreOut while
// that is unknown: leases may have expired in an outage, when no node could renew them, or the store has lost
// data that nodes are still restoring.
func (a *attendance) certain(r *replica) error {
	if a.outage.inDoubt() {
		return presence.ErrStoreOut
	}
	if r.isProvisional() {
		return presence.ErrStoreOut
	}
	return nil
}

// isProvisional reports whether the store lost data of the topic that nodes are still restoring.
func (r *replica) isProvisional() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, a := range r.ledger.apart {
		if a.stands {
			return true
		}
	}
	return false
}
