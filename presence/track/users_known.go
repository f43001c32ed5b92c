package track

import (
	"container/list"
	"maps"
	"time"

	"github.com/rollcall-go/rollcall/presence"
)

// A knownUser is what this node remembers of one user. users.mu guards it, and must be held when a method is
// called.
type knownUser struct {
	id          presence.UserID
	connections []*holder                    // and visits; a slice, since most have one or two
	idle        bool                         // the leases here say that nobody is at any page: see attention
	left        moment                       // when the user left the last page here; zero: the user is at one
	viewed      moment                       // the latest page view while the leases here were idle
	looks       *laterLook                   // the scheduled look of attention; nil: none
	views       []pageView                   // the latest one for each topic and device, the oldest first
	released    map[presence.Topic]time.Time // when a connection last ended in each topic: the grace may still hold the user there
	pruned      moment                       // when released was last cleaned up
	newcomers   []newDevice                  // at most maxDevices
	touched     time.Time
	place       *list.Element // in users.away; nil while the user has a connection
}

// A pageView is the latest page view of a user in a topic, on one device.
type pageView struct {
	topic    presence.Topic
	user     presence.User
	at       time.Time
	device   presence.Device // zero on a site without a Directory
	doubtful bool            // this node may have missed a sign-out since
}

// Bounds of what is remembered. The oldest is dropped first.
const (
	maxUsersKnown      = 100_000 // users without a connection
	maxViewsPerUser    = 16      // topics, or pairs of a topic and a device
	maxReleasedPerUser = 100     // topics
	maxStaleReleases   = 8       // topics; with more, those that were left long ago are dropped
	maxVisits          = 50_000  // pages of connections of other nodes
	maxVisitsPerUser   = 32
	maxExpired         = 1_000 // users that one call of expire checks
)

// release remembers that a connection held the user in a topic until now.
func (u *knownUser) release(topic presence.Topic, cfg *Config) {
	if u.released == nil {
		u.released = make(map[presence.Topic]time.Time)
	}
	now := time.Now()
	if len(u.released) >= maxStaleReleases && momentOf(now) >= u.pruned.add(time.Second) { // at most once a second, for a user with a tab open for days who closes others
		u.pruned = momentOf(now)
		maps.DeleteFunc(u.released, func(topic presence.Topic, at time.Time) bool { return now.Sub(at) > cfg.grace(topic)+time.Second })
	}
	u.released[topic] = now
	dropOldest(u.released, maxReleasedPerUser, func(at time.Time) time.Time { return at })
}

// heldSince reports whether a connection holds the user that was opened at or after a moment, or is still
// being opened.
func (u *knownUser) heldSince(since time.Time) bool {
	for _, c := range u.connections {
		if c.holds() && (c.held.opened.IsZero() || !c.held.opened.Before(since)) {
			return true
		}
	}
	return false
}

// dropOldest removes the entry with the earliest time from a map that has more than max.
func dropOldest[K comparable, V any](m map[K]V, max int, at func(V) time.Time) {
	if len(m) <= max {
		return
	}
	var oldest K
	var first time.Time
	for key, v := range m {
		if t := at(v); first.IsZero() || t.Before(first) {
			oldest, first = key, t
		}
	}
	delete(m, oldest)
}
