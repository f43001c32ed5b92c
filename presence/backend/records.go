package backend

import (
	"context"
	"encoding/json"
	"strings"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/internal/wire"
)

// UserRecords is a part of the site that keeps data of users: the [Store], a [presence.Directory] that
// implements it, and the arguments of track.Tracker.AddRecords. track.Tracker.Export and track.Tracker.Erase
// ask all of them. Methods may be called concurrently. Users have their ids inside.
type UserRecords interface {
	// ExportUser returns what is kept of a user, each part once, also where it is empty. It
	// changes nothing.
	ExportUser(ctx context.Context, user presence.UserID) ([]Kept, error)

	// EraseUser removes what is kept of e.User. It may be called several times for one erasure,
	// from any node, also after it succeeded: the second time it removes what a late writer has
	// added. After an error a part of it may be removed.
	EraseUser(ctx context.Context, e Erasure) error
}

// A Kept is one part of what is kept of a user.
type Kept struct {
	Part      string `json:"-"`         // its name, of a-z and _, such as "settings"
	Retention string `json:"retention"` // for how long it is kept, and why it is removed: a sentence for people
	Data      any    `json:"data"`      // what is kept, for encoding/json
}

// An Erasure is a user to erase.
type Erasure struct {
	User presence.UserID
	// Ago is how long ago the erasure was asked for; to EraseUser, how long ago it was begun. A
	// session that began since stays: somebody may have come back.
	Ago time.Duration
	// ID names the erasure to the [ErasureList] that it came from.
	ID string
}

// ErasureList keeps the erasures that were promised and are not done. A [Store] has one. A
// [presence.Directory] may implement it: then the Directory's list is used, since a database outlives
// what the store keeps. All methods may be called concurrently. Each costs one round trip.
type ErasureList interface {
	// AddErasure keeps an erasure, which nobody claims for a time. One that is kept for the user
	// already is replaced, and begins again. If it returns an error, nothing is kept, or
	// the erasure is done although nobody waited for it.
	AddErasure(ctx context.Context, user presence.UserID, hold time.Duration) (Erasure, error)

	// ClaimErasures returns up to most erasures that nobody has claimed, and claims them for a
	// time.
	ClaimErasures(ctx context.Context, most int, hold time.Duration) ([]Erasure, error)

	// EndErasure forgets an erasure that is done. It is a no-op if the erasure was replaced
	// since.
	EndErasure(ctx context.Context, e Erasure) error
}

// Names reports whether a member of a topic is the user, or one of the user's devices.
func (e Erasure) Names(member presence.UserID) bool {
	owner, _ := OwnerOf(member)
	return owner == e.User
}

// Concerns reports whether a topic may hold the user: one of the same tenant, or one that all
// tenants share.
func (e Erasure) Concerns(topic presence.Topic) bool {
	return topic == DevicesTopic || topic.Tenant() == e.User.Tenant()
}

// NamesDiff reports whether a diff holds the user.
func (e Erasure) NamesDiff(d Diff) bool {
	for _, m := range d.Joins {
		if e.Names(m.ID) {
			return true
		}
	}
	for _, m := range d.Updates {
		if e.Names(m.ID) {
			return true
		}
	}
	for _, l := range d.Leaves {
		if e.Names(l.ID) {
			return true
		}
	}
	return false
}

// NamesNotice reports whether a notice is about the user, or is an act of the user's.
func (e Erasure) NamesNotice(n Notice) bool {
	if n.User == e.User {
		return true
	}
	var act struct{ By presence.UserID }
	return n.Kind == NoticeActed && json.Unmarshal([]byte(n.Payload), &act) == nil && act.By == e.User
}

// NamesEntry reports whether an entry of a consumer's record is about the user.
func (e Erasure) NamesEntry(key, value string) bool {
	switch {
	case strings.HasPrefix(key, wire.ToldPrefix):
		_, user := wire.CutTold(key[len(wire.ToldPrefix):])
		return presence.UserID(user) == e.User
	case strings.HasPrefix(key, wire.EventPrefix):
		var event struct {
			User presence.UserID `json:"user"`
		}
		return json.Unmarshal([]byte(value), &event) == nil && event.User == e.User
	}
	return false
}
