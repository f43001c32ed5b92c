package track

import (
	"context"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
)

// PeopleInDetail is [Tracker.People] with the Source of each answer, and with the profile of
// users who are offline, as far as presence keeps it.
//
// It keeps the profile in the recent names of the tenant's [presence.Site]: of the [presence.Kind.Recent] users who
// were active there latest, for [backend.MaxWithin] after they left. A sign-out takes a user out of these
// names where [presence.Kind.ForgetSignedOut] says so. So does an erasure, and so does being online with
// settings by which not everybody may know when the user was last seen. Where the kind of the site
// has no Recent, or is CountOnly, there are no such names. The viewer gets one of two answers of a
// user who is offline and whose last seen the viewer may know:
//
//	SourceRecent  Name, Avatar and URL of then. LastSeen is the later of what the names and the
//	              Directory say: the Directory is up to 15 s behind
//	SourceStored  LastSeen alone, by the Directory
//
// All others are as with People: unknown users, hidden ones, and those whose last seen is not for
// this viewer differ in nothing. Who turned invisible is as one who left at that moment.
//
// It costs what People costs. Where that asks the Directory, one round trip to the store goes
// out beside, for all users together (with users of several tenants, one for each of them). While
// the store is out the source of the others is SourceStored. The errors are those of People.
func (t *Tracker) PeopleInDetail(ctx context.Context, viewer presence.UserID, ids ...presence.UserID) ([]presence.Person, error) {
	return t.people.find(ctx, viewer, ids, true)
}

// recentNames returns what the recent names of their tenant's site say of users; nil if the store
// does not answer.
func (p *people) recentNames(ctx context.Context, users []presence.UserID) []backend.RecentUser {
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
		known, err := p.store.Remembered(ctx, presence.Site.In(tenant), some...)
		if err != nil || len(known) != len(some) {
			return nil
		}
		for i, at := range places {
			all[at] = known[i]
		}
	}
	return all
}

// remember adds what the recent names say of a user who is offline; the zero one is not there.
func remember(known *presence.Person, u backend.RecentUser) {
	if u.ID == "" {
		return
	}
	known.Source, known.Name, known.Avatar, known.URL = presence.SourceRecent, string(u.ID.Local()), u.Avatar, u.URL
	if u.Name != "" {
		known.Name = u.Name
	}
	if u.Active.After(known.LastSeen) {
		known.LastSeen = u.Active
	}
}

// addSources says of each person who is not from the recent names where the answer is from.
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
