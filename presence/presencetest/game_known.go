package presencetest

import (
	"slices"
	"time"

	"github.com/rollcall-go/rollcall/presence"
)

// knownGames are games that random play found and that failed once, made short, and some that
// are like them.
func knownGames() map[string][]move {
	const lease = 10_001 * time.Millisecond
	enter := func(h presence.Holder) presence.Op { return lasting(joinAs(presence.User{ID: "v"}, h), lease) }
	view := lasting(seenAs(presence.User{ID: "v"}), gameView)
	leave := func(h presence.Holder) presence.Op { return lasting(release("v", h), 5001*time.Millisecond) }
	batch := func(ops ...presence.Op) move { return move{topic: "site", ops: ops} }
	again := func(ops ...presence.Op) move { return move{topic: "site", ops: ops, twice: true} }
	long := lasting(joinAs(presence.User{ID: "v"}, "a.1"), 3*time.Minute)
	later, swept := move{kind: passes, by: 8 * time.Second}, move{kind: sweeps}

	minute := slices.Repeat([]move{later}, 8)

	// What rule 12 says of a batch in which connections begin and end.
	return map[string][]move{
		"a connection that ends and begins after a page view": {batch(enter("b.1"), view), again(leave("b.1"), enter("b.1")), later, swept, later, swept},
		"one more that comes and goes, and then the last":     {batch(enter("a.1"), view), again(enter("b.1"), leave("b.1"), leave("a.1")), later, swept},
		"a page view that is followed at once by its end":     {batch(enter("a.1")), again(view, lasting(attach("v", "a.1"), lease), leave("a.1")), later, swept},

		// Rule 16: a sign-out undoes the page view before it, and its minute too.
		"a page view and a sign-out of somebody who stays": slices.Concat([]move{batch(long)}, minute, []move{again(view, signOut("v"), enter("a.1"))}),
	}
}
