package redisstore

import "testing"

// The list is used only while it is complete and agrees with the sketches.
func TestGuestsOf(t *testing.T) {
	for _, tt := range []struct{ listed, sketched, want int }{
		{0, 0, 0},
		{12, 13, 12}, // a sketch may be off
		{12, 40, 40}, // the list lost guests
		{40, 12, 12}, // the sketches did
		{512, 520, 512},
		{513, 520, 520}, // more than the list may hold
		{1, 900, 900},   // the mark of a period with many
	} {
		if got := guestsOf(tt.listed, tt.sketched); got != tt.want {
			t.Errorf("%d listed, %d by the sketches: got %d, want %d", tt.listed, tt.sketched, got, tt.want)
		}
	}
}
