package presencetest

import (
	"strings"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
)

func tabCases() []ruleCase {
	return []ruleCase{
		{"rule 6", "a closed tab is not online for minutes", closedTab},
		{"rule 6", "a page view after the stream opened keeps the user", viewAfterStream},
		{"rule 6", "a page that joins an open stream is held by it", pageJoinsStream},
		{"rule 6", "a page that joined earlier, and says so again, is before a later page view", pageJoinedEarlier},
		{"rule 6", "the grace goes on", graceGoesOn},
		{"rule 6", "a page view ends that is of before a sign-out, and no later one", viewBefore},
		{"rule 6", "in every order, by release", func(tr *trial) { everyOrder(tr, byRelease) }},
		{"rule 6", "in every order, by drop", func(tr *trial) { everyOrder(tr, byDrop) }},
		{"rule 6", "in every order, by lapse", func(tr *trial) { everyOrder(tr, byLapse) }},
		{"rule 6", "in every order, by a lapse that is swept late", func(tr *trial) { everyOrder(tr, byLateLapse) }},
		{"rule 6", "in every order, within one step", everyOrderAtOnce},
	}
}

// Rule 6: who tells late of a sign-out does not end a page view that came after it.
func viewBefore(tr *trial) {
	site := tr.follow(presence.Site)
	late := lasting(seen("late"), period-2*slack)
	late.ViewFor = period // viewed 10 s ago
	tr.do(presence.Site, seen("now"), late)
	site.wants("+late +now")
	tr.advance(2 * slack)
	before := func(ago time.Duration) {
		for _, id := range []presence.UserID{"now", "late"} {
			tr.do(presence.Site, lasting(drop(id, presence.HolderWeb), ago))
		}
	}
	before(5 * slack)
	site.wants("")
	before(3 * slack)
	site.wants("-late")
	before(slack)
	site.wants("-now")
}

// Rule 6: a page is viewed, opens a stream and closes. The user leaves after the grace,
// long before the page view's lease would end.
func closedTab(tr *trial) {
	site := tr.follow(presence.Site)
	tr.do(presence.Site, seen("released"), seen("dropped"), seen("lapsed"))
	tr.do(presence.Site, join("released", "a.1"), join("dropped", "a.2"), join("lapsed", "a.3"))
	site.wants("+dropped +lapsed +released")
	tr.do(presence.Site, release("released", "a.1"), drop("dropped", "a.2"))
	site.wants("-dropped")
	tr.pass(grace + slack)
	site.wants("-released")
	tr.pass(ttl - grace)
	site.wants("-lapsed")
}

// Rule 6: a page view that came after the stream opened holds the user.
func viewAfterStream(tr *trial) {
	site := tr.follow(presence.Site)
	tr.do(presence.Site, join("released", "a.1"), join("dropped", "a.2"), join("lapsed", "a.3"))
	tr.do(presence.Site, seen("released"), seen("dropped"), seen("lapsed"))
	tr.do(presence.Site, release("released", "a.1"), drop("dropped", "a.2"))
	tr.pass(ttl + slack)
	site.wants("+dropped +lapsed +released")
	tr.pass(period - ttl)
	site.wants("-dropped -lapsed -released")
}

// Rule 6: a second tab views a page and joins the first tab's stream. When both close, the
// user leaves after the grace. A page view that comes later counts.
func pageJoinsStream(tr *trial) {
	site := tr.follow(presence.Site)
	tr.do(presence.Site, join("closed", "a.1"), join("viewed", "a.2"), join("lapsed", "a.3"))
	tr.do(presence.Site, seen("closed"), seen("viewed"), seen("lapsed"))
	tr.do(presence.Site, attach("closed", "a.1"), attach("viewed", "a.2"), attach("lapsed", "a.3"))
	tr.do(presence.Site, seen("viewed"))
	tr.unknown([]int{0, 1}, presence.Site, attach("closed", "a.9"), attach("nobody", "a.1"))
	tr.do(presence.Site, release("closed", "a.1"), release("viewed", "a.2"))
	tr.pass(grace + slack)
	site.wants("+closed -closed +lapsed +viewed")
	tr.pass(ttl)
	site.wants("-lapsed")
	tr.pass(period)
	site.wants("-viewed")
}

