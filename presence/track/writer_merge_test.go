package track

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/rollcall-go/rollcall/presence"
)

// A page closes while its join is being written, which then waits for what its user chose. The end is the later word.
func TestAnEndBehindABlockedJoin(t *testing.T) {
	for _, how := range []string{"the choice is known", "another cell comes"} {
		w := newWriter(&counters{})
		w.put(presence.Site, cell{member: "alice", pages: leaseCell{need: toMake}})
		taken := w.take()[presence.Site].cells["alice"][0]
		w.put(presence.Site, cell{member: "alice", pages: leaseCell{end: &leaseEnd{at: time.Now(), how: leaving}}}) // meanwhile
		w.block(presence.Site, &cell{member: "alice", pages: taken.pages})
		if how == "the choice is known" {
			w.unblock("alice")
		} else {
			w.put(presence.Site, cell{member: "alice", choice: true})
		}
		if w.topics[presence.Site].cells["alice"][0].pages.end == nil {
			t.Errorf("%s: the end is lost", how)
		}
	}
}

// Cells of one member may be merged in any order, and several times: they are the same cell in the end.
func TestCellsMergeInAnyOrder(t *testing.T) {
	now := time.Now()
	for seed := range uint64(20_000) {
		r := rand.New(rand.NewPCG(seed, 1))
		some := make([]cell, 2+r.IntN(4))
		for i := range some {
			some[i] = randomCell(r, now)
		}
		var one, other cell
		for _, c := range some {
			one.merge(c)
		}
		for _, i := range append(r.Perm(len(some)), r.Perm(len(some))...) {
			other.merge(some[i])
		}
		if got, want := fmt.Sprint(linesOf(other, now)), fmt.Sprint(linesOf(one, now)); got != want {
			t.Fatalf("seed %d: got %s in one order, and %s in another", seed, got, want)
		}
	}
}

// randomCell returns a cell with some parts. Its moments are full seconds, and differ from those of most others.
func randomCell(r *rand.Rand, now time.Time) (c cell) {
	at := func() time.Time { return now.Add(time.Duration(r.IntN(1000)) * time.Second) }
	lease := func() (l leaseCell) {
		l.need, l.silent = need(r.IntN(4)), r.IntN(4) == 0
		if r.IntN(2) == 0 {
			end := leaseEnd{at: at(), how: ending(r.IntN(4))}
			if end.how == graced || end.how == givenUp {
				end.grace = time.Duration(1+r.IntN(3)) * 10 * time.Second
				end.until = end.at.Add(end.grace)
			}
			l.end = &end
		}
		return l
	}
	c.pages, c.visits, c.choice = lease(), lease(), r.IntN(2) == 0
	if r.IntN(2) == 0 {
		c.view = &viewCell{at: at()}
	}
	for _, out := range []*time.Time{&c.out, &c.off} {
		if r.IntN(4) == 0 {
			*out = at()
		}
	}
	return c
}

// linesOf returns what the parts of a cell say.
func linesOf(c cell, now time.Time) (lines []string) {
	after := func(at time.Time) string {
		if at.IsZero() {
			return "-"
		}
		return at.Sub(now).String()
	}
	for _, l := range []leaseCell{c.pages, c.visits} {
		lines = append(lines, fmt.Sprint(l.need, l.silent))
		if l.end != nil {
			lines = append(lines, after(l.end.at), after(l.end.until))
		}
	}
	if c.view != nil {
		lines = append(lines, after(c.view.at))
	}
	return append(lines, after(c.out), after(c.off), fmt.Sprint(c.choice))
}
