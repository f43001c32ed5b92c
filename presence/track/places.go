package track

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
)

// list is [Tracker.Places].
func (p *places) list(ctx context.Context, tenant string) ([]presence.Place, error) {
	now, err := p.now(ctx, tenant)
	if err != nil {
		return nil, err
	}
	return now.places, nil
}

// find is [Tracker.PlacesOf].
func (p *places) find(ctx context.Context, users ...presence.UserID) (map[presence.UserID][]presence.Topic, error) {
	if len(users) == 0 {
		return nil, nil
	}
	now, err := p.now(ctx, users[0].Tenant())
	if err != nil {
		return nil, err
	}
	now.once.Do(now.index)
	of := make(map[presence.UserID][]presence.Topic, len(users))
	for _, user := range users {
		if _, done := of[user]; done {
			continue
		}
		at := slices.Clone(now.of[user])
		for _, i := range now.large {
			if e := now.rosters[i].view.find(user); e != nil {
				at = append(at, i)
			}
		}
		if len(at) == 0 {
			continue
		}
		slices.Sort(at)
		topics := make([]presence.Topic, len(at))
		for j, i := range at {
			topics[j] = now.places[i].Topic
		}
		of[user] = topics
	}
	return of, nil
}

// Bounds of reading all topics of the fleet, and of what is remembered.
const (
	placesEvery     = 2 * time.Second
	placesIdle      = 30 * time.Second
	placesHide      = 250 * time.Millisecond // the time within which a user who hides is left out (rule P6)
	maxPlaces       = 10_000                 // topics that are read
	maxPlaceRosters = 1_000                  // topics whose users are read
	maxPlaceUsers   = 10                     // the most users in Place.Users
	maxWholeRoster  = 500                    // users; a replica of a larger topic is kept here instead
	maxPlaceMembers = 100_000                // in all rosters that are remembered
	placesAtOnce    = 1_000                  // topics in one call of the store
	placeReads      = 8                      // rosters that are read at the same time
	maxPlaceTenants = 1_000                  // tenants whose answer is remembered
)

// places remembers which topics have users.
type places struct {
	cfg     *Config
	store   backend.Store
	users   *users
	topics  *topics
	answers *answers[string, *placesNow] // by tenant
}

func newPlaces(cfg *Config, life *lifetime, store backend.Store, u *users, t *topics) *places {
	p := &places{cfg: cfg, store: store, users: u, topics: t}
	p.answers = &answers[string, *placesNow]{
		life: life, every: placesEvery, idle: placesIdle, max: maxPlaceTenants,
		ask: func(ctx context.Context, tenant string, before *placesNow) (*placesNow, error) {
			began := time.Now()
			now, err := p.read(ctx, tenant, before)
			if err != nil && before != nil {
				now, err = p.stillIn(before), nil
			}
			if err == nil {
				now.shown.Store(&shownPlaces{now, began})
			}
			return now, err
		},
	}
	return p
}

// now returns the places, without users who have hidden since they were read.
func (p *places) now(ctx context.Context, tenant string) (*placesNow, error) {
	read, err := p.answers.get(ctx, tenant)
	if err != nil {
		return nil, err
	}
	return p.shownIn(read), nil
}

// FullestFirst compares places in the order of [Tracker.Places]: by Total and by Guests,
// the most first, and equal ones by Topic.
func FullestFirst(a, b presence.Place) int {
	return cmp.Or(cmp.Compare(b.Total, a.Total), cmp.Compare(b.Guests, a.Guests), strings.Compare(string(a.Topic), string(b.Topic)))
}
