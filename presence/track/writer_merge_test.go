package track

import (
	"testing"

	"github.com/rollcall-go/rollcall/presence"
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
	if got := p.ops[0].User; p.size() != 1 || got.Status != presence.Away || got.Rev != 3 {
		t.Errorf("got %d operations, the first of %+v, want one: away, of revision 3", p.size(), got)
	}
}
