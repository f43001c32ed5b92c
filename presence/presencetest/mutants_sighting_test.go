package presencetest_test

import (
	"slices"
	"sync"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
)

// sightingMutants name the wrong holders of a user.
func sightingMutants() map[string]mutant {
	const caught = "rule 1/a sighting names"
	sighting := func(change func(backend.Sighting) backend.Sighting) mutant {
		return mutant{caught: caught, plant: func(s backend.Store) backend.Store {
			return planted{Store: s, sightings: func(_ presence.Topic, _ presence.UserID, got backend.Sighting) backend.Sighting {
				return change(got)
			}}
		}}
	}
	return map[string]mutant{
		"sightings name no holders": sighting(func(s backend.Sighting) backend.Sighting {
			s.Holders = nil
			return s
		}),
		"sightings name connections alone": sighting(func(s backend.Sighting) backend.Sighting {
			s.Holders = slices.DeleteFunc(s.Holders, func(h presence.Holder) bool { return !h.IsConnection() })
			return s
		}),
		"sightings name holders as they came": sighting(func(s backend.Sighting) backend.Sighting {
			slices.Reverse(s.Holders)
			return s
		}),
		"sightings name holders that ended": {caught: caught, plant: func(s backend.Store) backend.Store {
			var mu sync.Mutex
			known := make(map[presence.UserID][]presence.Holder)
			return planted{Store: s, sightings: func(_ presence.Topic, id presence.UserID, got backend.Sighting) backend.Sighting {
				mu.Lock()
				defer mu.Unlock()
				known[id] = slices.Compact(slices.Sorted(slices.Values(append(known[id], got.Holders...))))
				if got.Online {
					got.Holders = slices.Clone(known[id])
				}
				return got
			}}
		}},
	}
}
