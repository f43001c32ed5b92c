package presencetest

import (
	"fmt"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
)

func peakCases() []ruleCase {
	return []ruleCase{
		{"rule 9", "the record grows in the step that makes more users online", peakGrows},
		{"rule 9", "of a step its end counts", peakOfStep},
		{"rule 9", "invisible users, guests and bots do not count", peakOfVisible},
		{"rule 9", "with PeakGuests the guests count too", peakWithGuests},
		{"rule 9", "with PeakGuests many guests count as in Counts", peakWithManyGuests},
		{"rule 9", "nodes race to the record", peakRace},
		{"rule 9", "a topic that does not ask for a record has none", peakOff},
		{"rule 9", "records and bots answer in the order asked", keptInOrder},
	}
}

// many returns one operation for each of many users.
func many(from, to int, op func(presence.UserID, presence.Holder) backend.Op) (ops []backend.Op) {
	for i := from; i < to; i++ {
		ops = append(ops, op(ghost(i), ghostHolder(i)))
	}
	return ops
}

// Rule 9: equal and smaller numbers leave it alone, also when it is reached again.
func peakGrows(tr *trial) {
	tr.keep.Peak = true
	if p := tr.counts(presence.Site).Peak; p != (backend.Peak{}) {
		tr.Errorf("at first the record is %+v, want none", p)
	}
	tr.do(presence.Site, many(0, 2, join)...)
	tr.advance(slack)
	at := tr.now()
	tr.do(presence.Site, seen("u"))
	for range 2 {
		if p := tr.wantPeak(presence.Site, 3, at); !p.Since.IsZero() {
			tr.Errorf("the record began at %v, want no time: it was never started anew", p.Since)
		}
		tr.advance(2 * slack)
		tr.do(presence.Site, many(0, 2, drop)...)
		tr.do(presence.Site, many(0, 2, join)...)
		tr.do(presence.Site, seen("u"), update(full("u")))
	}
	later := tr.now()
	tr.do(presence.Site, lasting(join("v", "a.1"), ttl))
	tr.wantPeak(presence.Site, 4, later)
	tr.pass(period + slack)
	tr.do(presence.Site, many(0, 3, join)...)
	tr.wantPeak(presence.Site, 4, later)
	if p := tr.counts("thread:1").Peak; p != (backend.Peak{}) {
		tr.Errorf("the record of another topic is %+v, want none", p)
	}
}

// Rules 2 and 9: ten join and ten leave in one step, in any order.
func peakOfStep(tr *trial) {
	tr.keep.Peak = true
	at := tr.now()
	tr.do(presence.Site, many(0, 10, join)...)
	tr.advance(2 * slack)
	tr.do(presence.Site, append(many(10, 20, join), many(0, 10, drop)...)...)
	tr.do(presence.Site, append(many(10, 20, drop), many(0, 10, join)...)...)
	tr.do(presence.Site, append(many(20, 30, join), many(20, 30, drop)...)...)
	var mixed []backend.Op
	for i := range 10 {
		mixed = append(mixed, join(ghost(50+i), ghostHolder(50+i)), drop(ghost(i), ghostHolder(i)))
	}
	tr.do(presence.Site, mixed...)
	tr.wantPeak(presence.Site, 10, at)
	at = tr.now()
	tr.do(presence.Site, append(many(0, 11, join), many(50, 60, drop)...)...)
	tr.wantPeak(presence.Site, 11, at)
}

// Rules 2 and 9: who becomes visible counts then.
func peakOfVisible(tr *trial) {
	tr.keep.Peak = true
	tr.do(presence.Site, join("u", "a.1"), join("u", "a.2"), seen("u"), joinAs(invisible("v"), "a.3"))
	tr.do(presence.Site, guest("g"), guest("h"), bot("b", "Bingbot"), bot("c", "Bingbot"))
	tr.wantPeak(presence.Site, 1, tr.now())
	tr.do(presence.Site, seenAs(invisible("w")), status("w", presence.Away), status("w", presence.Invisible))
	tr.wantPeak(presence.Site, 1, tr.now())
	tr.advance(2 * slack)
	at := tr.now()
	tr.do(presence.Site, status("v", presence.Away))
	tr.wantPeak(presence.Site, 2, at)
	tr.do(presence.Site, status("u", presence.Invisible), status("w", presence.Online))
	tr.wantPeak(presence.Site, 2, at)
}

// Rules 8 and 9: in the step that counts the guest. A guest who signs in is one user
// more and one guest less.
func peakWithGuests(tr *trial) {
	tr.keep = presence.Keep{Peak: true, PeakGuests: true}
	at := tr.now()
	tr.do(presence.Site, join("u", "a.1"), guest("g"), guest("h"), guest("h"), bot("b", "Bingbot"))
	tr.wantPeak(presence.Site, 3, at)
	tr.advance(2 * slack)
	tr.do(presence.Site, forget("g"), seen("v"))
	tr.do(presence.Site, guest("h"), forget("h"), join("w", "a.2"))
	tr.wantPeak(presence.Site, 3, at)
	at = tr.now()
	tr.do(presence.Site, guest("i"))
	tr.wantPeak(presence.Site, 4, at)
	tr.advance(2 * slack)
	tr.keep.PeakGuests = false
	tr.do(presence.Site, join("x", "a.3"))
	tr.wantPeak(presence.Site, 4, at)
	at = tr.now()
	tr.do(presence.Site, join("y", "a.4"))
	tr.wantPeak(presence.Site, 5, at)
}

