package track

import (
	"context"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
)

// People has the verbs of people, for a site with a [Config.Directory]: see [Tracker.People]. Its
// methods may be called concurrently.
type People struct {
	store    backend.Store
	here     *peopleHere
	choices  *choices
	signOuts *signOuts
	devices  *deviceRoster
}

// People returns the verbs of people. Without a [Config.Directory] they return
// [presence.ErrNoDirectory].
func (t *Tracker) People() *People { return t.people }

// Find returns users as a viewer may see them, in the order of the ids. An id that is repeated is answered
// each time. An empty viewer is a guest, who sees what everybody may see. For a guest the Directory is not
// asked about relations, so a user who has blocked somebody is not shown.
//
// It costs a search in memory, about 0.5 µs, for each user whom the viewer saw online within the last five
// minutes, and two queries of the Directory, side by side, if there is anybody else. The queries are the same
// for a hidden user and an absent one (rule P2), and for a user whom everybody sees and one who has blocked
// somebody: so the time reveals no block.
//
// While the Directory is out, its latest answer about an online user counts. Without an answer, only users
// whom everybody may see are online, and last seen is unknown; that is no error. It returns
// [presence.ErrNoDirectory], [presence.ErrTooManyPeople], or the error of ctx. The slices Person.On are
// shared: do not change them.
func (p *People) Find(ctx context.Context, viewer presence.UserID, ids ...presence.UserID) ([]presence.Person, error) {
	return p.here.find(ctx, viewer, ids, false)
}

// FindInDetail is [People.Find] with the Source of each answer, and with the profile of
// users who are offline, as far as presence keeps it.
//
// The profile comes from the recent names of the tenant's [presence.Site]: see [presence.PersonSource]. Unknown
// users, hidden ones, and those whose last seen is not for this viewer differ in nothing, as with Find.
//
// It costs what Find costs. Where that asks the Directory, one round trip to the store goes
// out beside, for all users together (with users of several tenants, one for each of them). While
// the store is out the source of the others is SourceStored. The errors are those of Find.
func (p *People) FindInDetail(ctx context.Context, viewer presence.UserID, ids ...presence.UserID) ([]presence.Person, error) {
	return p.here.find(ctx, viewer, ids, true)
}

// Contacts returns up to most users on a user's contact list, as the user may see them, in the order of the
// [presence.Directory], including offline ones; at most [presence.MaxPeople]. It costs a query of the
// Directory, and what [People.Find] costs. It returns [presence.ErrNoDirectory], [presence.ErrDirectoryOut],
// or the error of ctx.
func (p *People) Contacts(ctx context.Context, user presence.UserID, most int) ([]presence.Person, error) {
	return p.here.contactsOf(ctx, user, most)
}

// Settings returns what a user chose, by one query of the [presence.Directory]. Seen is what the user chose, also
// if it does not count yet: see [presence.Settings]. Its errors are [presence.ErrInvalidUser],
// [presence.ErrNoDirectory] and [presence.ErrDirectoryOut].
func (p *People) Settings(ctx context.Context, user presence.UserID) (presence.Settings, error) {
	return p.choices.settings(ctx, user)
}

// ChangeSettings changes what a user chose: in the Directory first, and then on every node, within a second
// (rule P6). change gets the current settings, and changes any part of them, except Except, which the blocks
// decide. If they leave the user invisible, a wider Seen counts once the user is visible again. Of two concurrent calls
// both count: where another call was faster, change is called once more, with what that one made. ChangeSettings costs
// two queries. It returns when the store knows.
//
// It returns the error of change, [presence.ErrInvalidUser], [presence.ErrInvalidSettings],
// [presence.ErrNoDirectory], [presence.ErrDirectoryOut], or [presence.ErrStoreOut] while the store is known
// to be out: then nothing has changed. If the store fails after the Directory has changed, there is no error,
// and the nodes learn of the change once the store is back. A Tracker that is closing may be unable to tell
// them by then. It returns [presence.ErrStoreOut] too, although the Directory has the change: so repeat the
// call, at another node. If the Directory made the change in spite of its error, or too late, the nodes show
// it.
func (p *People) ChangeSettings(ctx context.Context, user presence.UserID, change func(*presence.Settings) error) error {
	return p.choices.changeSettings(ctx, user, change)
}

// RelationsChanged tells all nodes that a user's contacts or blocks have changed in the Directory, so that
// they ask again. Call it also if the site has changed a user's settings there by itself. It costs two
// queries, and a few round trips. It returns [presence.ErrInvalidUser], [presence.ErrNoDirectory],
// [presence.ErrDirectoryOut] or [presence.ErrStoreOut]; then call it again.
func (p *People) RelationsChanged(ctx context.Context, user presence.UserID) error {
	return p.choices.relationsChanged(ctx, user)
}

// Sessions returns the devices from which a user is online, the latest first. It costs one
// round trip to the store. It returns [presence.ErrNoDirectory] or [presence.ErrStoreOut].
func (p *People) Sessions(ctx context.Context, user presence.UserID) ([]presence.Session, error) {
	return p.devices.sessions(ctx, p.store, user)
}

// EndSession ends what holds a user online from one device, at once and on every node: its
// connections end with [presence.ErrSignedOut], and its page views no longer count (rule P11). Other
// visitors see nothing if the user has another device. The site must have ended its own
// session of the device before, or the device comes back. It is a no-op for a device that is
// not there. It returns when the store knows; its errors are [presence.ErrInvalidDevice],
// [presence.ErrNoDirectory], and those of [Tracker.SignOut]. If the store is out, and this node does not
// know the device, it returns [presence.ErrStoreOut] and nothing waits: try again later.
//
// Where the user has another device, all devices still share one lease for page views in each
// topic. Where a connection of another device is in the topic, it takes the place of the page
// views, as if its page had been opened now. Elsewhere the user leaves a topic in which this
// device alone has viewed pages, but for "site": there the page views count on for at most
// Config.Age, because another device's page may hold the user too.
func (p *People) EndSession(ctx context.Context, user presence.UserID, device presence.DeviceID) error {
	return p.signOuts.endSessionOf(ctx, user, device)
}
