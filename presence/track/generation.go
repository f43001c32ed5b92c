package track

import (
	"sync/atomic"
	"time"

	"github.com/rollcall-go/rollcall/presence"
)

// A generation numbers what this node writes of its pages (rule 7). Where the store may have lost
// something that this node wrote, or has begun to end it, the node begins the next generation. It writes all that it holds
// again, and lets the generations before lapse. So what the store has of them, and this node does not hold any more,
// ends a few seconds later, whatever was lost.
//
// Example: Alice closes her page at 12:00:00. Redis fails over to a copy that did not get that. Node a learns of it at
// 12:00:02, and holds its users in generation 1 from then on. Alice's lease is of generation 0, and ends with that by
// 12:00:11.
type generation struct {
	process string
	n       atomic.Int32 // the number of the present one
	began   atomic.Int64 // when the present one began, in Unix nanoseconds
	wanted  atomic.Bool  // the next one is to begin
	lostAt  atomic.Int64 // when the loss of data was noticed for which the latest one was wanted, in Unix nanoseconds; 0: none
}

// begin begins the generation n.
func (g *generation) begin(n int32) {
	g.began.Store(time.Now().UnixNano())
	g.wanted.Store(false)
	g.n.Store(n)
}

// lost notes a loss of data, and reports whether it is news: one loss is noticed several times.
func (g *generation) lost() bool {
	now, was := time.Now().UnixNano(), g.lostAt.Load()
	return now-was > int64(restoreWait) && g.lostAt.CompareAndSwap(was, now)
}

// holder returns the holder of what this node writes of its pages, or of visits. Those hang on no lease of a process, so they
// outlive this one.
func (g *generation) holder(visits bool) presence.Holder {
	if visits {
		return presence.Holder(g.process + presence.Visits + ".0")
	}
	return presence.Holder(g.process + ".0")
}
