package handlers

import "time"

// A recheck says when the site is asked again whether the visitor of a stream may still see its topics: once a
// heartbeat, unless it has yet to answer.
type recheck struct {
	at time.Time // when the site is asked next
	by time.Time // when it must have answered; zero: it is not asked
}

// begins reports whether the driver is to ask the site now. every is the heartbeat.
func (c *recheck) begins(now time.Time, every time.Duration) bool {
	if now.Before(c.at) || !c.by.IsZero() {
		return false
	}
	c.at, c.by = now.Add(every), now.Add(maxSiteWait)
	return true
}

// answered is for when the site has answered, or is asked no more.
func (c *recheck) answered() { c.by = time.Time{} }

// late reports whether the site has not answered in time.
func (c *recheck) late(now time.Time) bool { return !c.by.IsZero() && !now.Before(c.by) }

// next returns when the site is asked next, or must have answered.
func (c *recheck) next() time.Time {
	if c.by.IsZero() {
		return c.at
	}
	return c.by
}
