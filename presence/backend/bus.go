package backend

import (
	"context"
	"time"

	"github.com/rollcall-go/rollcall/presence"
)

// A Bus carries notices from any node to every node, outside topics: a part of a [Store].
type Bus interface {
	// Publish sends a notice to every node that listens, this one included. If it
	// returns an error the notice may have been sent all the same, and may be sent
	// again. It costs one round trip.
	Publish(ctx context.Context, n Notice) error

	// Listen calls fn for each notice from now on, in order, one call at a time.
	// fn must not block and must not call the Bus. Listen returns once notices
	// are delivered; after stop has returned, no call of fn begins.
	//
	// Lasting notices of the last ten minutes are delivered too, also those that
	// were sent before the call or while this node could not reach the Bus:
	// [Notice.Ago] says how late they come. They may still be on their way when
	// Listen returns: Hear waits for them. If some may be lost, fn is called with
	// [Notice.Missed] before it is called with later notices. A Bus whose notices
	// end with the process delivers those that are sent from now on.
	Listen(ctx context.Context, fn func(Notice)) (stop func(), err error)

	// Hear waits until the listeners of this node were called with every lasting
	// notice that was published before. It costs one round trip, or none where
	// Publish waits for the listeners.
	Hear(ctx context.Context) error
}

// A Notice is a message from one node to all nodes. Notices are comparable.
type Notice struct {
	Kind    NoticeKind
	User    presence.UserID // whom the notice is about
	Payload string          // UTF-8 text in a form of the kind's own; a few hundred bytes

	// Lasting notices reach every node, also one that could not reach the Bus when
	// they were sent: the Bus keeps them for ten minutes. Other notices are of the
	// moment and may be lost. SignOutNotice makes a lasting one.
	Lasting bool

	// ID names the event. A lasting notice that is published again has the same ID. Publish accepts up to 16
	// bytes; "" for none.
	ID string

	// Ago is how long ago the event happened, if the notice comes late, else 0.
	// Events since then take precedence. Example: a sign-out with an Ago of 30 s
	// does not end a connection that was opened 10 s ago.
	Ago time.Duration

	// Missed is set by Listen alone, in a notice without a kind. The node may have
	// missed lasting notices of up to that long ago: the Bus lost its data, or the
	// node could not reach it for longer than it keeps notices.
	Missed time.Duration
}

// A NoticeKind says what a notice means. New kinds need no change in a [Bus], and nodes
// ignore the kinds that they do not know. A kind is a word of lower-case letters and _.
type NoticeKind string

// The kinds that a track.Tracker sends.
const (
	// NoticeSignedOut: the user's connections end on every node, or those of one browser or device; lasting. Payload says which: see
	// signout.go of package track.
	NoticeSignedOut NoticeKind = "signed_out"

	NoticeLeft NoticeKind = "left" // one connection of the user ends: Payload is its [presence.Holder]

	// NoticeActed: a member of staff did something to the user; lasting. Payload says what, as JSON: see
	// acts.go of package track.
	NoticeActed NoticeKind = "acted"

	// NoticeVisited: a beat of a page came to another node than that of its connection. Payload is the connection.
	NoticeVisited NoticeKind = "visited"

	// NoticeGone: a process of the fleet has ended without a word: Payload is its name. The notice names no user.
	NoticeGone NoticeKind = "gone"

	// NoticeSettings: the user chose settings, or a status; lasting. Payload has them as JSON: see settings.go of
	// package track.
	NoticeSettings NoticeKind = "settings"
	// NoticeRelations: the user's contacts or blocks have changed; lasting.
	NoticeRelations NoticeKind = "relations"

	// NoticeErased: the user is erased; see track.Tracker.Erase. The lasting notice names no user: its
	// Payload is a MAC of the id.
	NoticeErased NoticeKind = "erased"

	// NoticePeak: the record of a topic was reset. Payload is the new record. The notice
	// names no user; lasting.
	NoticePeak NoticeKind = "peak"

	// NoticeLost: the store has lost data, as a node found; lasting. It names no user. A node that
	// begins after the loss learns of it in no other way.
	NoticeLost NoticeKind = "lost"

	// NoticeHint: a message from a track.LineSource to those of all nodes; see track.Tracker.Hint. Payload may
	// have ids of users, and tells nothing else about them.
	NoticeHint NoticeKind = "hint"

	// NoticeNode: a node's state and settings, several times a minute; see fleet.go of package track.
	NoticeNode NoticeKind = "node"

	// NoticeHidden: whether anybody can see the page of one of the user's connections. Payload says which,
	// as JSON: see connection_hidden.go of package track.
	NoticeHidden NoticeKind = "hidden"

	// NoticeGuestSignedIn: the guest whose id is the Payload has signed in, and is no longer a guest. It
	// names no user.
	NoticeGuestSignedIn NoticeKind = "guest_signed_in"
)

// SignOutNotice says that a user signed out.
func SignOutNotice(user presence.UserID) Notice {
	return Notice{Kind: NoticeSignedOut, User: user, Lasting: true}
}

// LeaveNotice says that the page of one of the user's connections closed.
func LeaveNotice(user presence.UserID, connection presence.Holder) Notice {
	return Notice{Kind: NoticeLeft, User: user, Payload: string(connection)}
}
