package presence

import "errors"

// What functions of this package return, to be asked for with [errors.Is].
var (
	// ErrInvalidTopic: a topic that breaks the rule at [Topic]. Tell the visitor.
	ErrInvalidTopic = errors.New("invalid topic")
	// ErrInvalidUser: a user that breaks a rule at [User]. Mend the site's
	// identify function; middleware treats such a visitor as a guest.
	ErrInvalidUser = errors.New("invalid user")
	// ErrInvalidStatus: none of the statuses. Tell the visitor.
	ErrInvalidStatus = errors.New("invalid status")
	// ErrInvalidConfig: [New] and its like; the text names each field.
	ErrInvalidConfig = errors.New("invalid config")
	// ErrGap: [Store.Log] no longer reaches back to the id it was asked for.
	// Take a fresh state.
	ErrGap = errors.New("the log does not reach back that far")
	// ErrStoreOut: the store cannot be reached, and nothing useful is known
	// here. Try again later; what was to be written is kept.
	ErrStoreOut = errors.New("the presence store is out")
	// ErrClosed: the [Tracker] was closed. Come back to another node.
	ErrClosed = errors.New("the tracker is closed")
	// ErrSignedOut: a [Connection] whose user signed out. The page may come
	// back as a guest.
	ErrSignedOut = errors.New("the user signed out")
	// ErrTooManyTopics: more topics than [Config.TopicsPerConnection].
	ErrTooManyTopics = errors.New("too many topics")
	// ErrTooManyConnections: more connections than [Config.ConnectionsPerUser].
	// Try again when another has closed.
	ErrTooManyConnections = errors.New("too many connections")
)
