package track

import (
	"testing"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
)

// Of two choices that wait, the later one is written with its own revision.
func TestMergedChoicesHaveTheLaterRevision(t *testing.T) {
	choice := func(s presence.Status, rev int64) operation {
		return operation{Op: updateOf(presence.User{ID: "alice", Status: s, Rev: rev})}
	}
	p := newPending()
	p.add(choice(presence.Busy, 1))
	p.add(choice(presence.Away, 2))
	p.add(choice(presence.Away, 3))
	if got := p.all()[0].User; p.size() != 1 || got.Status != presence.Away || got.Rev != 3 {
		t.Errorf("got %d operations, the first of %+v, want one: away, of revision 3", p.size(), got)
	}
}

// A choice is written behind the joins that waited when it was made: a store applies it to a user who is there alone.
func TestChoicesAreWrittenBehindJoins(t *testing.T) {
	p := newPending()
	p.add(operation{Op: updateOf(presence.User{ID: "alice", Status: presence.Busy, Rev: 1})})
	p.add(operation{Op: backend.Op{Kind: backend.OpJoin, User: presence.User{ID: "alice", Status: presence.Busy, Rev: 1}, Holder: "a.1"}})
	p.add(operation{Op: updateOf(presence.User{ID: "alice", Status: presence.Away, Rev: 2})})
	ops := p.batch(time.Now())
	if len(ops) != 2 || ops[0].Kind != backend.OpJoin || ops[1].Kind != backend.OpUpdate || ops[1].User.Rev != 2 {
		t.Errorf("got %+v, want the join, and then the choice of revision 2", ops)
	}
}
