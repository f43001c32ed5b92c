package track

import (
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
)

// A generation names the leases of this node, which hang on the lease of that name (rule 23). Where the store may have lost
// something that this node wrote, or has begun to end it, the node begins the next generation. It writes all that it holds
// under the new name, and lets the old one lapse. So what the store has from before, and this node does not hold any more,
// ends a few seconds later, whatever was lost.
//
// Example: Alice closes her page at 12:00:00. Redis fails over to a copy that did not get that. Node a learns of it at
// 12:00:02, and holds its users as a.Kx7dAb3q+1 from then on. Alice's lease is of a.Kx7dAb3q, and ends with that name by
// 12:00:11.
type generation struct {
	process string // the name of the first generation
	now     atomic.Pointer[generationName]
}

type generationName struct {
	name string
	n    int
	lost time.Time // when the loss of data was noticed for which it was begun; zero: there was none
}

func newGeneration(process string) *generation {
	g := &generation{process: process}
	g.now.Store(&generationName{name: process})
	return g
}

func (g *generation) name() string { return g.now.Load().name }

// next begins the next generation.
func (g *generation) next(lost time.Time) {
	n := g.now.Load().n + 1
	g.now.Store(&generationName{g.process + "+" + strconv.Itoa(n), n, lost})
}

// lost is next after a loss of data, unless this generation has just begun after it. It reports whether it began one.
func (g *generation) lost() bool {
	now := time.Now()
	if now.Sub(g.now.Load().lost) <= restoreWait {
		return false
	}
	g.next(now)
	return true
}

// The holders of this node's leases without the generation: see sign.
const (
	ownPages presence.Holder = ".0"
	visitors presence.Holder = visiting + ".0" // of visits
)

// visiting ends the name on which the leases of visits would hang. It has no lease, so they outlive this process.
const visiting = "~"

// sign writes the name of a generation in front of the holders of operations.
func sign(ops []backend.Op, name string) {
	own, visit := presence.Holder(name)+ownPages, presence.Holder(name)+visitors
	for i := range ops {
		switch ops[i].Holder {
		case ownPages:
			ops[i].Holder = own
		case visitors:
			ops[i].Holder = visit
		}
	}
}

// unsigned returns an operation as it was before sign.
func unsigned(op backend.Op, name string) backend.Op {
	op.Holder = presence.Holder(strings.TrimPrefix(string(op.Holder), name))
	return op
}

// isOwn reports whether a holder in the store is one of this node's, of any generation.
func (g *generation) isOwn(holder presence.Holder) bool {
	return firstName(strings.TrimSuffix(holder.Process(), visiting)) == g.process
}

// firstName returns the name of the first generation of a process, which begins the ids of its connections.
func firstName(generation string) string {
	first, _, _ := strings.Cut(generation, "+")
	return first
}
