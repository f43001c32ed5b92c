package track

import (
	"cmp"
	"strings"

	"github.com/rollcall-go/rollcall/presence"
)

// FullestFirst compares places in the order of [Tracker.Places]: by Total and by Guests,
// the most first, and equal ones by Topic.
func FullestFirst(a, b presence.Place) int {
	return cmp.Or(cmp.Compare(b.Total, a.Total), cmp.Compare(b.Guests, a.Guests), strings.Compare(string(a.Topic), string(b.Topic)))
}
