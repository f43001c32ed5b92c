package metrics

import (
	"maps"
	"slices"
	"sync"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/track"
)

// maxKinds bounds the values of the label kind. A site whose topics have no colon has as
// many kinds as topics, and Prometheus keeps a time series for each.
const maxKinds = 50

// otherKinds is the kind of all topics over maxKinds.
const otherKinds = "other"

// kinds holds the kinds of topics that have a label of their own: the first maxKinds, so
// that no series changes its meaning between two scrapes. The kind of the site's topic
// always has one. The zero value has no others.
type kinds struct {
	mu    sync.Mutex
	known map[string]struct{}
}

// fold adds up the kinds without a label of their own. If several kinds are new in one scrape, they get labels
// in the order of their names.
func (k *kinds) fold(all map[string]track.KindStats) map[string]track.KindStats {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.known == nil {
		k.known = map[string]struct{}{presence.Site.Kind(): {}}
	}
	if len(k.known) < maxKinds {
		for _, kind := range slices.Sorted(maps.Keys(all)) {
			if len(k.known) < maxKinds {
				k.known[kind] = struct{}{}
			}
		}
	}
	folded := make(map[string]track.KindStats)
	for kind, s := range all {
		if _, ok := k.known[kind]; !ok {
			kind = otherKinds
		}
		sum := folded[kind]
		folded[kind] = track.KindStats{Topics: sum.Topics + s.Topics, Users: sum.Users + s.Users, Guests: sum.Guests + s.Guests}
	}
	return folded
}
