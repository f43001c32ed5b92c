package presence

import "context"

// Contacts returns the users whom a user lists, as the user may see them, the dearest first,
// also those who are not online: at most most, and at most [MaxPeople]. It costs a query of
// the [Directory], and what [Tracker.People] costs. It returns [ErrNoDirectory],
// [ErrDirectoryOut], or the error of ctx.
func (t *Tracker) Contacts(ctx context.Context, user UserID, most int) ([]Person, error) {
	listed, err := t.directory.contacts(ctx, user, min(most, MaxPeople))
	if err != nil || len(listed) == 0 {
		return nil, err
	}
	return t.People(ctx, user, listed...)
}
