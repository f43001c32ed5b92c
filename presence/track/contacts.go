package track

import (
	"context"

	"github.com/rollcall-go/rollcall/presence"
)

// Contacts returns the users whom a user lists, as the user may see them, the dearest first,
// also those who are not online: at most most, and at most [presence.MaxPeople]. It costs a query of
// the [presence.Directory], and what [Tracker.People] costs. It returns [presence.ErrNoDirectory],
// [presence.ErrDirectoryOut], or the error of ctx.
func (t *Tracker) Contacts(ctx context.Context, user presence.UserID, most int) ([]presence.Person, error) {
	listed, err := t.directory.contacts(ctx, user, min(most, presence.MaxPeople))
	if err != nil || len(listed) == 0 {
		return nil, err
	}
	return t.People(ctx, user, listed...)
}
