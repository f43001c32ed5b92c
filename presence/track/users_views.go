package track

import (
	"maps"
	"slices"
	"time"

	"github.com/rollcall-go/rollcall/presence"
)

// addViews remembers page views of a user, to restore them in a store that loses them.
func (p *users) addViews(views ...pageView) {
	p.mu.Lock()
	defer p.mu.Unlock()
	u := p.knownLocked(views[0].user.ID)
	for _, view := range views {
		u.addView(view)
	}
}

func (u *knownUser) addView(view pageView) {
	same := func(v pageView) bool { return v.topic == view.topic && v.device.ID == view.device.ID }
	switch i := slices.IndexFunc(u.views, same); {
	case i >= 0:
		u.views = slices.Delete(u.views, i, i+1)
	case len(u.views) >= maxViewsPerUser:
		u.views = slices.Delete(u.views, 0, 1)
	}
	u.views = append(u.views, view)
}

// liveViews returns every page view that still holds its user, except those in doubt.
func (p *users) liveViews() (views []pageView) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, u := range p.byID {
		for _, view := range u.views {
			if time.Since(view.at) < p.cfg.Age && !view.doubtful {
				views = append(views, view)
			}
		}
	}
	return views
}

// removeViews forgets a user's page views up to a moment.
func (p *users) removeViews(user presence.UserID, until time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if u := p.byID[user]; u != nil {
		u.views = slices.DeleteFunc(u.views, func(v pageView) bool { return !v.at.After(until) })
	}
}

// removeViewsOf forgets a user's page views of one device up to a moment. It returns the topics in which no
// other device has viewed a page here.
func (p *users) removeViewsOf(user presence.UserID, device presence.DeviceID, until time.Time) (alone []presence.Topic) {
	p.mu.Lock()
	defer p.mu.Unlock()
	u := p.byID[user]
	if u == nil {
		return nil
	}
	removed := make(map[presence.Topic]struct{})
	u.views = slices.DeleteFunc(u.views, func(v pageView) bool {
		gone := v.device.ID == device && !v.at.After(until)
		if gone && time.Since(v.at) < p.viewsMatterFor() {
			removed[v.topic] = struct{}{}
		}
		return gone
	})
	for _, v := range u.views {
		if !v.doubtful { // else the device of that view may have ended
			delete(removed, v.topic)
		}
	}
	return slices.Collect(maps.Keys(removed))
}

// doubtAllViews notes that all users may have signed out since their page views. A view in doubt is never written
// again. It is still remembered, because the store may have it, and a sign-out ends it by what is remembered here.
//
// Example: Redis was out for over a minute, and node A writes Alice's page view of thread:1, which waited. Then she signs
// out at node B. Only node A knows that there is something to end in thread:1.
func (p *users) doubtAllViews() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, u := range p.byID {
		for i := range u.views {
			u.views[i].doubtful = true
		}
	}
}

// needsView reports whether a page view of a user must be recorded although one was recorded at since: a
// connection that held the user was opened or closed after since, or the user signed out.
func (p *users) needsView(user presence.UserID, since time.Time) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	u := p.byID[user]
	if u == nil {
		return false
	}
	ended := p.records.viewsEndedAt(user)
	return !ended.Before(since) && time.Since(ended) <= p.cfg.Age || u.heldSince(since) // after Config.Age the earlier view has expired anyway
}
