package presencetest

import (
	"fmt"
	"strings"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
)

func botCases() []ruleCase {
	return []ruleCase{
		{"rule 8", "bots count by name, apart from all others", botsApart},
		{"rule 8", "a bot counts once in the window", botUnion},
		{"rule 8", "after two periods without a call there are none", botTwoPeriods},
		{"rule 8", "a bot has the name that it said last", botRenamed},
		{"rule 8", "bots over the bound share places", botBound},
		{"rule 8", "a bad name is not counted", botNames},
		{"rule 8", "bots come on several nodes at once", botsAtOnce},
	}
}

// Rule 8: bots are in no roster, no diff, no count and no list of names. Keep
// plays no role.
func botsApart(tr *trial) {
	site := tr.follow(presence.Site)
	if bots := tr.counts(presence.Site).Bots; bots != nil {
		tr.Errorf("at first the bots are %v, want nil", bots)
	}
	tr.do(presence.Site, bot("a", "Googlebot"), bot("b", "Bingbot"), bot("c", "Googlebot"), bot("a", "Googlebot"))
	tr.keep = presence.Keep{Names: 10, Peak: true, PeakGuests: true, Active: true}
	tr.do(presence.Site, bot("b", "Bingbot"), bot("d", "Bot of (x) v1.0; +https://a.b/"))
	tr.do("thread:1", bot("a", "Googlebot"))
	tr.wantBots(presence.Site, "Bingbot:1 Bot of (x) v1.0; +https://a.b/:1 Googlebot:2")
	tr.wantBots("thread:1", "Googlebot:1")
	tr.wantBots("thread:2", "")
	tr.wantOnline(presence.Site, "")
	tr.wantRecent(presence.Site, 0, 0)
	tr.wantNames(presence.Site, 0, "")
	site.wants("")
	tr.do(presence.Site, guest("a"), seen("b"), forget("a"), forget("c"), signOut("b"))
	tr.wantBots(presence.Site, "Bingbot:1 Bot of (x) v1.0; +https://a.b/:1 Googlebot:2")
}

// Rule 8: the window is the current and the old period.
func botUnion(tr *trial) {
	tr.do(presence.Site, bot("a", "A"), bot("b", "A"))
	tr.turn()
	tr.do(presence.Site, bot("b", "A"), bot("c", "C"))
	tr.wantBots(presence.Site, "A:2 C:1")
	tr.turn()
	tr.wantBots(presence.Site, "A:1 C:1")
	tr.turn()
	if bots := tr.counts(presence.Site).Bots; bots != nil {
		tr.Errorf("afterwards the bots are %v, want nil", bots)
	}
}

// Rule 8: no cron ran for long.
func botTwoPeriods(tr *trial) {
	tr.do(presence.Site, bot("a", "A"))
	tr.advance(2*period + slack)
	tr.age()
	tr.wantBots(presence.Site, "")
}

// Rule 8: in whichever period.
func botRenamed(tr *trial) {
	tr.do(presence.Site, bot("a", "A"), bot("b", "A"), bot("a", "B"))
	tr.wantBots(presence.Site, "A:1 B:1")
	tr.turn()
	tr.do(presence.Site, bot("b", "C"))
	tr.wantBots(presence.Site, "B:1 C:1")
}

// Rule 8: bots that are counted stay counted, a bot with many ids is counted whoever came first, and after the
// window there is room again.
func botBound(tr *trial) {
	bots := func(from, to int) (ops []backend.Op) {
		for i := from; i < to; i++ {
			ops = append(ops, bot(fmt.Sprint("bot-", i), fmt.Sprint("Bot", i%2)))
		}
		return ops
	}
	all := fmt.Sprintf("Bot0:%d Bot1:%d", backend.MaxBots/2, backend.MaxBots/2)
	tr.do(presence.Site, bots(0, backend.MaxBots-6)...)
	tr.turn()
	tr.do(presence.Site, bots(10, 50)...)
	tr.do(presence.Site, bots(backend.MaxBots-6, backend.MaxBots)...)
	tr.wantBots(presence.Site, all)
	tr.do(presence.Site, bots(50, 60)...)
	tr.wantBots(presence.Site, all)
	var many []backend.Op
	places := make(map[string]bool)
	for i := range 200 {
		id := fmt.Sprint("many-", i)
		many, places[backend.SharedBot(id)] = append(many, bot(id, "Many")), true
	}
	tr.do(presence.Site, many...)
	tr.do(presence.Site, many[10:20]...)
	tr.wantBots(presence.Site, fmt.Sprint(all, " Many:", len(places)))
	tr.do("thread:1", bot("late", "Late"))
	tr.wantBots("thread:1", "Late:1")
	tr.turn()
	tr.wantBots(presence.Site, fmt.Sprint("Bot0:28 Bot1:28 Many:", len(places)))
	tr.do(presence.Site, bot(many[0].Guest, "Late"))
	tr.turn()
	tr.wantBots(presence.Site, "Late:1")
}

// Rule 8: such an operation changes nothing, and does not fail.
func botNames(tr *trial) {
	long := strings.Repeat("x", backend.MaxBotName)
	for _, name := range []string{"", long + "x", "a\"b", "it's", "a\\b", "a\nb", "a\x00b", "Bö", "\xff", "\x7f"} {
		tr.do(presence.Site, bot("a", name), bot("a", "Good"), bot("a", name))
		tr.wantBots(presence.Site, "Good:1")
		tr.do(presence.Site, bot("b", name))
		tr.wantBots(presence.Site, "Good:1")
	}
	for _, name := range []string{long, " ", "~", "{}", "<b>", "$1%s"} {
		tr.do(presence.Site, bot("a", name))
		tr.wantBots(presence.Site, name+":1")
	}
}

// Rules 3 and 8: all nodes see the same crawlers.
func botsAtOnce(tr *trial) {
	tr.nodes(func(node int, store backend.Store) {
		for i := range backend.MaxBots {
			tr.apply(store, presence.Site, bot(fmt.Sprint("bot-", (i*7+node)%300), "Bot"))
		}
	})
	tr.wantBots(presence.Site, "Bot:300")
}
