package track

import (
	"context"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
)

// Config returns the configuration with its defaults filled in.
func (t *Tracker) Config() Config { return *t.cfg }

// Sign returns the [presence.MAC] of a text for a purpose of the caller's, such as "guest",
// made with the fleet's secret. It is false while that is not known, because the
// store was not reached yet. It costs about half a microsecond.
func (t *Tracker) Sign(purpose, text string) (presence.MAC, bool) {
	return t.seal.signSite(purpose, text)
}

// SignEarlier returns what Sign would return with the fleet's previous secret. It is false if this node has
// known only one secret. Only a caller that compares a part of a MAC needs it; others call [Tracker.Verify].
func (t *Tracker) SignEarlier(purpose, text string) (presence.MAC, bool) {
	return t.seal.signEarlier(purpose, text)
}

// Verify reports whether a [presence.MAC] came from [Tracker.Sign] with the same purpose and
// text, on any node of the fleet. It is false while the secret is not known.
func (t *Tracker) Verify(purpose, text string, mac presence.MAC) bool {
	return t.seal.verifySite(purpose, text, mac)
}

// Health returns nil while this node can serve presence. It returns [presence.ErrClosed] once Close
// was called, and an error that is [presence.ErrStoreOut] if the store has been out for longer than
// Config.TTL. A shorter outage is no error: pages go on, and no user is seen to leave. It
// reads memory only, and may be called at any time. A [presence.Directory] that is out is
// no error: see [PeopleStats].
func (t *Tracker) Health() error {
	return t.health()
}

// StoreOut reports whether the latest write to the store or the latest read from it failed. It
// reads memory only.
func (t *Tracker) StoreOut() bool { return t.outage.latestFailed() }

// Stats returns the Tracker's figures. It may be called at any time. It reads
// memory only, and costs about 0.5 µs a topic, however many users there are.
func (t *Tracker) Stats() Stats {
	return t.readStats()
}

// Found notes a finding, and logs it at most once a minute, with attributes as those of
// [log/slog.Logger.Warn]. [presence.NoUser] and
// [presence.UnknownIDs] are logged as information, all others as warnings. It
// takes no lock.
func (t *Tracker) Found(f presence.Finding, attrs ...any) {
	t.found.note(f, attrs...)
}

// Export returns everything that is kept of a user under the user's id: by the store, by the Directory and by
// the arguments of [Tracker.AddRecords]. Each part says for how long it is kept. Apart from that, only the
// memory of nodes has data of the user, for a few minutes.
//
// It costs the store a look into each topic of the tenant, and the database some queries. Its error is
// [presence.ErrInvalidUser], [presence.ErrStoreOut], or that of the part that could not be read: there are no
// partial exports.
func (t *Tracker) Export(ctx context.Context, user presence.UserID) ([]backend.Kept, error) {
	return t.eraser.export(ctx, user)
}

// Erase removes a user everywhere. It ends the user's connections on every node, and removes all that
// [Tracker.Export] returns. It removes the name from other users' inboxes and contact lists, and drops events
// about the user that wait to be delivered. It takes some six seconds in all, because writes that were under
// way when it began are removed after they have arrived.
//
// Erase returns nil once the erasure is kept in a [backend.ErasureList], and was begun. From then on it
// will be done, also if this node dies, by any node of the fleet; and while the store or the
// database is out, once that is back. After an error nothing is kept,
// and nothing has changed: say so, and that the user may try again. The errors are [presence.ErrInvalidUser], [presence.ErrStoreOut] and [presence.ErrDirectoryOut].
//
// Limit how often an address may ask for one, as examples/forum does: a node does some five a second, in
// order, so a client that invents users and erases them would delay the erasures of others.
//
// End the site's own sessions of the user before. A user who comes back during these seconds begins anew: the
// new session stays, and settings made meanwhile are removed.
//
// It costs the store a look into each topic of the tenant, three times. The logs of topics that name the user
// restart, so readers who resume there get a state, and a consumer of [Tracker.Deliver] that lags there gets
// a gap. In SQL it reads the contacts and the items of the tenant, which have no index of names.
func (t *Tracker) Erase(ctx context.Context, user presence.UserID) error {
	return t.eraser.order(ctx, user)
}

// AddRecords makes Export and Erase include a part of the site's own. Call it before the first of these
// calls, on every node.
func (t *Tracker) AddRecords(r backend.UserRecords) { t.eraser.add(r) }

// Close ends the Tracker. Every connection ends with [presence.ErrClosed], so that its page reconnects to
// another node, and its leases are released with the grace. Waiting operations are written; while the store
// is out, Close tries for 3 s, because no other node knows of them. Close returns when no goroutine is left
// or ctx ends. It may be called twice.
func (t *Tracker) Close(ctx context.Context) error {
	return t.close(ctx)
}

// MeetUser notes that a signed-in user sent a request. It takes no lock.
func (t *Tracker) MeetUser() { meet(&t.found.met) }

// MetUser reports whether a signed-in user has sent any request since the Tracker began.
func (t *Tracker) MetUser() bool { return t.found.met.Load() }

// Shown notes that a browser got a page with an element that a stream keeps live, at a path. head reports whether
// the page links the script. If no browser asks for a stream within a minute, the Tracker finds
// [presence.NotLive]. Shown takes no lock.
func (t *Tracker) Shown(path string, head bool) { t.browsers.shown(path, head) }

// MeetScript notes that a client asked for the script. It takes no lock.
func (t *Tracker) MeetScript() { meet(&t.browsers.scripted) }

// MeetStream notes that a client asked for a stream or a poll. It takes no lock.
func (t *Tracker) MeetStream() { meet(&t.browsers.streamed) }

// Streamed reports whether a client has asked for a stream or a poll since the Tracker began. As far as this
// node has heard, it includes the other nodes. Calls of Shown make no difference then.
func (t *Tracker) Streamed() bool { return t.browsers.streamed.Load() }
