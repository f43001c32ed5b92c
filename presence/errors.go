package presence

import (
	"errors"
	"fmt"
)

// What functions of this package return, to be asked for with [errors.Is].
var (
	// ErrInvalidTopic: a topic that breaks the rule at [Topic]. Tell the visitor.
	ErrInvalidTopic = errors.New("invalid topic")
	// ErrInvalidUser: a user that breaks a rule at [User]. Fix the site's
	// identify function; middleware treats such a visitor as a guest.
	ErrInvalidUser = errors.New("invalid user")
	// ErrInvalidStatus: none of the statuses. Tell the visitor.
	ErrInvalidStatus = errors.New("invalid status")
	// ErrInvalidSettings: a field of [Settings] breaks its rule. Tell the visitor.
	ErrInvalidSettings = errors.New("invalid settings")
	// ErrInvalidDevice: a field of [Device] breaks its rule. Fix the site's function.
	ErrInvalidDevice = errors.New("invalid device")
	// ErrNoDirectory: the site has no track.Config.Directory, so it has no settings, contacts
	// and devices.
	ErrNoDirectory = errors.New("the site has no directory of people")
	// ErrDirectoryOut: the [Directory] failed, or did not answer in time. Nothing has
	// changed. Try again later.
	ErrDirectoryOut = errors.New("the directory of people is out")
	// ErrTooManyPeople: more people than one question or one watch list may name.
	ErrTooManyPeople = errors.New("too many people")
	// ErrTooManyContacts: the user lists and blocks as many others as the [Directory] keeps.
	// Ask the user to remove one.
	ErrTooManyContacts = errors.New("too many contacts and blocked users")
	// ErrBlocked: a user who is blocked becomes no contact. Ask to unblock first.
	ErrBlocked = errors.New("the user is blocked")
	// ErrGuest: only a user has people to watch, and an inbox. Ask the visitor to sign in.
	ErrGuest = errors.New("the visitor is a guest")
	// ErrInvalidConfig: track.New and its like; the text names each field.
	ErrInvalidConfig = errors.New("invalid config")
	// ErrInvalidQuery: a field of a backend.RecentQuery is out of its bounds. Tell the visitor.
	ErrInvalidQuery = errors.New("invalid query")
	// ErrInvalidPage: backend.RecentQuery.After is not the Next of a page; it is an
	// ErrInvalidQuery. Start again from the first page.
	ErrInvalidPage = fmt.Errorf("%w: it names no page", ErrInvalidQuery)
	// ErrGap: backend.Store.Log no longer reaches back to the id it was asked for.
	// Take a fresh state.
	ErrGap = errors.New("the log does not reach back that far")
	// ErrStoreOut: the store cannot be reached, and nothing useful is known
	// here. Try again later; what was to be written is kept.
	ErrStoreOut = errors.New("the presence store is out")
	// ErrRefused: the store answers, but refuses the operations of one topic. The track.Tracker tries a few
	// times, then drops them, counts them and logs that.
	ErrRefused = errors.New("the presence store refuses this")
	// ErrLaterChoice: backend.Store.PutStatus or [Directory].SetSettings of a choice that does not replace the
	// user's latest one. Nothing has changed. Ask for the latest choice, and try again.
	ErrLaterChoice = errors.New("the user has made a later choice")
	// ErrForeignToken: a [Token] that this fleet did not make. The page connects
	// again; it costs the store nothing.
	ErrForeignToken = errors.New("the token was not made here")
	// ErrStale: a track.Connection whose node may have missed its user's sign-out. The
	// page comes back, and is identified again.
	ErrStale = errors.New("this node may have missed a sign-out")
	// ErrClosed: the track.Tracker was closed. Come back to another node.
	ErrClosed = errors.New("the tracker is closed")
	// ErrSignedOut: a track.Connection whose user signed out. The page may come
	// back as a guest.
	ErrSignedOut = errors.New("the user signed out")
	// ErrBarred: staff has disconnected the user, who may not come back yet. See
	// track.Staff.Disconnect.
	ErrBarred = errors.New("the user was disconnected by staff")
	// ErrTooManyTopicsHere: this node keeps track.Config.MaxTopics topics in memory, and all
	// of them are in use. Try again later, or raise the bound.
	ErrTooManyTopicsHere = errors.New("this node keeps too many topics")
	// ErrTooManyTopics: more topics than track.Config.MaxTopicsPerConnection.
	ErrTooManyTopics = errors.New("too many topics")
	// ErrTooManyConnections: more connections than track.Config.MaxConnectionsPerUser.
	// Try again when another has closed.
	ErrTooManyConnections = errors.New("too many connections")
)
