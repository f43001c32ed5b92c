package track

import (
	"context"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
)

// recentNames looks up users in the recent names of their tenant's site. It returns nil if the store does not
// answer.
func (p *peopleHere) recentNames(ctx context.Context, users []presence.UserID) []backend.RecentUser {
	if kind := p.cfg.Kind(presence.Site); kind.Recent == 0 || kind.CountOnly {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, directoryWait)
	defer cancel()
	all := make([]backend.RecentUser, len(users))
	byTenant := make(map[string][]int)
	for i, user := range users {
		byTenant[user.Tenant()] = append(byTenant[user.Tenant()], i)
	}
	for tenant, places := range byTenant {
		some := make([]presence.UserID, len(places))
		for i, at := range places {
			some[i] = users[at]
		}
		known, err := p.store.Recent(ctx, presence.Site.In(tenant), backend.RecentQuery{Users: some})
		if err != nil || len(known.Users) != len(some) {
			return nil
		}
		for i, at := range places {
			all[at] = known.Users[i]
		}
	}
	return all
}

// remember adds what the recent names say of a user who is offline; the zero one is not there.
func remember(known *presence.Person, u backend.RecentUser) {
	if u.ID == "" {
		return
	}
	known.Source = presence.SourceRecent
	setProfile(known, u.Profile())
	if u.Active.After(known.LastSeen) {
		known.LastSeen = u.Active
	}
}

// addSources sets the source of each person who is not from the recent names.
func addSources(all []presence.Person) {
	for i := range all {
		switch known := &all[i]; {
		case known.Online:
			known.Source = presence.SourceLive
		case known.Source == "" && !known.LastSeen.IsZero():
			known.Source = presence.SourceStored
		}
	}
}
