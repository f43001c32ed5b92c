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

// tellsEverybody returns, for each user, whether everybody may know when the user was last
// seen. It asks the Directory, and returns false for all if the Directory fails (rule P4).
func (d *directoryCalls) tellsEverybody(ctx context.Context, users []presence.UserID) []bool {
	tells, now := make([]bool, 0, len(users)), time.Now()
	for some := range slices.Chunk(users, maxSettingsAtOnce) {
		all, err := d.settings(ctx, some...)
		if err != nil {
			return make([]bool, len(users))
		}
		for _, s := range all {
			s = s.At(now)
			tells = append(tells, s.Seen == presence.Everyone) // even of invisible users: to others that is when they left
		}
	}
	return tells
}

// blank removes last seen from the sightings of users whose last seen not everybody may know. It makes the
// same query whether such users are hidden or never came (rule P2).
func (d *directoryCalls) blank(ctx context.Context, users []presence.UserID, sightings []backend.Sighting) {
	if !d.on() {
		return
	}
	var away []presence.UserID
	var at []int
	for i, s := range sightings {
		if !s.Online {
			away, at = append(away, users[i]), append(at, i)
		}
	}
	for i, tells := range d.tellsEverybody(ctx, away) {
		if !tells {
			sightings[at[i]] = backend.Sighting{}
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
	tells := d.tellsEverybody(ctx, away)
	kept := make([]backend.RecentUser, 0, len(page.Users))
	for _, u := range page.Users {
		if !u.Online {
			told := tells[0]
			if tells = tells[1:]; !told {
				continue
			}
		}
		kept = append(kept, u)
	}
	page.Users = kept
	return page
}
