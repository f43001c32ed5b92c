package simtest_test

import (
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"time"
)

// A feature is a part of the site that some games have, and others do not.
type feature string

const (
	web      feature = "web"      // some pages come over HTTP
	limited  feature = "limited"  // some pages ask for a few users alone
	cluster  feature = "cluster"  // up to five nodes, and a store that fails in parts
	people   feature = "people"   // there is a directory, and users watch all the others
	signals  feature = "signals"  // users of the thread say that they are typing
	threads  feature = "threads"  // there is a topic beside the site's
	settings feature = "settings" // users choose settings at several nodes at once, and the Directory fails
	inbox    feature = "inbox"    // users have an inbox, in a database that fails
	pauses   feature = "pauses"   // processes stand still, and go on
	evicts   feature = "evicts"   // the store evicts keys
	consumer feature = "consumer" // a program is told of joins and leaves
	apart    feature = "apart"    // nodes find the store back one after another
	windows  feature = "windows"  // some pages ask for a window
	file     feature = "file"     // the store saves a file now and then, and starts again with it
	many     feature = "many"     // nodes follow many topics, and the store tells which ones changed
)

// features says which games have a feature: one in so many.
var features = []struct {
	feature feature
	oneIn   int
}{{web, 3}, {limited, 3}, {threads, 3}, {cluster, 4}, {signals, 2}, {people, 4}, {settings, 4}, {consumer, 4}, {inbox, 4}, {pauses, 4}, {evicts, 4}, {apart, 3}, {file, 4}, {windows, 3}, {many, 8}}

// newFeatures returns those of the game of a seed, or those of SIM_FEATURES.
func newFeatures(seed uint64) (has []feature) {
	if names, set := os.LookupEnv("SIM_FEATURES"); set {
		for _, name := range strings.Fields(names) {
			has = append(has, feature(name))
		}
		return has
	}
	rnd := rand.New(rand.NewPCG(seed, 3))
	for _, f := range features {
		if rnd.IntN(f.oneIn) == 0 {
			has = append(has, f.feature)
		}
	}
	return has
}

// newActs returns the acts of users that the features of a game bring, and the failures.
func (g game) newActs(length time.Duration) (acts []act) {
	rnd := rand.New(rand.NewPCG(g.seed, 4))
	if g.has(threads) {
		for range 4 + rnd.IntN(12) {
			acts = append(acts, act{at: upTo(rnd, length), do: []string{"enter", "enter", "exit"}[rnd.IntN(3)], who: rnd.IntN(len(kinds))})
		}
	}
	if g.has(threads) && g.has(signals) {
		acts = append(acts, g.signalActs(rnd, length)...)
	}
	if g.has(cluster) {
		acts = append(acts, g.clusterActs(rnd, length)...)
	}
	if g.has(settings) {
		acts = append(acts, g.settingsActs(rnd, length)...)
	}
	if g.has(inbox) {
		acts = append(acts, g.inboxActs(rnd, length)...)
	}
	if g.has(pauses) {
		acts = append(acts, g.pauseActs(rnd, length)...)
	}
	if g.has(evicts) {
		acts = append(acts, g.evictActs(rnd, length)...)
	}
	if g.has(file) {
		acts = append(acts, g.fileActs(rnd, length)...)
	}
	return acts
}

func (g game) has(f feature) bool { return slices.Contains(g.features, f) }

// simpler returns the game without one of its features.
func (g game) simpler(i int) game {
	g.features = slices.Delete(slices.Clone(g.features), i, i+1)
	return g
}