// Rule 6: a store that lost its data gets a page view back after the connection that joined after
// it. The follow that is told again puts the connection behind that page view, and not behind a
// later one.
func pageJoinedEarlier(tr *trial) {
	site := tr.follow(presence.Site)
	tr.do(presence.Site, join("before", "a.1"), join("after", "a.2"))
	tr.do(presence.Site, seen("before"), seen("after"))
	tr.do(presence.Site, again("before", "a.1", period-time.Second), again("after", "a.2", period+time.Second))
	tr.do(presence.Site, seen("joined before"), seen("joined after"))
	early, late := join("joined before", "a.3"), join("joined after", "a.4")
	early.ViewFor, late.ViewFor = period-time.Second, period+time.Second
	tr.do(presence.Site, early, late)
	tr.do(presence.Site, release("before", "a.1"), release("after", "a.2"), release("joined before", "a.3"), release("joined after", "a.4"))
	tr.pass(grace + slack)
	site.wants("+after -after +before +joined after -joined after +joined before")
	tr.pass(period)
	site.wants("-before -joined before")
}

// Rule 6: the older page view ends with the last connection, also while the grace of a
// connection released before still holds.
func graceGoesOn(tr *trial) {
	site := tr.follow(presence.Site)
	tr.do(presence.Site, seen("u"))
	tr.do(presence.Site, join("u", "a.1"), join("u", "a.2"))
	tr.do(presence.Site, release("u", "a.1"))
	tr.do(presence.Site, drop("u", "a.2"))
	tr.pass(grace - slack)
	site.wants("+u")
	tr.pass(2 * slack)
	site.wants("-u")
}

// How the connections of everyOrder end.
const (
	byRelease = iota
	byDrop
	byLapse
	byLateLapse // and no sweep comes before the end
)

// slot is the time between two events of everyOrder.
const slot = 2 * grace

// everyOrder plays all orders of a page view and of two connections that open and close,
// one user for each order. Rule 6 says which users are online after the grace.
func everyOrder(tr *trial, ending int) {
	orders := tabOrders()
	for i := range orders[0] {
		var ops []backend.Op
		for _, o := range orders {
			ops = append(ops, tabOp(o, i, ending)...)
		}
		tr.do(presence.Site, ops...)
		tr.advance(slot)
		if ending != byLateLapse {
			tr.sweep()
		}
	}
	tr.sweep()
	tr.wantOnline(presence.Site, survivors(orders))
	tr.pass(period)
	tr.wantOnline(presence.Site, "")
}

// tabOp is what happens in an order's i-th slot.
func tabOp(order string, i, ending int) []backend.Op {
	id, event := presence.UserID(order), order[i]
	holder := presence.Holder("a." + strings.ToLower(order[i:i+1]))
	switch {
	case event == 'w':
		return []backend.Op{seen(id)}
	case isOpening(event) && ending >= byLapse: // it ends half a slot before its closing is due
		closing := strings.IndexByte(order, event-'a'+'A')
		return []backend.Op{lasting(join(id, holder), time.Duration(closing-i)*slot-slot/2)}
	case isOpening(event):
		return []backend.Op{lasting(join(id, holder), period)}
	case ending == byRelease:
		return []backend.Op{release(id, holder)}
	case ending == byDrop:
		return []backend.Op{drop(id, holder)}
	}
	return nil
}

func isOpening(event byte) bool { return event == 'a' || event == 'b' }

// everyOrderAtOnce plays the same orders, each in one step: a user who came and left in it
// is not announced.
func everyOrderAtOnce(tr *trial) {
	site := tr.follow(presence.Site)
	orders := tabOrders()
	for _, order := range orders {
		var ops []backend.Op
		for i := range order {
			ops = append(ops, tabOp(order, i, byDrop)...)
		}
		tr.do(presence.Site, ops...)
	}
	var want []string
	for _, name := range strings.Fields(survivors(orders)) {
		want = append(want, "+"+name)
	}
	site.wants(strings.Join(want, " "))
}

// tabOrders returns each order of a page view w, of the opening a and b of two
// connections, and of their closing A and B. Sorted, since the letters are.
func tabOrders() []string {
	var orders []string
	var extend func(order, rest string)
	extend = func(order, rest string) {
		if rest == "" {
			orders = append(orders, order)
		}
		for i, event := range rest {
			if event < 'a' && !strings.ContainsRune(order, event-'A'+'a') {
				continue // closing comes after opening
			}
			extend(order+string(event), rest[:i]+rest[i+1:])
		}
	}
	extend("", "ABabw")
	return orders
}

// survivors returns, by rule 6 alone, the users online after both connections closed: those
// who viewed a page after the last one to close had opened.
func survivors(orders []string) string {
	var names []string
	for _, order := range orders {
		web, opened := -1, map[rune]int{}
		for i, event := range order {
			switch {
			case event == 'w':
				web = i
			case isOpening(byte(event)):
				opened[event] = i
			default:
				last := opened[event-'A'+'a']
				delete(opened, event-'A'+'a')
				if len(opened) == 0 && web < last {
					web = -1
				}
			}
		}
		if web >= 0 {
			names = append(names, order)
		}
	}
	return strings.Join(names, " ")
}
