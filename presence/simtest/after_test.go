package simtest_test

import (
	"math/rand/v2"
	"time"
)

// afterActs returns what comes with a failure where the nodes have a rule for just that: the store
// fails again while they restore what it lost; users come, go and sign out in what a failover
// loses; who said something goes, and others come; and the server holds up writes alone, as it does
// before a failover that is planned.
func (g game) afterActs() (acts []act) {
	rnd := rand.New(rand.NewPCG(g.seed, 7))
	if rnd.IntN(2) == 0 {
		return nil
	}
	for _, a := range g.acts {
		switch a.do {
		case "wipe", "restart store", "flush", "lose part":
			acts = append(acts, g.afterLoss(rnd, a)...)
		case "lag", "part lags":
			acts = append(acts, g.beforeFailover(rnd, a)...)
		case "type":
			acts = append(acts, g.afterWord(rnd, a)...)
		case "status": // who hides says nothing to others
			if g.has(threads) && g.has(signals) && rnd.IntN(2) == 0 {
				d := time.Second + upTo(rnd, longestTyping-time.Second)
				acts = append(acts, act{at: max(0, a.at-time.Second), do: "enter", who: a.who}, act{at: a.at + upTo(rnd, 3*time.Second), do: "type", who: a.who, node: a.node, d: d})
			}
		}
	}
	if rnd.IntN(3) == 0 {
		at := upTo(rnd, 2*g.ttl())
		acts = append(acts, act{at: at, do: "writes hang", d: g.hangs(100*time.Millisecond + upTo(rnd, 2*g.ttl()))})
		for range rnd.IntN(4) {
			acts = append(acts, act{at: at + upTo(rnd, 2*g.ttl()), do: "navigate", who: []int{0, 2, 6}[rnd.IntN(3)]})
		}
	}
	return acts
}

// afterLoss returns what fails while the nodes restore what the store lost, and who moves.
func (g game) afterLoss(rnd *rand.Rand, a act) (acts []act) {
	at := a.at + a.d + upTo(rnd, 5*time.Second)
	switch rnd.IntN(6) {
	case 0, 1:
		do := []string{"store away", "store hangs"}[rnd.IntN(2)]
		acts = append(acts, act{at: at, do: do, d: g.hangs(100*time.Millisecond + upTo(rnd, 2*g.ttl()))})
	case 2:
		acts = append(acts, act{at: at, do: "wipe"})
	case 3:
		acts = append(acts, act{at: at, do: "kill", who: rnd.IntN(g.nodes), d: upTo(rnd, 2*time.Second)})
	}
	for range rnd.IntN(4) {
		acts = append(acts, act{at: a.at + a.d + upTo(rnd, 5*time.Second), do: "navigate", who: []int{0, 2, 6}[rnd.IntN(3)]})
	}
	return acts
}

// beforeFailover returns who comes, goes or signs out just before a failover, which loses that.
func (g game) beforeFailover(rnd *rand.Rand, a act) (acts []act) {
	who, within := guest(rnd), a.at+upTo(rnd, a.d)
	come := act{at: max(0, within-g.grace()-3*time.Second), do: "come", who: who}
	switch rnd.IntN(4) {
	case 0: // the grace ends then
		return []act{come, {at: max(come.at, within-g.grace()-g.sweep()/4), do: "go", who: who}}
	case 1:
		return []act{come, {at: within, do: "sign out", who: who, node: rnd.IntN(g.nodes)}}
	case 2:
		return []act{{at: within, do: "come", who: who}}
	}
	return nil
}

// afterWord returns who goes that has just said something, and who comes to read it.
func (g game) afterWord(rnd *rand.Rand, a act) (acts []act) {
	if rnd.IntN(2) == 0 {
		does := act{at: a.at + upTo(rnd, 2*time.Second), do: "exit", who: a.who}
		if kinds[a.who] == comes && rnd.IntN(2) == 0 {
			does.do = "go"
		}
		acts = append(acts, does)
	}
	for range rnd.IntN(3) {
		acts = append(acts, act{at: a.at + upTo(rnd, longestTyping), do: "enter", who: rnd.IntN(len(kinds))})
	}
	return acts
}
