package track

import (
	"math"
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
	process string       // the name of the first generation
	n       atomic.Int32 // the number of the present one
	began   atomic.Int64 // when the present one began, in Unix nanoseconds
	former  atomic.Int64 // until when leases may have the name of the one before, in Unix nanoseconds
	wanted  atomic.Bool  // the next one is to begin
	lostAt  atomic.Int64 // when the loss of data was noticed for which the latest one was wanted, in Unix nanoseconds; 0: none
}

// nameOf returns the name of a generation.
func (g *generation) nameOf(n int32) string {
	if n == 0 {
		return g.process
	}
	return g.process + "+" + strconv.Itoa(int(n))
}

func (g *generation) name() string { return g.nameOf(g.n.Load()) }

// begin begins the generation n.
func (g *generation) begin(n int32) {
	g.began.Store(time.Now().UnixNano())
	g.former.Store(math.MaxInt64)
	g.wanted.Store(false)
	g.n.Store(n)
}

// lost notes a loss of data, and reports whether it is news: one loss is noticed several times.
func (g *generation) lost() bool {
	now, was := time.Now().UnixNano(), g.lostAt.Load()
	return now-was > int64(restoreWait) && g.lostAt.CompareAndSwap(was, now)
}

// The holders of this node's leases without the generation: see sign.
const (
	ownPages presence.Holder = ".0"
	visitors presence.Holder = visiting + ".0" // of visits
)

// visiting ends the name on which the leases of visits would hang. It has no lease, so they outlive this process.
const visiting = "~"

// sign writes the name of the present generation in front of the holders of operations. While leases may have the name of the
// generation before, an end ends these first, and a join takes their place.
func (g *generation) sign(ops []backend.Op) []backend.Op {
	n := g.n.Load()
	name := presence.Holder(g.nameOf(n))
	signed := ops
	if former := presence.Holder(g.nameOf(max(n-1, 0))); n > 0 && time.Now().UnixNano() < g.former.Load() {
		signed = make([]backend.Op, 0, len(ops))
		for _, op := range ops {
			earlier := op
			earlier.Holder = former + op.Holder
			switch {
			case !isRelative(op.Holder):
				signed = append(signed, op)
			case op.Kind == backend.OpRelease, op.Kind == backend.OpDrop:
				signed = append(signed, earlier, op)
			case op.Kind == backend.OpJoin:
				signed = append(signed, op, releaseOf(op.User.ID, earlier.Holder, backend.OpDrop, 0))
			default:
				signed = append(signed, op)
			}
		}
	}
	for i := range signed {
		if isRelative(signed[i].Holder) {
			signed[i].Holder = name + signed[i].Holder
		}
	}
	return signed
}

func isRelative(holder presence.Holder) bool { return holder == ownPages || holder == visitors }

// unsigned returns an operation as it was before sign.
func (g *generation) unsigned(op backend.Op) backend.Op {
	switch {
	case !g.isOwn(op.Holder):
	case strings.HasSuffix(string(op.Holder), string(visitors)):
		op.Holder = visitors
	default:
		op.Holder = ownPages
	}
	return op
}

// isOwn reports whether a holder in the store is that of a lease of this node, of any generation.
func (g *generation) isOwn(lease presence.Holder) bool {
	return firstName(strings.TrimSuffix(lease.Process(), visiting)) == g.process && strings.HasSuffix(string(lease), string(ownPages))
}

// firstName returns the name of the first generation of a process, which begins the ids of its connections.
func firstName(generation string) string {
	first, _, _ := strings.Cut(generation, "+")
	return first
}
