package handlers_test

import (
	"slices"
	"testing"

	"github.com/rollcall-go/rollcall/handlers"
)

// A stream makes the moves of the table at its type, and no other.
func TestPhases(t *testing.T) {
	moves := []string{
		"open waiting", "open ending", "open gone",
		"waiting open", "waiting ending", "waiting gone",
		"ending gone",
	}
	for from, a := range handlers.Phases {
		for to, b := range handlers.Phases {
			move := a + " " + b
			if got, want := handlers.MovePhase(from, to), slices.Contains(moves, move); got != want {
				t.Errorf("%s: allowed: got %t, want %t", move, got, want)
			}
		}
	}
}
