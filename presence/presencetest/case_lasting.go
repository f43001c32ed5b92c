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
		{"rule 13", "a chosen status outlives leases and sign-outs", chosenOutlives},
		{"rule 13", "the latest choice wins", latestChoice},
		{"rule 13", "a choice that is published late yields to a later one", lateChoice},
		{"rule 13", "a later choice has a greater order, which all nodes hear", choicesInOrder},
		{"rule 13", "a choice that is published late keeps its order", lateChoiceInOrder},
		{"rule 13", "a choice does not replace one that it does not know", laterChoice},
		{"rule 13", "chosen statuses are trimmed by age", chosenTrimmedByAge},
		{"rule 13", "chosen statuses are trimmed by number", chosenTrimmedByNumber},
	}
}

func secretCases() []ruleCase {
	return []ruleCase{
		{"rule 14", "the first offer is the fleet's secret", firstSecret},
	}
}

// choose publishes that a user chose a status, in place of the latest one.
func (tr *trial) choose(store backend.Store, id presence.UserID, s presence.Status) {
	tr.Helper()
	if err := tr.replace(store, tr.chosen(id), id, s); err != nil {
		tr.Fatalf("notify: %v", err)
	}
}

// replace publishes that a user chose a status in place of one of an order.
func (tr *trial) replace(store backend.Store, was backend.Order, id presence.UserID, s presence.Status) error {
	n := backend.StatusNotice(id, s)
	n.Order = was
	return store.Publish(tr.ctx, n)
}

// chosen returns the order of the latest choice of a user.
func (tr *trial) chosen(id presence.UserID) backend.Order {
	tr.Helper()
	kept, err := tr.store.Statuses(tr.ctx, id)
	if err != nil {
		tr.Fatalf("statuses: %v", err)
	}
	return kept[0].Order
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
			return c.Status == s && (c.Order != 0) == (s != "")
		})
		if err != nil || !same {
			tr.Errorf("got statuses %v and error %v, want %q, each with an order", got, err, want)
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
	if err := tr.store.Publish(tr.ctx, backend.SignOutNotice("u1")); err != nil {
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
		n := backend.StatusNotice(id, presence.Invisible)
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

// orders returns the orders of the statuses that a node has heard.
func (tr *trial) orders(store backend.Store, box *mailbox[backend.Notice]) (orders []backend.Order) {
	tr.Helper()
	if err := store.Hear(tr.ctx); err != nil {
		tr.Fatalf("hear: %v", err)
	}
	for _, n := range box.got() {
		orders = append(orders, n.Order)
	}
	return orders
}

// Rule 13: both nodes hear the same orders, which rise: also behind an order that another clock
// gave, and within one millisecond.
func choicesInOrder(tr *trial) {
	here, _ := tr.listen(tr.store)
	there, _ := tr.listen(tr.peer)
	tr.choose(tr.store, "u0", presence.Away)
	tr.choose(tr.peer, "u0", presence.Busy)
	tr.choose(tr.store, "u0", presence.Away)
	got := tr.orders(tr.store, here)
	if len(got) != 3 || got[0] <= 0 || got[1] <= got[0] || got[2] <= got[1] {
		tr.Fatalf("got orders %v, want three that rise", got)
	}
	ahead := got[2] + backend.Order(time.Hour/time.Microsecond)
	if err := tr.replace(tr.peer, ahead, "u0", presence.Invisible); err != nil {
		tr.Fatalf("notify: %v", err)
	}
	tr.choose(tr.store, "u0", presence.Online)
	if got = tr.orders(tr.store, here); len(got) != 5 || got[3] <= ahead || got[4] <= got[3] {
		tr.Errorf("got orders %v, want the last two behind %d", got, ahead)
	}
	if others := tr.orders(tr.peer, there); !slices.Equal(others, got) {
		tr.Errorf("got orders %v at the other node, want %v", others, got)
	}
	tr.wantChosen(presence.Online)
	if kept, err := tr.peer.Statuses(tr.ctx, "u0"); err != nil || kept[0].Order != got[4] {
		tr.Errorf("got %v and error %v kept, want order %d", kept, err, got[4])
	}
}

// Rule 13: a node that did not know of the latest choice asks, and publishes again. A call that
// arrives late, and whose caller has given up, changes nothing and tells nobody.
func laterChoice(tr *trial) {
	box, _ := tr.listen(tr.store)
	tr.choose(tr.store, "u0", presence.Away)
	was := tr.chosen("u0")
	tr.choose(tr.peer, "u0", presence.Busy)
	for _, overtaken := range []backend.Order{0, was} {
		if err := tr.replace(tr.store, overtaken, "u0", presence.Invisible); !errors.Is(err, presence.ErrLaterChoice) {
			tr.Errorf("got %v for a choice in place of %d, want ErrLaterChoice", err, overtaken)
		}
	}
	tr.wantChosen(presence.Busy)
	if got := tr.orders(tr.store, box); len(got) != 2 {
		tr.Errorf("got %d notices, want two", len(got))
	}
	tr.choose(tr.store, "u0", presence.Invisible)
	tr.wantChosen(presence.Invisible)
}

// Rule 13: nodes restore what a store lost by the order that it had, and not by how long each of
// them thinks that was ago.
func lateChoiceInOrder(tr *trial) {
	box, _ := tr.listen(tr.peer)
	tr.choose(tr.store, "u0", presence.Away)
	tr.choose(tr.store, "u0", presence.Busy)
	got := tr.orders(tr.peer, box)
	if len(got) != 2 {
		tr.Fatalf("got orders %v, want two", got)
	}
	for i, status := range []presence.Status{presence.Busy, presence.Away} {
		n := backend.StatusNotice("u1", status)
		n.Ago, n.Order = time.Second, got[1-i]
		if err := tr.peer.Publish(tr.ctx, n); err != nil {
			tr.Fatalf("notify: %v", err)
		}
	}
	if late := tr.orders(tr.peer, box); len(late) != 4 || late[2] != got[1] || late[3] != got[0] {
		tr.Errorf("got orders %v, want the last two reversed", late)
	}
	tr.wantChosen(presence.Busy, presence.Busy)
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
