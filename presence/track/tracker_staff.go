package track

import (
	"context"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
)

// Staff returns the verbs of a site's staff. The site decides who may call them.
func (t *Tracker) Staff() *Staff { return t.staff }

// Acts returns the recent acts of staff in the whole fleet: the latest 200 at most, the latest first. A node
// that starts knows the acts of the last ten minutes. Each act is also logged by the node that did it. Acts
// only reads memory.
func (s *Staff) Acts() []presence.Act {
	return s.acts.latest()
}

// Disconnect ends everything that holds a user online, as [Tracker.SignOut] does, and keeps
// the user away for the time bar, at most [MaxBar]. In this time [Tracker.Connect] returns
// [presence.ErrBarred] for the user, and the user's page views do not count. by is the member of
// staff who asked, for [Staff.Acts].
//
// The site must end its own session of the user: otherwise the user's pages connect again
// when the bar is over. Disconnect returns when the store has ended the user's leases. Its
// errors are those of SignOut.
func (s *Staff) Disconnect(ctx context.Context, by, user presence.UserID, bar time.Duration) error {
	return s.disconnect(ctx, by, user, bar)
}

// DisconnectConnection ends a connection of a user, on any node, as if its page had closed
// it: the user stays for the grace. With the holder of a lease, as Inspect returns it, it ends all connections of the
// user at that node. It is for streams that hang, because a page that works connects again by itself. It is a no-op
// if the connection is not the user's. by is as for [Staff.Disconnect].
func (s *Staff) DisconnectConnection(ctx context.Context, by, user presence.UserID, connection presence.Holder) error {
	return s.cut(ctx, by, user, connection)
}

// ResetPeak starts the record of a topic anew, with the users who are online now. The new
// record reaches every node, so the old one does not come back.
// ResetPeak returns when the store has the new record. If the error is [presence.ErrStoreOut], the
// record is reset once the store is back. It is a no-op if the topic's [presence.Kind] has no Peak. by is
// the member of staff who asked, for [Staff.Acts]; empty: a program.
func (s *Staff) ResetPeak(ctx context.Context, by presence.UserID, topic presence.Topic) error {
	return s.resetPeak(ctx, by, topic)
}

// Topics returns up to most topics of a tenant that have a user, guest or bot, or had one
// lately: those after a given topic, in the order of their bytes. A site without tenants has the
// empty one. It is for staff: it asks the store each time, and costs a few round trips. It passes
// over the topics of all other tenants, which costs more round trips for the empty tenant alone:
// it reads at most 100 pages of a thousand topics. Its error is [presence.ErrStoreOut].
func (s *Staff) Topics(ctx context.Context, tenant string, after presence.Topic, most int) ([]presence.Topic, error) {
	return s.topics(ctx, tenant, after, most)
}

// Inspect returns up to most users of a topic with their leases, also invisible users: those
// after a given user, in the order of their IDs. It is for staff: it asks the store each
// time, and costs a few round trips. Its error is [presence.ErrStoreOut].
func (s *Staff) Inspect(ctx context.Context, topic presence.Topic, after presence.UserID, most int) ([]backend.Inspected, error) {
	return s.inspect(ctx, topic, after, most)
}

// Diagnose returns what was found since the Tracker began. It returns nothing for a site
// that is wired as it should be.
func (s *Staff) Diagnose() []presence.Diagnosis {
	return s.found.list()
}
