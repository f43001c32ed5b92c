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
