package templates

import (
	"context"

	"github.com/rollcall-go/rollcall/presence"
)

// A peopleSource reads people, and a user's own sessions and settings. It is track.People.
type peopleSource interface {
	Find(ctx context.Context, viewer presence.UserID, ids ...presence.UserID) ([]presence.Person, error)
	Contacts(ctx context.Context, user presence.UserID, most int) ([]presence.Person, error)
	Sessions(ctx context.Context, user presence.UserID) ([]presence.Session, error)
	Settings(ctx context.Context, user presence.UserID) (presence.Settings, error)
}
