package simtest_test

import (
	"math/rand/v2"
	"time"
)

// aloneActs returns one failure that comes after all others, with what users do just then, in every
// other game. Most of what the nodes promise holds there without any exception.
func (g game) aloneActs() (acts []act) {
	rnd := rand.New(rand.NewPCG(g.seed, 8))
	if rnd.IntN(2) == 0 {
		return nil
	}
	var at time.Duration
	for _, a := range g.acts {
		at = max(at, a.at+a.d)
	}
	at += 15*time.Second + g.grace()
	node, who := rnd.IntN(g.nodes), guest(rnd)
	acts = append(acts, act{at: at - 3*time.Second, do: "come twice", who: who})
	soon := func(do string, who int, within time.Duration) act {
		return act{at: at + upTo(rnd, within), do: do, who: who, node: rnd.IntN(g.nodes)}
	}
	hides := func(within time.Duration) act {
		a := soon("status", 2, within)
		a.with = []string{"invisible", "invisible", "busy", "online"}[rnd.IntN(4)]
		return a
	}
	switch kind := rnd.IntN(6); {
	case kind == 0:
		a := act{at: at + g.grace(), do: "lag", who: node, d: 100*time.Millisecond + upTo(rnd, min(g.ttl(), nodeTTL)/6-100*time.Millisecond)}
		acts = append(append(acts, a, hides(2*time.Second)), g.beforeFailover(rnd, a)...)
	case kind == 1:
		a := act{at: at, do: "wipe"}
		acts = append(append(acts, a, hides(5*time.Second), soon("go", who, 5*time.Second)), g.afterLoss(rnd, a)...)
	case kind == 2: // the diff of the leave is lost
		acts = append(acts, act{at: at - g.grace(), do: "go", who: who}, act{at: at, do: "lose diffs"})
		for range 4 {
			acts = append(acts, soon("move", rnd.IntN(100), time.Second))
		}
	case kind == 3: // and users do much elsewhere
		a := act{at: at, do: "node cut off", who: node, d: g.ttl() + time.Second + upTo(rnd, g.ttl())}
		acts = append(acts, a, act{at: at + upTo(rnd, a.d), do: "sign out", who: who, node: (node + 1) % g.nodes}, hides(a.d))
	case g.has(settings):
		for range 1 + rnd.IntN(2) {
			acts = append(acts, act{at: at, do: []string{"directory slow", "directory late", "directory out", "directory deaf"}[rnd.IntN(4)], who: rnd.IntN(g.nodes), d: time.Second + upTo(rnd, 4*time.Second)})
		}
		for range 1 + rnd.IntN(4) {
			acts = append(acts, hides(time.Second))
		}
	case g.has(threads) && g.has(signals):
		acts = append(acts, soon("enter", who, time.Second), soon("enter", 0, time.Second))
		a := act{at: at + 2*time.Second, do: "type", who: who, node: node, d: longestTyping}
		acts = append(append(acts, a, soon("move", rnd.IntN(100), longestTyping)), g.afterWord(rnd, a)...)
		acts = append(acts, act{at: a.at + upTo(rnd, 2*time.Second), do: "type", who: who, node: node, d: -time.Second})
	default:
		acts = append(acts, act{at: at, do: "writes hang", d: g.hangs(g.ttl()/2 + upTo(rnd, g.ttl()))}, soon("go", who, g.ttl()))
		for range 2 {
			acts = append(acts, soon("navigate", []int{0, 2, 6}[rnd.IntN(3)], g.ttl()))
		}
	}
	return acts
}

// guest returns a user who comes and goes.
func guest(rnd *rand.Rand) int { return []int{1, 3, 5, 7}[rnd.IntN(4)] }
