package simtest_test

import (
	"math/rand/v2"
	"slices"
	"time"

	"github.com/rollcall-go/rollcall/presence/track"
)

// An act is one thing that happens in a game: what a user does, or what fails.
type act struct {
	at   time.Duration // after the game began
	do   string        // one of verbs
	who  int           // the user, or the node
	node int           // where
	d    time.Duration // for how long
	with string        // a status
}

// A game is what is played.
type game struct {
	seed  uint64 // of what is left to chance: which node a page asks, and when it comes back
	nodes int
	slow  bool // the default times; else a lease is of three seconds
	late  bool // a store that hung does what its callers gave up, within the time of the call
	acts  []act

	features []feature // what the site has, beyond pages that read who is online
}

// without returns the game without some of its acts.
func (g game) without(from, to int) game {
	g.acts = slices.Delete(slices.Clone(g.acts), from, to)
	return g
}

// users returns the acts of users, without what fails.
func (g game) users() (acts []act) {
	for _, a := range g.acts {
		if !isFailure(a) {
			acts = append(acts, a)
		}
	}
	return acts
}

func isFailure(a act) bool {
	_, directory := directoryFailures[a.do]
	return directory || a.do == "pause" || a.do == "writes hang" || a.do == "evict" || slices.Contains(databaseFailures, a.do) || slices.Contains(clusterFailures, a.do) || slices.ContainsFunc(failures, func(f failure) bool { return f.do == a.do })
}

func (g game) config(node string) track.Config {
	c := track.Config{Node: node}
	if !g.slow {
		c.TTL, c.Grace, c.Age = 3*time.Second, time.Second, 6*time.Second
	}
	return c
}

// Times of the fleet, and when all is well again after the last act.
func (g game) ttl() time.Duration {
	if g.slow {
		return 45 * time.Second
	}
	return 3 * time.Second
}

// nodeTTL is the default of Config.NodeTTL, for a TTL that is not shorter.
const nodeTTL = 10 * time.Second

// harmless is how long a node may be out of reach without others seeing its users leave.
func (g game) harmless() time.Duration { return min(g.ttl()/4, 2*time.Second) }

// slowness is how long each call takes of a node whose way to the store is slow.
func (g game) slowness() time.Duration { return g.grace() / 30 }

func (g game) sweep() time.Duration {
	if g.slow {
		return time.Second
	}
	return 200 * time.Millisecond
}

func (g game) age() time.Duration {
	if g.slow {
		return 5 * time.Minute
	}
	return 6 * time.Second
}

func (g game) grace() time.Duration {
	if g.slow {
		return 10 * time.Second
	}
	return time.Second
}

// restTime is how long after the last failure every page must show the truth: the longest
// wait of a provisional roster, a sweep, and what it takes to find the store back.
func (g game) restTime() time.Duration { return 4*g.ttl() + 20*time.Second }

// Users of a game, by what they do.
type kind string

const (
	stays  kind = "stays"  // all the time
	moody  kind = "moody"  // too, and changes status
	comes  kind = "comes"  // and goes
	visits kind = "visits" // pages without streams
)

var kinds = []kind{stays, comes, moody, comes, visits, comes, stays, comes}

// Verbs of users, with the kinds that they are for.
var userVerbs = map[kind][]string{
	stays:  {"navigate", "navigate", "another page"},
	moody:  {"status", "status", "navigate"},
	comes:  {"come", "come", "go", "go", "navigate", "sign out", "come twice"},
	visits: {"view", "view", "view", "sign out"},
}

type failure struct {
	do     string
	weight int
}

// failures says what fails, and how likely.
var failures = []failure{
	{"kill", 4}, {"deploy", 4}, {"restart store", 3}, {"store away", 4}, {"wipe", 2}, {"store hangs", 3},
	{"node hangs", 3}, {"node cut off", 1}, {"lag", 4}, {"lose diffs", 2}, {"late diffs", 2}, {"answers lost", 3}, {"slow way", 3},
}

func pick(rnd *rand.Rand) string {
	sum := 0
	for _, f := range failures {
		sum += f.weight
	}
	n := rnd.IntN(sum)
	for _, f := range failures {
		if n -= f.weight; n < 0 {
			return f.do
		}
	}
	panic("unreachable")
}

func upTo(rnd *rand.Rand, d time.Duration) time.Duration { return time.Duration(rnd.Int64N(int64(d))) }

