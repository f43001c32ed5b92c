package presencetest

import (
	"time"

	"github.com/rollcall-go/rollcall/presence"
)

func rosterCases() []ruleCase {
	return []ruleCase{
		{"rule 2", "a roster tells when it was read, if it does, by the store's clock", rosterMoment},
	}
}

func rosterMoment(tr *trial) {
	tr.do(presence.Site, join("u", "a.1"))
	snap, err := tr.store.Snapshot(tr.ctx, presence.Site)
	if err != nil || len(snap.Members) != 1 {
		tr.Fatalf("got %+v, %v, want u alone", snap, err)
	}
	if snap.At.IsZero() {
		return
	}
	tr.advance(slack)
	tr.do(presence.Site, join("v", "b.1"))
	came, later := snap.Members[0].Since, tr.read(presence.Site).members["v"].Since
	if snap.At.Before(came.Add(-time.Millisecond)) || !snap.At.Before(later) {
		tr.Errorf("a roster with u, who came at %v, and without v, who came at %v, was read at %v", came, later, snap.At)
	}
}
