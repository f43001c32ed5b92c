package track

import (
	"context"
	"strings"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
)

// Attended reports whether somebody is at a page of a user, on any node of the fleet: the user
// is online, and not [presence.Idle] on all devices. It counts users who are [presence.Invisible], or whom nobody
// may see, as all others. It is for what waits while the user looks at the site, such as a mail.
//
// The nodes do not know whether a user is idle who chose a status. Such a user counts as
// attended while online, and so does a user whose pages say nothing of attention.
//
// Cost: a look into memory, about 1 µs. Without a [Config.Directory] the site's roster lacks
// invisible users: then a user who is not in it costs a round trip, and one who chose
// [presence.Invisible] a few more. A user whom the site's identify alone makes invisible is known on the
// user's own nodes only, and so is each invisible user where the store is no [backend.StatusStore]
// or no [backend.StaffStore].
//
// It returns [presence.ErrInvalidUser], or an error where the answer is unknown and will be known later:
// [presence.ErrStoreOut] if the store is out, came back a moment ago or has lost data, or if this node
// has not read it yet; [presence.ErrDirectoryOut] if the user is not there, and users cannot be announced.
//
// Example: Alice is invisible. Her one page, at node A, is open and she reads it: every node
// returns true. She closes it: they return false once the grace of 10 s is over.
func (t *Tracker) Attended(ctx context.Context, user presence.UserID) (at bool, err error) {
	if err := (presence.User{ID: user}).ValidateInside(); err != nil {
		return false, err
	}
	if t.users.atPage(user) {
		return true, nil
	}
	if t.directory.on() {
		return t.attendedDevice(ctx, user)
	}
	return t.attendedSite(ctx, user)
}

// attendedDevice is Attended by the user's devices, whose words have the status also of a user
// whom nobody sees.
func (t *Tracker) attendedDevice(ctx context.Context, user presence.UserID) (bool, error) {
	r, err := t.current(ctx, backend.DevicesTopic)
	if err != nil {
		return false, err
	}
	here, idle := false, true
	r.view.Load().roster.devicesOf(user, func(e *entry) bool {
		here, idle = true, readWord(e.Status).status == presence.Idle
		return idle
	})
	switch {
	case here:
		return !idle, nil
	case t.directory.out():
		return false, presence.ErrDirectoryOut // users whose settings are unknown wait to be announced
	}
	return false, t.certain(r)
}

// attendedSite is Attended by the site's roster, which does not have invisible users.
func (t *Tracker) attendedSite(ctx context.Context, user presence.UserID) (bool, error) {
	r, err := t.current(ctx, siteOf(user))
	if err != nil {
		return false, err
	}
	view := r.view.Load()
	if err := view.look(ctx, user); err != nil {
		return false, storeOut(err)
	}
	if e, _ := view.find(user); e != nil {
		return e.Status.Base() != presence.Idle, nil
	}
	if err := t.certain(r); err != nil {
		return false, err
	}
	if backend.Require(t.store, backend.FeatureStatuses|backend.FeatureStaff) != nil {
		return false, nil
	}
	chosen, err := t.store.Statuses(ctx, user)
	if err != nil {
		return false, storeOut(err)
	}
	if counting := r.view.Load().counting; !counting && (len(chosen) != 1 || chosen[0].Status.Base() != presence.Invisible) {
		return false, nil
	}
	found, err := t.store.Inspect(ctx, siteOf(user), justBefore(user), 1)
	if err != nil {
		return false, storeOut(err)
	}
	return len(found) == 1 && found[0].ID == user && found[0].Status.Base() != presence.Idle, nil
}

// justBefore returns a text that stands before a user's id, and behind the ids before it.
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
	for c := range u.connections {
		if c.holds() && !c.idle.Load() && time.Since(c.lastProof()) < p.cfg.ttl(presence.Site) {
			return true
		}
	}
	return false
}

// current returns the replica of a topic, with a view that is not stale.
func (t *Tracker) current(ctx context.Context, topic presence.Topic) (*replica, error) {
	if _, ok := ctx.Deadline(); !ok {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, viewWait)
		defer cancel()
	}
	r, err := t.topics.loaded(ctx, topic)
	if err != nil {
		return nil, err
	}
	if r.view.Load().Stale {
		return nil, presence.ErrStoreOut
	}
	return r, nil
}

// certain returns nil if a user is gone whom a replica does not have, else ErrStoreOut: leases
// may have expired that nobody could renew, or the store lost its data and nodes restore it.
func (t *Tracker) certain(r *replica) error {
	if t.outage.leasesMayHaveExpired() {
		return presence.ErrStoreOut
	}
	if r.isProvisional() {
		return presence.ErrStoreOut
	}
	return nil
}

// isProvisional reports whether the store lost data of the topic, which nodes restore.
func (r *replica) isProvisional() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.provisional.open()
}
