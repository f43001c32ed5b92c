package simtest_test

import (
	"math/rand/v2"
	"slices"
	"strings"
)

// A feature is a part of the site that some games have, and others do not.
type feature string

const (
	web     feature = "web"     // some pages come over HTTP
	limited feature = "limited" // some pages ask for a few users alone
)

// features says which games have a feature: one in so many.
var features = []struct {
	feature feature
	oneIn   int
}{{web, 3}, {limited, 3}}

// newFeatures returns those of the game of a seed.
func newFeatures(seed uint64) (has []feature) {
	rnd := rand.New(rand.NewPCG(seed, 3))
	for _, f := range features {
		if rnd.IntN(f.oneIn) == 0 {
			has = append(has, f.feature)
		}
	}
	return has
}

func (g game) has(f feature) bool { return slices.Contains(g.features, f) }

// simpler returns the game without one of its features.
func (g game) simpler(i int) game {
	g.features = slices.Delete(slices.Clone(g.features), i, i+1)
	return g
}

func joined(all []feature) string {
	names := make([]string, len(all))
	for i, f := range all {
		names[i] = string(f) // the name of its constant too
	}
	return strings.Join(names, ", ")
}
