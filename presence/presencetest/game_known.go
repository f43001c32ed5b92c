package presencetest

import (
	"slices"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
)

// knownGames are games that random play found and that failed once, made short, and some that
// are like them.
func knownGames() map[string][]move {
	const lease = 10_001 * time.Millisecond
	enter := func(h presence.Holder) backend.Op { return lasting(joinAs(presence.User{ID: "v"}, h), lease) }
	view := lasting(seenAs(presence.User{ID: "v"}), gameView)
	leave := func(h presence.Holder) backend.Op { return lasting(release("v", h), 5001*time.Millisecond) }
	say := func(h presence.Holder) backend.Op { return lasting(keep("v", h), lease) }
	batch := func(ops ...backend.Op) move { return move{topic: "site", ops: ops} }
	again := func(ops ...backend.Op) move { return move{topic: "site", ops: ops, twice: true} }
	long := lasting(joinAs(presence.User{ID: "v"}, "a.1"), 3*time.Minute)
	later, swept := move{kind: passes, by: 8 * time.Second}, move{kind: sweeps}

	minute := slices.Repeat([]move{later}, 8)

	hiding := lasting(seenAs(presence.User{ID: "v", Status: presence.Invisible}), gameView)
	second := move{kind: passes, by: time.Second}
	ago := func(op backend.Op) backend.Op { return past(op, time.Second) }

	return map[string][]move{
		// Rule 24: the grace of an idle page is idle, of an attended one not, and the second time
		// the page that ends may be the one that has come.
		"an idle page that comes back":          {batch(idly(enter("a.1"))), again(leave("a.1"), idly(enter("a.1"))), later, swept},
		"an idle page that comes back attended": {batch(idly(enter("a.1"))), again(leave("a.1"), enter("a.1")), again(idly(say("a.1"))), later, swept},
		"a page view, and then all are idle":    {batch(enter("a.1"), idly(enter("b.1"))), again(view), again(idly(say("a.1")), idly(say("b.1"))), later, swept},
		"a page that lapses leaves an idle one": {batch(enter("a.1")), later, batch(idly(enter("b.1"))), later, again(idly(say("b.1"))), swept},
		"an attended grace outlives its page":   {batch(enter("a.1"), idly(enter("b.1"))), again(leave("a.1")), later, swept},
		"an idle grace turns attended":          {batch(idly(enter("a.1")), leave("a.1")), batch(enter("b.1")), batch(view), batch(leave("b.1")), swept},
		"a keep finds a lease that has lapsed":  {batch(enter("b.1")), later, batch(idly(enter("a.1")), view), later, again(say("a.1")), swept},

		// Rule 7: a keep that makes a lease in place of one that has lapsed is a proof of life of now, also for less.
		"a keep for less finds a lease that has lapsed": {batch(enter("a.1")), later, batch(enter("b.1")), later, batch(lasting(say("a.1"), 5001*time.Millisecond)), later, later, swept},

		// Rule 16: a sign-out undoes the page view before it, and its minute too.
		"a page view and a sign-out of somebody who stays": slices.Concat([]move{batch(long)}, minute, []move{again(view, signOut("v"), enter("a.1"))}),

		// Rule 2: who has left in the step was last seen before, whatever comes invisible after that.
		"a connection that is dropped and an invisible page view": {batch(enter("a.1")), second, batch(drop("v", "a.1"), hiding)},
		"the same with a connection that comes and goes":          {batch(enter("a.1")), second, batch(drop("v", "a.1"), hiding, enter("b.1"), leave("b.1"))},
		"a page view in between that is visible":                  {batch(enter("a.1")), second, batch(drop("v", "a.1"), view, status("v", presence.Invisible))},
		"a sign-out and an invisible page view":                   {batch(view), batch(signOut("v"), hiding)},
		"an invisible page view after all leases lapsed":          {batch(enter("a.1")), later, second, second, second, batch(hiding, enter("b.1"), drop("v", "b.1"))},

		// Rule 21: who was last seen unseen, and turns seen, is told to have left at that moment.
		"an unseen user turns invisible a second ago, and then seen": {batch(enter("a.1")), second, batch(ago(status("v", hiddenUnseen)), ago(status("v", presence.Invisible)))},
	}
}
