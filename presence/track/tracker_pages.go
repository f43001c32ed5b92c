package track

import (
	"context"
	"strings"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
)

// Seen records a page view of a signed-in user in a topic: it holds the user online for Config.Age. With a
// [Config.Directory] it holds the device online for as long. An invalid Device counts as the zero one, of
// which nothing is known. Seen never waits for the store. It is a no-op for an invalid or hidden user.
func (t *Tracker) Seen(topic presence.Topic, user presence.User, on presence.Device) {
	t.pages.seen(topic, user, on)
}

// SeenGuest counts a guest in a topic, by an opaque id of the guest's browser. It never waits for the store.
func (t *Tracker) SeenGuest(topic presence.Topic, guest string) {
	t.pages.seenGuest(topic, guest)
}

// SeenBot counts a crawler that identifies itself, among the bots of a topic. name is its name, such as
// "Googlebot": 1 to [backend.MaxBotName] bytes of printable ASCII without quotes and backslash. id
// distinguishes it from all other crawlers, such as its address. SeenBot is a no-op for another name, for an
// empty id, and for a topic whose [presence.Kind] counts no bots. It never waits for the store.
func (t *Tracker) SeenBot(topic presence.Topic, name, id string) {
	t.pages.seenBot(topic, name, id)
}

// GuestSignedIn removes a guest who signed in from the number of guests: in a topic, and in the topics of the
// guest's open streams, on every node. These streams belong to pages that are about to close, and no longer
// count. The guest counts again with the next SeenGuest, as do the guest's streams at that node, or with a
// stream that is opened later: a user who signs out becomes a guest again.
//
// Call it at the first page view of a user whose browser was a guest's before, with the id that SeenGuest
// got. Call it too before SeenGuest when the browser of a guest with a [presence.Visitor].Passing has returned its
// cookie: the guest then no longer counts by the stream. It is a no-op for an empty id and for a guest who does not count. In a topic with more than
// [backend.ExactGuests] guests the number is an estimate, which goes down by one all the same.
// GuestSignedIn never waits for the store; it costs a note in memory, and a notice to the other nodes in the
// background.
func (t *Tracker) GuestSignedIn(topic presence.Topic, guest string) {
	t.leases.guestSignedIn(topic, strings.Clone(guest))
}

// NeedsSeen reports whether a page view of a user in a topic must be recorded although one was recorded at
// since. There are three cases. A connection that held the user was opened on this node after since: when it
// closes, only later page views count. The user signed out after since. Or the topic's roster does not have
// the user, because a stream elsewhere closed or the store lost the record. It costs two searches in memory.
// It returns false for a topic that is not loaded yet.
func (t *Tracker) NeedsSeen(topic presence.Topic, user presence.UserID, since time.Time) bool {
	return t.pages.needsSeen(topic, user, since)
}

// View returns a topic as it is known here, from memory. For a topic that nobody here
// looked at lately it waits for the store: until the deadline of ctx, or for 50 ms where
// ctx has none, so that a page never waits for long. It returns [presence.ErrStoreOut] if nothing
// is known then, [presence.ErrTooManyTopicsHere], or [presence.ErrClosed].
func (t *Tracker) View(ctx context.Context, topic presence.Topic) (*View, error) {
	return t.topics.viewOf(ctx, topic)
}

// Counts returns the figures of each topic, in the order of the topics. They are up to half
// a second old, and without Head, Peak and Bots. The figures of topics that this node keeps current
// come from memory. All other topics together cost at most one round trip to the store, and
// no roster is loaded for them. Counts waits for the store until the deadline of ctx, or for
// 50 ms if ctx has none.
//
// If the store does not answer, the error is [presence.ErrStoreOut]. The figures from memory are
// still right then, and the other topics are marked Unknown, with figures of 0.
func (t *Tracker) Counts(ctx context.Context, topics ...presence.Topic) ([]backend.Counts, error) {
	return t.counts.read(ctx, topics...)
}