// Rules 8 and 9: up to the bound exactly, beyond it the estimate.
func peakWithManyGuests(tr *trial) {
	tr.keep = presence.Keep{Peak: true, PeakGuests: true}
	tr.do(presence.Site, join("u", "a.1"))
	total := func() int { return tr.counts(presence.Site).Peak.Total }
	for n := 0; n < backend.ExactGuests; n += 64 {
		tr.do(presence.Site, guests(guest, n, n+64)...)
		if got := total(); got != n+65 {
			tr.Errorf("with %d guests and a user the record is %d", n+64, got)
		}
	}
	for n := backend.ExactGuests; n < 2*backend.ExactGuests; n += 64 {
		tr.do(presence.Site, guests(guest, n, n+64)...)
		if c := tr.counts(presence.Site); total() < c.Guests+c.Total || total() > (n+65)*103/100 {
			tr.Errorf("with about %d guests the record is %d, and the figures are %+v", n+64, total(), c)
		}
	}
}

// Rules 2 and 9: users come and go on several nodes. The record is the greatest total
// that a diff told, neither more nor less.
func peakRace(tr *trial) {
	tr.keep.Peak = true
	site := tr.follow(presence.Site)
	most := 0
	for round := range 5 {
		tr.nodes(func(node int, store backend.Store) {
			for i := range 10 {
				id := presence.UserID(fmt.Sprintf("n%d.%d", node, i%(2+round)))
				tr.apply(store, presence.Site, join(id, "a.1"))
				if (i+node)%3 > 0 {
					tr.apply(store, presence.Site, drop(id, "a.1"))
				}
			}
		})
		for _, d := range site.read() {
			most = max(most, d.Total)
		}
		if got := tr.counts(presence.Site).Peak.Total; got != most {
			tr.Errorf("round %d: the record is %d, and the diffs told %d at most", round, got, most)
		}
	}
	tr.nodes(func(node int, store backend.Store) {
		for i := range 25 {
			tr.apply(store, presence.Site, join(ghost(25*node+i), ghostHolder(i)))
		}
	})
	total := tr.counts(presence.Site).Total
	if got := tr.counts(presence.Site).Peak.Total; got != total {
		tr.Errorf("after a hundred joins at once the record is %d, want %d", got, total)
	}
}

// Rule 9: Keep is of each topic. A record that is there neither grows nor goes when the
// site asks for none any more.
func peakOff(tr *trial) {
	remembered := backend.Peak{Total: 9, At: tr.now()}
	tr.do(presence.Site, join("u", "a.1"), peak(remembered), resetPeak)
	if p := tr.counts(presence.Site).Peak; p != (backend.Peak{}) {
		tr.Errorf("the record is %+v, want none", p)
	}
	tr.keep.Peak = true
	at := tr.now()
	tr.do(presence.Site, join("v", "a.2"))
	tr.keep.Peak = false
	tr.advance(2 * slack)
	tr.do(presence.Site, join("w", "a.3"), peak(remembered), resetPeak)
	tr.wantPeak(presence.Site, 2, at)
}

// Each topic gets an answer, also an unknown one, and one that is named twice.
func keptInOrder(tr *trial) {
	tr.keep.Peak = true
	var topics []presence.Topic
	for i := range 30 {
		topic := presence.Topic(fmt.Sprintf("thread:%d", i))
		if i%2 == 0 {
			tr.do(topic, many(0, i+1, join)...)
		} else {
			tr.do(topic, bot("b", fmt.Sprint("Bot-", i)))
		}
		topics = append(topics, topic, "thread:unknown", "thread:1")
	}
	got, err := tr.peer.Counts(tr.ctx, topics...)
	if err != nil || len(got) != len(topics) {
		tr.Fatalf("got %d figures and error %v, want %d", len(got), err, len(topics))
	}
	for i, topic := range topics {
		var n int
		_, _ = fmt.Sscanf(string(topic), "thread:%d", &n)
		wantTotal, wantBots := 0, ""
		switch {
		case topic == "thread:unknown":
		case n%2 == 0:
			wantTotal = n + 1
		default:
			wantBots = fmt.Sprintf("Bot-%d:1", n)
		}
		if got[i].Peak.Total != wantTotal || botWords(got[i].Bots) != wantBots {
			tr.Errorf("%s: got %+v, want a record of %d and the bots %q", topic, got[i], wantTotal, wantBots)
		}
	}
	if got, err := tr.store.Counts(tr.ctx); err != nil || len(got) != 0 {
		tr.Errorf("of no topic: got %+v and error %v, want nothing", got, err)
	}
}
