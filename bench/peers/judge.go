package main

import (
	"cmp"
	"math"
	"slices"
	"time"
)

// A shift is a moment at which a user comes or goes: in truth, or in the list of a page.
type shift struct {
	At    time.Duration // since the scenario began
	User  string
	There bool
}

// reload is the longest absence that nobody should see: a navigation, a reload, or a page that
// finds another node after its own has died.
const reload = 5 * time.Second

// A verdict says how a list differed from the truth.
type verdict struct {
	// FalseLeaves counts how often somebody was shown to leave who was there, or away for less
	// than reload.
	FalseLeaves int
	// Right is the time from the failure until the list was right for good. Negative: it was
	// wrong at the end.
	Right float64 // seconds
	// Ghosts are users who were shown and away, Missing those who were there and not shown.
	Ghosts, Missing           int     // at the end
	MostMissing               int     // at one time after the failure
	GhostSeconds, MissSeconds float64 // users × seconds, after the failure
	Delays                    delays  // until somebody's coming was shown, of those who came after the failure
}

// delays are percentiles in seconds.
type delays struct {
	P50, P99 float64
	Shown    int
}

// never is the time of what did not happen.
const never = -1

// judge compares what a list showed with the truth, from a failure until the end.
func judge(truth, shown []shift, failure, end time.Duration) (v verdict) {
	v.Delays = delaysOf(truth, shown, failure, end)
	for _, s := range shown {
		if !s.There && failure <= s.At && s.At <= end && !away(truth, s.User, s.At) {
			v.FalseLeaves++
		}
	}
	all := make([]judged, 0, len(truth)+len(shown))
	for _, s := range truth {
		all = append(all, judged{s, false})
	}
	for _, s := range shown {
		all = append(all, judged{s, true})
	}
	slices.SortStableFunc(all, func(a, b judged) int { return cmp.Compare(a.At, b.At) })
	var (
		there, listed = map[string]bool{}, map[string]bool{}
		now           time.Duration
		right         = failure     // since when the list is right
		wrong         time.Duration // since when it is wrong, if it is
	)
	advance := func(to time.Duration) {
		if span := (to - max(now, failure)).Seconds(); span > 0 {
			v.GhostSeconds += float64(v.Ghosts) * span
			v.MissSeconds += float64(v.Missing) * span
			v.MostMissing = max(v.MostMissing, v.Missing)
		}
		now = to
	}
	for _, s := range all {
		if s.At > end {
			break
		}
		advance(s.At)
		before := v.Ghosts + v.Missing
		set := there
		if s.page {
			set = listed
		}
		v.Ghosts -= count(listed[s.User] && !there[s.User])
		v.Missing -= count(there[s.User] && !listed[s.User])
		set[s.User] = s.There
		v.Ghosts += count(listed[s.User] && !there[s.User])
		v.Missing += count(there[s.User] && !listed[s.User])
		switch after := v.Ghosts + v.Missing; {
		case before == 0 && after > 0:
			wrong = s.At
		case before > 0 && after == 0 && s.At > wrong:
			right = max(failure, s.At)
		}
	}
	advance(end)
	v.Right = millis((right - failure).Seconds())
	v.GhostSeconds, v.MissSeconds = millis(v.GhostSeconds), millis(v.MissSeconds)
	if v.Ghosts+v.Missing > 0 {
		v.Right = never
	}
	return v
}

// millis rounds seconds to a thousandth.
func millis(s float64) float64 { return math.Round(s*1000) / 1000 }

// A judged shift is one of the page or one of the truth.
type judged struct {
	shift
	page bool
}

func count(b bool) int {
	if b {
		return 1
	}
	return 0
}

// away reports whether a user was away at a time, for reload or longer.
func away(truth []shift, user string, at time.Duration) bool {
	left, gone := time.Duration(0), true // nobody is there at the beginning
	for _, s := range truth {
		if s.User != user {
			continue
		}
		if s.At > at {
			// The next shift after at ends the absence.
			return gone && s.At-left >= reload
		}
		left, gone = s.At, !s.There
	}
	return gone
}

// delaysOf returns how long it took until those were shown who came between two times. Who was
// not shown while there is not in it.
func delaysOf(truth, shown []shift, from, to time.Duration) (d delays) {
	listed := map[string][]shift{}
	for _, s := range shown {
		listed[s.User] = append(listed[s.User], s)
	}
	var took []float64
	for i, s := range truth {
		if !s.There || s.At < from || s.At >= to {
			continue
		}
		until := time.Duration(1<<63 - 1)
		for _, later := range truth[i+1:] {
			if later.User == s.User {
				until = later.At
				break
			}
		}
		before := false // shown already, since a short absence was not
		for _, l := range listed[s.User] {
			if l.At <= s.At {
				before = l.There
			} else if l.There && l.At < until && !before {
				took = append(took, (l.At - s.At).Seconds())
				break
			}
		}
	}
	slices.Sort(took)
	if d.Shown = len(took); d.Shown > 0 {
		d.P50, d.P99 = millis(took[len(took)/2]), millis(took[(len(took)*99)/100])
	}
	return d
}
