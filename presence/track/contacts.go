package track

import (
	"context"

	"github.com/rollcall-go/rollcall/presence"
)

// contactsOf is [People.Contacts].
func (p *peopleHere) contactsOf(ctx context.Context, user presence.UserID, most int) ([]presence.Person, error) {
	listed, err := p.directory.contacts(ctx, user, min(most, presence.MaxPeople))
	if err != nil || len(listed) == 0 {
		return nil, err
	}
	return p.find(ctx, user, listed, false)
}
