package presencetest

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
)

func lastingCases() []ruleCase {
	return []ruleCase{
		{"notices", "after Hear every lasting notice was delivered", heard},
	}
}

func statusCases() []ruleCase {
	return []ruleCase{
		{"rule 10", "a chosen status outlives leases and sign-outs", chosenOutlives},
		{"rule 10", "a new choice has a greater revision than all before", choicesInOrder},
		{"rule 10", "a choice does not replace one that it does not know", laterChoice},
		{"rule 10", "choices that are told again count by their revisions", choicesAgain},
		{"rule 10", "chosen statuses are trimmed by age", chosenTrimmedByAge},
		{"rule 10", "chosen statuses are trimmed by number", chosenTrimmedByNumber},
	}
}

func secretCases() []ruleCase {
	return []ruleCase{
		{"rule 10", "the first offer is the fleet's secret", firstSecret},
	}
}

// choose makes a user choose a status in place of the latest one, and returns the revision.
func (tr *trial) choose(store backend.Store, id presence.UserID, s presence.Status) (rev int64) {
	tr.Helper()
	kept, err := tr.store.Statuses(tr.ctx, id)
	if err != nil {
		tr.Fatalf("statuses: %v", err)
	}
	return tr.put(store, id, backend.ChosenStatus{Status: s, Rev: kept[0].Rev}, false)
}

func (tr *trial) put(store backend.Store, id presence.UserID, c backend.ChosenStatus, again bool) (rev int64) {
	tr.Helper()
	rev, err := store.PutStatus(tr.ctx, id, c, again)
	if err != nil {
		tr.Fatalf("put status: %v", err)
	}
	return rev
}

// wantChosen checks, at both nodes, which statuses users chose.
func (tr *trial) wantChosen(want ...presence.Status) {
	tr.Helper()
	users := make([]presence.UserID, len(want))
	for i := range users {
		users[i] = presence.UserID(fmt.Sprintf("u%d", i))
	}
	for _, store := range []backend.Store{tr.store, tr.peer} {
		got, err := store.Statuses(tr.ctx, users...)
		same := slices.EqualFunc(got, want, func(c backend.ChosenStatus, s presence.Status) bool {
			return c.Status == s && (c.Rev != 0) == (s != "")
		})
		if err != nil || !same {
			tr.Errorf("got statuses %v and error %v, want %q, each with a revision", got, err, want)
		}
	}
}

// Rule 10: no lease is needed, and neither an expiry nor a sign-out forgets a choice.
func chosenOutlives(tr *trial) {
	tr.choose(tr.store, "u0", presence.Invisible)
	tr.do(presence.Site, join("u1", "a.1"))
	tr.choose(tr.peer, "u1", presence.Busy)
	tr.wantChosen(presence.Invisible, presence.Busy, "")
	tr.do(presence.Site, signOut("u1"))
	if err := tr.store.Publish(tr.ctx, backend.SignOutNotice("u1")); err != nil {
		tr.Fatalf("notify: %v", err)
	}
	tr.pass(2 * period)
	tr.wantChosen(presence.Invisible, presence.Busy, "")
	if got, err := tr.store.Statuses(tr.ctx); err != nil || len(got) != 0 {
		tr.Errorf("of nobody: got %q and error %v, want nothing", got, err)
	}
}

// Rule 10: whichever node it comes from, also behind a revision that another clock gave, and within one millisecond.
func choicesInOrder(tr *trial) {
	var revs []int64
	for i, status := range []presence.Status{presence.Invisible, presence.Away, presence.Busy, presence.Busy} {
		revs = append(revs, tr.choose([]backend.Store{tr.store, tr.peer}[i%2], "u0", status))
		tr.wantChosen(status)
	}
	ahead := revs[3] + time.Hour.Microseconds()
	revs = append(revs, tr.put(tr.peer, "u0", backend.ChosenStatus{Status: presence.Away, Rev: ahead}, false), tr.choose(tr.store, "u0", presence.Online))
	for i, rev := range revs[1:] {
		if rev <= revs[i] || revs[0] <= 0 || revs[4] <= ahead {
			tr.Fatalf("got revisions %v, want each greater than the one before, and the last two than %d", revs, ahead)
		}
	}
	tr.wantChosen(presence.Online)
	if kept, err := tr.peer.Statuses(tr.ctx, "u0"); err != nil || kept[0].Rev != revs[5] {
		tr.Errorf("got %v and error %v kept, want revision %d", kept, err, revs[5])
	}
}

// Rule 10: a node that did not know of the latest choice asks, and tries again. A call that arrives late, and whose
// caller has given up, changes nothing.
func laterChoice(tr *trial) {
	was := tr.choose(tr.store, "u0", presence.Away)
	tr.choose(tr.peer, "u0", presence.Busy)
	for _, overtaken := range []int64{0, was} {
		if _, err := tr.store.PutStatus(tr.ctx, "u0", backend.ChosenStatus{Status: presence.Invisible, Rev: overtaken}, false); !errors.Is(err, presence.ErrLaterChoice) {
			tr.Errorf("got %v for a choice in place of %d, want ErrLaterChoice", err, overtaken)
		}
	}
	tr.wantChosen(presence.Busy)
}

// Rule 10: nodes tell a store again what it lost, in any order and however often.
func choicesAgain(tr *trial) {
	first := tr.choose(tr.store, "u0", presence.Away)
	last := tr.choose(tr.store, "u0", presence.Busy)
	for _, user := range []presence.UserID{"u0", "u1"} {
		want := map[presence.UserID]int64{"u0": last}[user]
		for _, c := range []backend.ChosenStatus{{Status: presence.Away, Rev: first}, {Status: presence.Busy, Rev: last}, {Status: presence.Away, Rev: first}, {Status: presence.Busy, Rev: last}} {
			want = max(want, c.Rev)
			if rev := tr.put(tr.peer, user, c, true); rev != want {
				tr.Errorf("got revision %d of %s, want %d", rev, user, want)
			}
		}
	}
	tr.wantChosen(presence.Busy, presence.Busy)
	if rev := tr.choose(tr.store, "u1", presence.Online); rev <= last {
		tr.Errorf("got revision %d after %d, want a greater one", rev, last)
	}
	tr.wantChosen(presence.Busy, presence.Online)
}

// Rule 10: Trim forgets choices that are older than it keeps.
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

// Rule 10: Trim forgets the oldest choices over the number that it allows.
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

// Rule 10: every node gets the first offer, whatever it offers.
func firstSecret(tr *trial) {
	first, second := bytes.Repeat([]byte{0, 0xff, '\n', '"'}, 8), bytes.Repeat([]byte("2"), 16)
	for i, ask := range []struct {
		store backend.Store
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
		n := backend.SignOutNotice(presence.UserID(fmt.Sprintf("u%d", i)))
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
