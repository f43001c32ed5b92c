package track

import (
	"context"
	"slices"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
)

// Last seen of topics comes from the store, and every viewer gets the same bytes. With a Directory it is
// shown only of users whose settings let everybody know it, because the store's moment may be older than the
// settings. Blocks do not count here.

// tellEverybody returns those users of whom everybody may know when they were last seen. It asks the Directory, and returns
// none if the Directory fails (rule P4).
func (d *directoryCalls) tellEverybody(ctx context.Context, users []presence.UserID) map[presence.UserID]bool {
	tell, now := make(map[presence.UserID]bool, len(users)), time.Now()
	for some := range slices.Chunk(users, maxSettingsAtOnce) {
		all, err := d.settings(ctx, some...)
		if err != nil {
			return nil
		}
		for i, s := range all {
			tell[some[i]] = s.At(now).Seen == presence.Everyone // even of invisible users: to others that is when they left
		}
	}
	return tell
}

// blank removes last seen from the sightings of users whose last seen not everybody may know. It makes the
// same query whether such users are hidden or never came (rule P2).
func (d *directoryCalls) blank(ctx context.Context, users []presence.UserID, sightings []backend.Sighting) {
	if !d.on() {
		return
	}
	var away []presence.UserID
	for i, s := range sightings {
		if !s.Online {
			away = append(away, users[i])
		}
	}
	tell := d.tellEverybody(ctx, away)
	for i, s := range sightings {
		if !s.Online && !tell[users[i]] {
			sightings[i] = backend.Sighting{}
		}
	}
}

// leaveOut removes users from a page of recent users who are away, and of whom not everybody
// may know when they were last seen.
func (d *directoryCalls) leaveOut(ctx context.Context, page backend.RecentPage) backend.RecentPage {
	if !d.on() {
		return page
	}
	var away []presence.UserID
	for _, u := range page.Users {
		if !u.Online {
			away = append(away, u.ID)
		}
	}
	tell := d.tellEverybody(ctx, away)
	page.Users = slices.DeleteFunc(page.Users, func(u backend.RecentUser) bool { return !u.Online && !tell[u.ID] })
	return page
}
