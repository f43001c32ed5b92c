package main

import (
	"testing"
	"time"
)

func at(seconds float64, user string, there bool) shift {
	return shift{time.Duration(seconds * float64(time.Second)), user, there}
}

func TestJudge(t *testing.T) {
	const in, out = true, false
	for _, tt := range []struct {
		name         string
		truth, shown []shift
		failure, end float64
		want         verdict
	}{
		{"nothing happens", nil, nil, 0, 10, verdict{}},
		{"a join is late",
			[]shift{at(1, "a", in)}, []shift{at(3, "a", in)}, 1, 10,
			verdict{Right: 2, MissSeconds: 2, MostMissing: 1}},
		{"a leave is late",
			[]shift{at(1, "a", in), at(5, "a", out)}, []shift{at(1, "a", in), at(9, "a", out)}, 5, 20,
			verdict{Right: 4, GhostSeconds: 4}},
		{"a ghost stays",
			[]shift{at(1, "a", in), at(5, "a", out)}, []shift{at(1, "a", in)}, 5, 20,
			verdict{Right: never, Ghosts: 1, GhostSeconds: 15}},
		{"who is there is shown to leave, and comes again",
			[]shift{at(1, "a", in)}, []shift{at(1, "a", in), at(6, "a", out), at(8, "a", in)}, 5, 20,
			verdict{FalseLeaves: 1, Right: 3, MissSeconds: 2, MostMissing: 1}},
		{"a navigation is shown",
			[]shift{at(1, "a", in), at(5, "a", out), at(5.3, "a", in)},
			[]shift{at(1, "a", in), at(5, "a", out), at(5.3, "a", in)}, 5, 20,
			verdict{FalseLeaves: 1}},
		{"a navigation is not shown",
			[]shift{at(1, "a", in), at(5, "a", out), at(5.25, "a", in)},
			[]shift{at(1, "a", in)}, 5, 20,
			verdict{Right: .25, GhostSeconds: .25}},
		{"who was away for long is shown to leave before the return",
			[]shift{at(1, "a", in), at(5, "a", out), at(15, "a", in)},
			[]shift{at(1, "a", in), at(7, "a", out), at(15, "a", in)}, 5, 20,
			verdict{Right: 2, GhostSeconds: 2}},
		{"who was away for long is shown to leave after the return",
			[]shift{at(1, "a", in), at(5, "a", out), at(15, "a", in)},
			[]shift{at(1, "a", in), at(16, "a", out)}, 5, 20,
			verdict{FalseLeaves: 1, Right: never, Missing: 1, GhostSeconds: 10, MissSeconds: 4, MostMissing: 1}},
		{"what was wrong before the failure does not count",
			[]shift{at(1, "a", in)}, []shift{at(4, "a", in)}, 5, 20, verdict{}},
		{"what comes after the end does not count",
			[]shift{at(1, "a", in)}, []shift{at(21, "a", in)}, 5, 20,
			verdict{Right: never, Missing: 1, MissSeconds: 15, MostMissing: 1}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			second := func(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }
			got := judge(tt.truth, tt.shown, second(tt.failure), second(tt.end))
			got.Delays = delays{}
			if got != tt.want {
				t.Errorf("got %+v, want %+v", got, tt.want)
			}
		})
	}
}

func TestDelays(t *testing.T) {
	truth := []shift{at(1, "a", true), at(2, "b", true), at(5, "a", false), at(5.5, "a", true), at(7, "c", true)}
	shown := []shift{at(1.5, "a", true), at(4, "b", true)}
	// The short absence of a is not shown, so a does not come a second time. Nobody sees c.
	if got, want := delaysOf(truth, shown, 0, 10*time.Second), (delays{P50: 2, P99: 2, Shown: 2}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	// Only a came in the first two seconds.
	if got, want := delaysOf(truth, shown, 0, 2*time.Second), (delays{P50: .5, P99: .5, Shown: 1}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}
