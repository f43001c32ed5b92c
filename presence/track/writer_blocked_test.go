package track

import (
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

// Of two ends of pages the later one counts, in whatever order they come. Of two graces the longer one does.
func TestTheLaterEndCounts(t *testing.T) {
	now := time.Now()
	end := func(at int, how ending, grace time.Duration) *leaseEnd {
		e := &leaseEnd{at: now.Add(time.Duration(at) * time.Second), how: how, grace: grace}
		if grace > 0 {
			e.until = e.at.Add(grace)
		}
		return e
	}
	for name, tc := range map[string]struct {
		one, two *leaseEnd
		how      ending
		until    int // seconds after now, 0: no grace
	}{
		"a drop after a grace":           {end(0, graced, 10*time.Second), end(1, dropped, 0), dropped, 0},
		"a grace after a drop":           {end(0, dropped, 0), end(1, graced, 10*time.Second), graced, 11},
		"a shorter grace after a longer": {end(0, graced, 30*time.Second), end(1, graced, 10*time.Second), graced, 30},
		"a longer grace after a shorter": {end(0, graced, 10*time.Second), end(1, graced, 30*time.Second), graced, 31},
	} {
		for _, got := range []*leaseEnd{tc.one.merge(tc.two), tc.two.merge(tc.one)} {
			until := 0
			if !got.until.IsZero() {
				until = int(got.until.Sub(now).Seconds())
			}
			if got.how != tc.how || until != tc.until || !got.at.Equal(now.Add(time.Second)) {
				t.Errorf("%s: got %+v", name, got)
			}
		}
	}
}
