package presence

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"
)

// A Session is a device from which a user is online.
type Session struct {
	Device
	Since       time.Time // when it came online, by the store's clock
	Connections int       // open streams, on all nodes; 0: a page view or the grace holds it
}

// Sessions returns the devices from which a user is online, the latest first. It costs one
// round trip to the store. It returns [ErrNoDirectory] or [ErrStoreOut].
func (t *Tracker) Sessions(ctx context.Context, user UserID) ([]Session, error) {
	if !t.directory.on() {
		return nil, ErrNoDirectory
	}
	if _, err := t.topics.loaded(ctx, devicesTopic); err != nil {
		return nil, err
	}
	var members []Member
	var ids []UserID
	for m := range t.devicesOf(user) {
		members, ids = append(members, m.Member), append(ids, m.ID)
	}
	if len(members) == 0 {
		return nil, nil
	}
	sightings, err := t.store.Sightings(ctx, devicesTopic, ids...)
	if err == nil && len(sightings) != len(ids) {
		err = fmt.Errorf("the store answers for %d devices of %d", len(sightings), len(ids))
	}
	if err != nil {
		return nil, storeOut(err)
	}
	sessions := make([]Session, 0, len(members))
	for i, m := range members {
		if s := sightings[i]; s.Online { // else it is gone since
			sessions = append(sessions, Session{Device: deviceOf(m), Since: m.Since, Connections: connectionsIn(s.Holders)})
		}
	}
	slices.SortFunc(sessions, func(a, b Session) int {
		if c := b.Since.Compare(a.Since); c != 0 {
			return c
		}
		return strings.Compare(string(a.ID), string(b.ID))
	})
	return sessions, nil
}

// connectionsIn returns how many of the holders are connections.
func connectionsIn(holders []Holder) (n int) {
	for _, h := range holders {
		if h.IsConnection() {
			n++
		}
	}
	return n
}
