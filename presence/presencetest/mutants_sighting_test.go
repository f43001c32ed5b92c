package presencetest_test

import (
	"slices"
	"sync"

	"github.com/rollcall-go/rollcall/presence"
)

// sightingMutants name the wrong holders of a user.
func sightingMutants() map[string]mutant {
	const caught = "rule 1/a sighting names"
	sighting := func(change func(presence.Sighting) presence.Sighting) mutant {
		return mutant{caught: caught, plant: func(s presence.Store) presence.Store {
			return planted{Store: s, sightings: func(_ presence.Topic, _ presence.UserID, got presence.Sighting) presence.Sighting {
				return change(got)
			}}
		}}
	}
	return map[string]mutant{
		"sightings name no holders": sighting(func(s presence.Sighting) presence.Sighting {
			s.Holders = nil
			return s
		}),
		"sightings name connections alone": sighting(func(s presence.Sighting) presence.Sighting {
			s.Holders = slices.DeleteFunc(s.Holders, func(h presence.Holder) bool { return !h.IsConnection() })
			return s
		}),
		"sightings name holders as they came": sighting(func(s presence.Sighting) presence.Sighting {
			slices.Reverse(s.Holders)
			return s
		}),
		"sightings name holders that ended": {caught: caught, plant: func(s presence.Store) presence.Store {
			var mu sync.Mutex
			known := make(map[presence.UserID][]presence.Holder)
			return planted{Store: s, sightings: func(_ presence.Topic, id presence.UserID, got presence.Sighting) presence.Sighting {
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
