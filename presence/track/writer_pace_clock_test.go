package track

import (
	"strings"
	"testing"
	"time"
)

// When a topic is written next is a moment of the monotonic clock. A system clock that is set
// back would otherwise hold up what is to be written for as long.
func TestPaceHasTheMonotonicClock(t *testing.T) {
	due := pace{}.wrote(1000, time.Now()).next()
	if !strings.Contains(due.String(), " m=") {
		t.Errorf("got %v, want a reading of the monotonic clock", due)
	}
}
