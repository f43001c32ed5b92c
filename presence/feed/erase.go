package feed

import (
	"context"
	"fmt"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
)

// Somebody is the name of an actor who was erased, and who has no ID any more.
const Somebody = "Somebody"

// somebodyID is the ID of such an actor in events.
const somebodyID presence.UserID = "somebody"

// A UserStore is a [Store] that can export and erase users. The Keeper of such a store takes part
// in [track.Tracker.Export] and [track.Tracker.Erase].
type UserStore interface {
	// ExportUser returns what is kept of a user.
	ExportUser(ctx context.Context, user presence.UserID) (UserKept, error)

	// EraseUser removes a user's inbox, mutes, and waiting messages. In items of other feeds, and in waiting
	// messages to others, the user becomes an Actor without ID and with the name [Somebody]. It returns the
	// feeds that have a new revision, even with an error. It may be called again.
	EraseUser(ctx context.Context, user presence.UserID) (changed []Hint, err error)
}

// UserKept is what a [UserStore] keeps of a user.
type UserKept struct {
	Items   []Item // of the user's inbox, the newest first
	Mutes   []Mute
	Acts    []ActKept // items of other feeds in which the user acted
	Waiting []string  // messages of the user's that wait, in JSON
}

// An ActKept is an item of another feed in which a user acted.
type ActKept struct {
	Feed Name
	Type string
	At   time.Time
}

// userRecords is the part of a Keeper's store in exports and erasures.
type userRecords struct {
	*Keeper
	users UserStore
}

// EraseUser implements [backend.UserRecords].
func (r userRecords) EraseUser(ctx context.Context, e backend.Erasure) error {
	changed, err := call(ctx, r.calls, func(ctx context.Context) ([]Hint, error) { return r.users.EraseUser(ctx, e.User) })
	r.hinter.changed(changed...)
	return err
}

// ExportUser implements [backend.UserRecords]. Inboxes of other users are not named.
func (r userRecords) ExportUser(ctx context.Context, user presence.UserID) ([]backend.Kept, error) {
	k, err := call(ctx, r.calls, func(ctx context.Context) (UserKept, error) { return r.users.ExportUser(ctx, user) })
	if err != nil {
		return nil, err
	}
	type mute struct {
		Scope string    `json:"scope"`
		How   string    `json:"how"`
		Until time.Time `json:"until,omitzero"`
	}
	type act struct {
		Feed string    `json:"feed"`
		Type string    `json:"type"`
		At   time.Time `json:"at"`
	}
	mutes, acts := []mute{}, []act{}
	for _, m := range k.Mutes {
		mutes = append(mutes, mute{m.Scope, hows[m.How], m.Until})
	}
	for _, a := range k.Acts {
		name := string(a.Feed.Local())
		if a.Feed.Owner() != "" {
			name = "somebody's inbox"
		}
		acts = append(acts, act{name, a.Type, a.At})
	}
	return []backend.Kept{
		{Part: "notifications", Retention: fmt.Sprintf("the newest %d, for %d days; archived ones for a third of that", r.cfg.Most, int(r.cfg.Keep/(24*time.Hour))), Data: r.cfg.wireItems(Inbox(user), k.Items, true)},
		{Part: "mutes", Retention: "until you lift them, or they end", Data: mutes},
		{Part: "named_in", Retention: "as long as the item is kept; your name goes when you erase your account", Data: acts},
		{Part: "messages_waiting", Retention: "until they are delivered, or a program of the site gives them up", Data: append([]string{}, k.Waiting...)},
	}, nil
}
