package track

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
)

// sessions is [People.Sessions].
func (d *deviceRoster) sessions(ctx context.Context, store backend.Store, user presence.UserID) ([]presence.Session, error) {
	if !d.directory.on() {
		return nil, presence.ErrNoDirectory
	}
	if _, err := d.topics.loaded(ctx, backend.DevicesTopic); err != nil {
		return nil, err
	}
	var members []presence.Member
	var ids []presence.UserID
	for m := range d.of(user) {
		members, ids = append(members, m.Member), append(ids, m.ID)
	}
	if len(members) == 0 {
		return nil, nil
	}
	sightings, err := store.Sightings(ctx, backend.DevicesTopic, ids...)
	if err == nil && len(sightings) != len(ids) {
		err = fmt.Errorf("the store answers for %d devices of %d", len(sightings), len(ids))
	}
	if err != nil {
		return nil, storeOut(err)
	}
	sessions := make([]presence.Session, 0, len(members))
	for i, m := range members {
		if s := sightings[i]; s.Online { // otherwise it has gone since
			sessions = append(sessions, presence.Session{Device: backend.DeviceOf(m), Since: m.Since, Connections: s.Pages})
		}
	}
	slices.SortFunc(sessions, func(a, b presence.Session) int {
		if c := b.Since.Compare(a.Since); c != 0 {
			return c
		}
		return strings.Compare(string(a.ID), string(b.ID))
	})
	return sessions, nil
}
