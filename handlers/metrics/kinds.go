package metrics

import (
	"maps"
	"slices"
	"sync"

	"github.com/rollcall-go/rollcall/presence"
)

// maxKinds bounds the values of the label kind: a site that names its topics
// without a colon has as many kinds as topics, and each value is a time series
// in Prometheus for as long as it keeps its data.
const maxKinds = 50

// otherKinds is the kind of all topics over maxKinds.
const otherKinds = "other"

// kinds are those that have a label of their own: the first that came, since a
// series that changes its meaning from scrape to scrape would be worth nothing.
// The site's topic always has one. The zero value has no others.
type kinds struct {
	mu    sync.Mutex
	known map[string]struct{}
}

// fold adds up what has no label of its own. Kinds that come at once get theirs
// in the order of their names.
func (k *kinds) fold(all map[string]presence.KindStats) map[string]presence.KindStats {
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
	folded := make(map[string]presence.KindStats)
	for kind, s := range all {
		if _, ok := k.known[kind]; !ok {
			kind = otherKinds
		}
		sum := folded[kind]
		folded[kind] = presence.KindStats{Topics: sum.Topics + s.Topics, Users: sum.Users + s.Users, Guests: sum.Guests + s.Guests}
	}
	return folded
}