// Sightings returns what is known of each user in a topic, in the order of the users, or an error that is
// [presence.ErrStoreOut]. It costs one round trip to the store. In a count-only topic nothing is known. A
// user who has hidden, or who is not in the roster that this node keeps, is returned as offline, even if the
// store still has the user: it may not have got the change yet, or may have restarted with an older file.
//
// With a [Config.Directory] it costs a query too, and LastSeen is empty unless the user's settings let
// everybody know it. While the Directory is out, LastSeen is empty for all users.
func (t *Tracker) Sightings(ctx context.Context, topic presence.Topic, users ...presence.UserID) ([]backend.Sighting, error) {
	return t.recent.sightings(ctx, topic, users...)
}

// Recent returns a page of the users who were active in a topic lately, the latest active first. It costs a
// round trip to the store, or a few if it leaves users out. If the topic's [presence.Kind] has no Recent, or
// is count-only, the page has a Total and no users.
//
// With a [Config.Directory] it costs a query too. It then leaves out offline users whose settings do not let
// everybody know when they were last seen, and the Total is the number of users on all pages. If they do not
// fit on one page, the node counts them every 5 s, as long as somebody asks. While the Directory is out,
// Recent leaves out all offline users.
//
// Its errors are [presence.ErrStoreOut] and [presence.ErrInvalidQuery].
func (t *Tracker) Recent(ctx context.Context, topic presence.Topic, q backend.RecentQuery) (backend.RecentPage, error) {
	return t.recent.readPage(ctx, topic, q)
}

// LatelyActive is [Tracker.Recent] for pages of the site, from memory. It returns only the first users, up to
// limit and at most 100, and an empty Next. Within is as in [backend.RecentQuery]. The answer is up to 2 s
// old, but Online is current if this node keeps the topic. A user who turns invisible by [Tracker.SetStatus]
// or [People.ChangeSettings] is offline in it at once, and a user who hides by the settings is left out. The
// first call for a topic waits for the store as [Tracker.View] does. An answer that nobody asks for in a
// minute is forgotten.
//
// Its errors are [presence.ErrStoreOut] if nothing is known yet, [presence.ErrClosed] and
// [presence.ErrInvalidQuery].
func (t *Tracker) LatelyActive(ctx context.Context, topic presence.Topic, within time.Duration, limit int) (backend.RecentPage, error) {
	return t.recent.latelyActive(ctx, topic, within, limit)
}

// Places returns the topics of a tenant that have users or guests, the fullest first: by users, then by
// guests, then by name. A site without tenants has the empty tenant. The answer comes from memory and is
// about two seconds old, but leaves out users who hid more than a quarter of a second ago. The first call
// waits for the store as [Tracker.View] does, and so does a call after 30 s without one. If a tenant has more
// than 10,000 topics, only the first 10,000 by name are considered. The fullest 1,000 have the names of
// users. A node keeps the answers for the latest 1,000 tenants.
//
// Its errors are [presence.ErrStoreOut] if nothing is known yet, and [presence.ErrClosed]. The returned slice
// is shared: do not change it.
func (t *Tracker) Places(ctx context.Context, tenant string) ([]presence.Place, error) {
	return t.places.list(ctx, tenant)
}

// PlacesOf returns the topics in which each of the users is, the fullest first. All users must be of one
// tenant; others are left out of the map. It answers from the same memory as [Tracker.Places], and covers the
// fullest 1,000 topics, with about 100,000 users at most in those that this node does not keep current. A
// user who is in none of these topics is not in the map. Count-only topics are left out. Its errors are those
// of Places.
func (t *Tracker) PlacesOf(ctx context.Context, users ...presence.UserID) (map[presence.UserID][]presence.Topic, error) {
	return t.places.find(ctx, users...)
}

