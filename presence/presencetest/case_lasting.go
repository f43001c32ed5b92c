package presencetest

import (
	"bytes"
	"fmt"
	"slices"
	"time"

	"github.com/rollcall-go/rollcall/presence"
)

func lastingCases() []ruleCase {
	return []ruleCase{
		{"rule 13", "a chosen status outlives leases and sign-outs", chosenOutlives},
		{"rule 13", "the latest choice wins", latestChoice},
		{"rule 13", "a choice that is published late yields to a later one", lateChoice},
		{"rule 13", "chosen statuses are trimmed by age", chosenTrimmedByAge},
		{"rule 13", "chosen statuses are trimmed by number", chosenTrimmedByNumber},
		{"rule 14", "the first offer is the fleet's secret", firstSecret},
		{"notices", "after Hear every lasting notice was delivered", heard},
	}
}

// choose publishes that a user chose a status.
func (tr *trial) choose(store presence.Store, id presence.UserID, s presence.Status) {
	tr.Helper()
	if err := store.Publish(tr.ctx, presence.StatusNotice(id, s)); err != nil {
		tr.Fatalf("notify: %v", err)
	}
}

// wantChosen checks, at both nodes, which statuses users chose.
func (tr *trial) wantChosen(want ...presence.Status) {
	tr.Helper()
	users := make([]presence.UserID, len(want))
	for i := range users {
		users[i] = presence.UserID(fmt.Sprintf("u%d", i))
	}
	for _, store := range []presence.Store{tr.store, tr.peer} {
		if got, err := store.Statuses(tr.ctx, users...); err != nil || !slices.Equal(got, want) {
			tr.Errorf("got statuses %q and error %v, want %q", got, err, want)
		}
	}
}

// Rule 13: no lease is needed, and neither an expiry nor a sign-out forgets a choice.
func chosenOutlives(tr *trial) {
	tr.choose(tr.store, "u0", presence.Invisible)
	tr.do(presence.Site, join("u1", "a.1"))
	tr.choose(tr.peer, "u1", presence.Busy)
	tr.wantChosen(presence.Invisible, presence.Busy, "")
	tr.do(presence.Site, signOut("u1"))
	if err := tr.store.Publish(tr.ctx, presence.SignOutNotice("u1")); err != nil {
		tr.Fatalf("notify: %v", err)
	}
	tr.pass(2 * period)
	tr.wantChosen(presence.Invisible, presence.Busy, "")
	if got, err := tr.store.Statuses(tr.ctx); err != nil || len(got) != 0 {
		tr.Errorf("of nobody: got %q and error %v, want nothing", got, err)
	}
}

// Rule 13: whichever node published it.
func latestChoice(tr *trial) {
	tr.choose(tr.store, "u0", presence.Invisible)
	tr.choose(tr.peer, "u0", presence.Away)
	tr.wantChosen(presence.Away)
	tr.choose(tr.store, "u0", presence.Online)
	tr.wantChosen(presence.Online)
}

// Rule 13: a node restores choices that a wiped store lost.
func lateChoice(tr *trial) {
	tr.choose(tr.store, "u0", presence.Online)
	late := func(id presence.UserID) {
		n := presence.StatusNotice(id, presence.Invisible)
		n.Ago = period
		if err := tr.peer.Publish(tr.ctx, n); err != nil {
			tr.Fatalf("notify: %v", err)
		}
	}
	late("u0")
	late("u1")
	tr.wantChosen(presence.Online, presence.Invisible)
	tr.choose(tr.store, "u1", presence.Busy)
	tr.wantChosen(presence.Online, presence.Busy)
}

// Rule 13: Trim forgets choices that are older than it keeps.
func chosenTrimmedByAge(tr *trial) {
	tr.choose(tr.store, "u0", presence.Invisible)
	tr.choose(tr.store, "u1", presence.Invisible)
	tr.advance(period)
	tr.choose(tr.store, "u1", presence.Busy)
	forgotten, err := tr.store.Trim(tr.ctx, period-slack, 100)
	if err != nil || forgotten != 1 {
		tr.Errorf("trim: got %d forgotten and error %v, want 1", forgotten, err)
	}
	tr.wantChosen("", presence.Busy)
}

// Rule 13: Trim forgets the oldest choices over the number that it allows.
func chosenTrimmedByNumber(tr *trial) {
	for i := range 5 {
		tr.choose(tr.store, presence.UserID(fmt.Sprintf("u%d", i)), presence.Away)
		tr.advance(time.Second)
	}
	tr.choose(tr.store, "u0", presence.Busy)
	forgotten, err := tr.store.Trim(tr.ctx, period, 2)
	if err != nil || forgotten != 3 {
		tr.Errorf("trim: got %d forgotten and error %v, want 3", forgotten, err)
	}
	tr.wantChosen(presence.Busy, "", "", "", presence.Away)
}

// Rule 14: every node gets the first offer, whatever it offers.
func firstSecret(tr *trial) {
	first, second := bytes.Repeat([]byte{0, 0xff, '\n', '"'}, 8), bytes.Repeat([]byte("2"), 16)
	for i, ask := range []struct {
		store presence.Store
		offer []byte
	}{{tr.peer, first}, {tr.store, second}, {tr.peer, second}} {
		if got, err := ask.store.Secret(tr.ctx, ask.offer); err != nil || !bytes.Equal(got, first) {
			tr.Errorf("call %d: got %q and error %v, want the first offer", i, got, err)
		}
	}
}

// When Hear returns, the node has got every notice that any node published before.
func heard(tr *trial) {
	box, _ := tr.listen(tr.peer)
	for i := range 250 {
		n := presence.SignOutNotice(presence.UserID(fmt.Sprintf("u%d", i)))
		if i%2 == 1 {
			n.Kind = "knock"
		}
		if err := tr.store.Publish(tr.ctx, n); err != nil {
			tr.Fatalf("notify: %v", err)
		}
	}
	if err := tr.peer.Hear(tr.ctx); err != nil {
		tr.Fatalf("hear: %v", err)
	}
	if got := len(box.got()); got != 250 {
		tr.Errorf("got %d notices when Hear returned, want 250", got)
	}
}
