package main

import (
	"context"
	"encoding/json"
	"net/http"
	"time"
)

// mostSkew is by how much clocks may differ: the header Date has whole seconds.
const mostSkew = 5 * time.Second

const runNTP = "Let all machines keep their time by NTP; timedatectl says whether they do. This machine's clock may be the wrong one."

// checkClock compares the clocks of the site with this machine's: what the header Date, the
// presence cookie and the roster say.
func checkClock(_ context.Context, s *site) verdict {
	v := s.views()
	for _, p := range []*page{s.first, v.again} {
		if p == nil {
			continue
		}
		if date, err := http.ParseTime(p.header.Get("Date")); err == nil && p.header.Get("Age") == "" {
			if off, is := skewed(p.answer, date.Add(500*time.Millisecond)); is {
				return wrong(runNTP, "The site's clock, by its header Date, is %s this machine's.", off)
			}
		}
		if p.stamp > 0 {
			if off, is := skewed(p.answer, time.UnixMilli(p.stamp)); is {
				return wrong(runNTP, "The site's clock, by the presence cookie, is %s this machine's: views are not throttled on nodes whose clocks differ.", off)
			}
		}
	}
	a := s.roster()
	if latest := latest(a); !latest.IsZero() && latest.After(a.sent.Add(a.took+mostSkew)) {
		off, _ := skewed(a, latest)
		return wrong(runNTP, "The roster's clock, which is the store's, is at least %s this machine's: browsers show a wrong time since.", off)
	}
	if s.first.header.Get("Date") == "" {
		return unknown("The site sends no header Date.")
	}
	return ok("The site's clock and this machine's agree.")
}

// skewed compares a clock that the site read while it made an answer with this machine's.
func skewed(a answer, theirs time.Time) (off string, is bool) {
	switch {
	case theirs.Before(a.sent.Add(-mostSkew)):
		return a.sent.Sub(theirs).Round(time.Second).String() + " behind", true
	case theirs.After(a.sent.Add(a.took + mostSkew)):
		return theirs.Sub(a.sent.Add(a.took)).Round(time.Second).String() + " ahead of", true
	}
	return "", false
}

// latest returns the latest time in a roster.
func latest(a answer) (at time.Time) {
	var roster struct {
		Users map[string]struct{ Since time.Time }
	}
	if json.Unmarshal(a.body, &roster) == nil {
		for _, u := range roster.Users {
			if u.Since.After(at) {
				at = u.Since
			}
		}
	}
	return at
}