// Attended reports whether somebody is at a page of a user, on any node of the fleet: the user is online, and
// not [presence.Idle] on all devices. Users who are [presence.Invisible], or whom nobody may see, count like
// others. It is for actions that wait while the user looks at the site, such as a mail.
//
// The nodes do not know whether a user is idle who chose a status. Such a user counts as attended while
// online, and so does a user whose pages do not report attention.
//
// Cost: a search in memory, about 1 µs. Without a [Config.Directory] the site's roster lacks invisible users:
// then a user who is not in it costs a round trip, and one who chose [presence.Invisible] a few more. Users whom
// only the site's identify makes invisible are known only on their own nodes.
//
// It returns [presence.ErrInvalidUser], or an error if the answer is not known yet: [presence.ErrStoreOut] if
// the store is out, came back a moment ago or has lost data, or if this node has not read it yet;
// [presence.ErrDirectoryOut] if the user is offline here, and users cannot be announced.
//
// Example: Alice is invisible. Her one page, at node A, is open and she reads it: every node returns true.
// She closes it: they return false once the grace of 10 s is over.
func (t *Tracker) Attended(ctx context.Context, user presence.UserID) (at bool, err error) {
	return t.attendance.attended(ctx, user)
}

// SignOut ends everything that holds a user online, at once and on every node: connections
// end with [presence.ErrSignedOut], and page views no longer count, in every topic. The status that
// the user chose stays. SignOut returns when the store knows. If ctx ends before, it
// returns an error, and the user is signed out once the store is back.
func (t *Tracker) SignOut(ctx context.Context, user presence.UserID) error {
	return t.signOuts.signOut(ctx, user)
}

// SignOff signs a user out of one browser, at once and on every node. It ends the
// connections that were opened with that [presence.Visitor].Browser. Where the user has another
// connection to a topic, the user stays in the topic, and other visitors see nothing.
// Elsewhere SignOff does what [Tracker.SignOut] does: the user leaves at once. That includes
// a user who has no other connection and views pages in a second browser. The page views of
// all browsers are one lease, which ends.
//
// Connections whose browser is not known end too, because they may be of this browser. If
// browser is empty, SignOff is SignOut. Only connections of the given user end. So a client
// that makes up the id of a browser can end connections of its own user only.
//
// SignOff returns when the store has ended the leases, and this node no longer shows the
// user in topics that the user left. If ctx ends before that, SignOff returns an error, and
// the user is signed off once the store is back.
//
//	v := presence.VisitorFromContext(r.Context())
//	err := tracker.SignOff(r.Context(), v.User.ID, v.Browser)
func (t *Tracker) SignOff(ctx context.Context, user presence.UserID, browser string) error {
	return t.signOuts.signOff(ctx, user, browser)
}

// SetStatus changes what others see of a user, in all topics and on every node. The choice
// lasts: it survives sign-outs, restarts and, as long as a node remembers it, the loss of
// the store's data. SetStatus returns when the store knows, after a few round trips. It returns
// [presence.ErrInvalidUser], [presence.ErrInvalidStatus], or [presence.ErrStoreOut] at once while the store is known
// to be out: then the status is not set. If the store fails meanwhile, the status may be set all the same.
//
// Where the site has a [Config.Directory] the choice is kept there, it never ends by itself,
// and the text beside the former status goes. Then SetStatus costs and returns what
// [People.ChangeSettings] does.
func (t *Tracker) SetStatus(ctx context.Context, user presence.UserID, status presence.Status) error {
	return t.choices.setStatus(ctx, user, status)
}

// Status returns the status that a user chose, or "" where this node knows of none. It
// reads memory only.
func (t *Tracker) Status(user presence.UserID) presence.Status {
	return t.users.statusOf(user)
}

// AwaitChoice waits until this node knows what a user chose. A node that has just started must ask the store
// or the site. Call it for a page that shows its visitor before the roster does, so that the page does not
// show a user who hides. It returns the error of ctx if that ends first. For a user whose choice is known it
// only reads memory.
func (t *Tracker) AwaitChoice(ctx context.Context, user presence.User) error {
	return t.choices.awaitKnown(ctx, user)
}

// InRosters reports whether rosters show a user who is online, as far as this node knows:
// false for a user who chose to be invisible, or to be seen by contacts alone or by nobody.
// It reads memory only.
func (t *Tracker) InRosters(user presence.UserID) bool {
	return t.users.inRosters(user)
}
