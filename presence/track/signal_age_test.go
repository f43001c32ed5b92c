package track_test

import (
	"testing"
	"time"

	"github.com/rollcall-go/rollcall/presence/track"
)

// What stalls held up is no sign of another clock. A clock that was turned is taken as it is after
// ten seconds.
func TestAgesOfBroadcasts(t *testing.T) {
	var ages track.BroadcastAges
	began := time.Now()
	for _, tt := range []struct {
		sent, heard time.Duration // after began
		late        bool
	}{
		{0, 0, false},
		{10 * time.Second, 30 * time.Second, true},         // a stall
		{30 * time.Second, 50500 * time.Millisecond, true}, // another one, as long by chance
		{50 * time.Second, 60 * time.Second, true},         // a third one
		{61 * time.Second, 61 * time.Second, false},
		{62 * time.Second, 72 * time.Second, true}, // a stall of two broadcasts
		{62500 * time.Millisecond, 72 * time.Second, true},
		{75 * time.Second, 84800 * time.Millisecond, true}, // another stall, as long by chance
		{85 * time.Second, 85 * time.Second, false},
		{70 * time.Second, 90 * time.Second, true}, // the clock was turned back by 20 s
		{75 * time.Second, 95 * time.Second, true},
		{75500 * time.Millisecond, 95500 * time.Millisecond, true},
		{81 * time.Second, 101 * time.Second, false},
		{82 * time.Second, 102 * time.Second, false},
	} {
		if late := ages.TooLate("a", began.Round(0).Add(tt.sent), began.Add(tt.heard)); late != tt.late {
			t.Errorf("sent after %v and heard after %v: got too late %v, want %v", tt.sent, tt.heard, late, tt.late)
		}
	}
}
