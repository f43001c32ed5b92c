package feed

import "errors"

// What functions of this package return, to be asked for with [errors.Is].
var (
	// ErrInvalidName: a [Name] that breaks its rule.
	ErrInvalidName = errors.New("invalid feed name")
	// ErrInvalidMessage: a field of a [Message] breaks its rule. Nothing was sent.
	ErrInvalidMessage = errors.New("invalid message")
	// ErrInvalidMark: a field of a [Mark] breaks its rule. Tell the visitor.
	ErrInvalidMark = errors.New("invalid mark")
	// ErrInvalidMute: a field of a [Mute] breaks its rule. Tell the visitor.
	ErrInvalidMute = errors.New("invalid mute")
	// ErrTooManyMutes: the user has [MaxMutes] of them. Ask the user to lift one.
	ErrTooManyMutes = errors.New("too many mutes")
	// ErrGap: the feed no longer remembers the revision, the revision is newer than the feed, or too many
	// items have changed since. Read a page.
	ErrGap = errors.New("the changes do not reach back that far")
	// ErrNoItem: the feed has no item of that ID.
	ErrNoItem = errors.New("there is no such item")
	// ErrOut: the database failed, or did not answer in time. Nothing has changed. Try
	// again later.
	ErrOut = errors.New("the database of feeds is out")
)