// userAct returns an act of a user at a moment of a span.
func (g game) userAct(rnd *rand.Rand, who int, from, span time.Duration) act {
	verbs := userVerbs[kinds[who]]
	a := act{at: max(0, from+upTo(rnd, span)), do: verbs[rnd.IntN(len(verbs))], who: who, node: rnd.IntN(g.nodes)}
	if a.do == "status" {
		a.with = []string{"online", "away", "busy", "invisible"}[rnd.IntN(4)]
	}
	return a
}

// busyActs returns what users do just then when something fails, in every other game.
func (g game) busyActs() (acts []act) {
	rnd := rand.New(rand.NewPCG(g.seed, 5))
	if rnd.IntN(2) == 0 {
		return nil
	}
	for _, a := range g.acts {
		if !isFailure(a) || rnd.IntN(2) == 0 {
			continue
		}
		if rnd.IntN(2) == 0 {
			at := a.at + upTo(rnd, min(max(a.d, 50*time.Millisecond), 4*time.Second))
			acts = append(acts, act{at: at, do: "sign out", who: []int{1, 3, 5, 7}[rnd.IntN(4)], node: rnd.IntN(g.nodes)})
		}
		for range 1 + rnd.IntN(4) {
			who := []int{1, 2, 2, 2, 3, 6, 7}[rnd.IntN(7)] // most choose a status
			does := g.userAct(rnd, who, a.at-500*time.Millisecond, min(a.d, g.ttl())+3*time.Second)
			if rnd.IntN(2) == 0 {
				does.node = a.who % g.nodes // where it fails
			}
			acts = append(acts, does)
		}
	}
	return acts
}

// hangs returns for how long the store may hang: a call may wait for 3 s, which a short lease does
// not outlast.
func (g game) hangs(d time.Duration) time.Duration {
	if !g.slow && d > g.ttl()/2 && d < g.ttl()+500*time.Millisecond {
		return g.ttl() + 500*time.Millisecond
	}
	return d
}

// newGame returns the game of a seed.
func newGame(seed uint64) game {
	rnd := rand.New(rand.NewPCG(seed, 1))
	g := game{seed: seed, features: newFeatures(seed), late: number("SIM_LATE", int(seed%2)) > 0, nodes: 2 + rnd.IntN(3), slow: rnd.IntN(4) == 0}
	span := func(low, high time.Duration) time.Duration { return low + upTo(rnd, high-low) }
	length := g.ttl()*2 + span(5*time.Second, 30*time.Second)
	for range 10 + rnd.IntN(40) {
		g.acts = append(g.acts, g.userAct(rnd, rnd.IntN(len(kinds)), 0, length))
	}
	// Failures come in clusters: what fails alone is tested elsewhere.
	for range 1 + rnd.IntN(3) {
		at := upTo(rnd, length)
		for range 1 + rnd.IntN(4) {
			a := act{at: at + upTo(rnd, 4*time.Second), do: pick(rnd), who: rnd.IntN(g.nodes)}
			switch a.do {
			case "kill", "deploy":
				a.d = upTo(rnd, 2*time.Second)
			case "restart store":
				a.d = upTo(rnd, time.Second)
			case "store away", "store hangs", "node hangs":
				a.d = span(100*time.Millisecond, 2*g.ttl())
				if rnd.IntN(2) == 0 {
					a.d = span(100*time.Millisecond, g.ttl()/2)
				}
				if a.do == "store hangs" {
					a.d = g.hangs(a.d)
				}
				if a.do == "node hangs" { // others may not see its users leave
					a.d = min(a.d, g.harmless())
				}
			case "node cut off":
				a.d = g.ttl() + span(time.Second, 2*g.ttl())
			case "lag": // a failover loses one renewal of a lease at most
				a.d = span(50*time.Millisecond, min(g.ttl(), nodeTTL)/6)
			case "late diffs", "slow way":
				a.d = span(50*time.Millisecond, 3*time.Second)
			}
			g.acts = append(g.acts, a)
		}
	}
	if g.has(cluster) {
		g.nodes += int(seed % 2)
	}
	g.acts = append(g.acts, g.newActs(length)...)
	g.acts = append(g.acts, g.busyActs()...)
	g.acts = append(g.acts, g.afterActs()...)
	g.acts = append(g.acts, g.aloneActs()...)
	g.acts = append(g.acts, g.moveActs()...)
	slices.SortStableFunc(g.acts, func(a, b act) int { return int(a.at - b.at) })
	return g
}
