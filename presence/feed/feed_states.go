package feed

import (
	"strings"
	"sync"
	"time"

	"github.com/rollcall-go/rollcall/presence"
)

// feedStates is the table of the feeds that a Keeper follows. Whoever may follow rooms can name rooms that do not
// exist, so the table has parts:
//
//   - Rooms have three quarters of it at most. Inboxes, which nobody can make up, have the rest
//     for themselves.
//   - A user has brought in a hundredth of the rooms at most, and all guests of a tenant
//     together a half.
//   - A full table forgets feeds without a reader, rooms first.
//
// A feed that finds no room has readers all the same. It waits outside the table, and is stale.
type feedStates struct {
	most int // Config.MaxLines

	mu       sync.Mutex // taken before outlets' mutexes
	byName   map[Name]*feedState
	rooms    int                     // rooms in byName
	by       map[presence.UserID]int // number of rooms in byName, by who brought them in: see bringer
	waiting  map[Name]*feedState     // feeds with readers for which there is no room
	madeRoom time.Time               // when feeds were last dropped to make room
}

// bringer returns who was the first to follow a room: a user's id inside, or one id for all guests of a
// tenant. It is empty for an inbox.
func bringer(n Name, v presence.Visitor) presence.UserID {
	switch {
	case !n.isRoom():
		return ""
	case v.SignedIn():
		return presence.UserID(strings.Clone(string(v.User.ID)))
	}
	return presence.UserID("").In(v.Tenant)
}

const (
	// unreadFor is how long a feed must have had no reader before a full table drops it. Feeds without
	// anything in the database are dropped then in any case. A page that opens a feed becomes its reader
	// within this time.
	unreadFor = 3 * time.Second
	// roomInterval is the least time between two searches for feeds to drop.
	roomInterval = time.Second
)

func newFeedStates(most int) feedStates {
	return feedStates{most: most, byName: make(map[Name]*feedState), by: make(map[presence.UserID]int), waiting: make(map[Name]*feedState)}
}

// get returns the state of a feed for a visitor, and calls made for a new one. ok is false if there is no
// room for the feed.
func (t *feedStates) get(n Name, v presence.Visitor, made func() *feedState) (l *feedState, ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if l = t.byName[n]; l != nil {
		l.out.Touch()
		return l, true
	}
	l = t.waiting[n]
	if l == nil {
		l = made()
		l.by = bringer(n, v)
	}
	l.out.Touch()
	if ok = t.admitsLocked(l) || t.makeRoomLocked(time.Now()) && t.admitsLocked(l); ok {
		t.addLocked(l)
	} else if len(t.waiting) < max(t.most/10, 1) {
		t.waiting[n] = l
	}
	return l, ok
}

// admitsLocked reports whether a feed has room.
func (t *feedStates) admitsLocked(l *feedState) bool {
	if len(t.byName) >= t.most {
		return false
	}
	if !l.name.isRoom() {
		return true
	}
	rooms := t.most - t.most/4
	share := rooms / 2
	if l.by.Local() != "" {
		share = rooms / 100
	}
	return t.rooms < rooms && t.by[l.by] < max(share, 1)
}

func (t *feedStates) addLocked(l *feedState) {
	delete(t.waiting, l.name)
	t.byName[l.name] = l
	if l.name.isRoom() {
		t.rooms++
		t.by[l.by]++
	}
}

func (t *feedStates) forgetLocked(l *feedState) {
	delete(t.byName, l.name)
	if l.name.isRoom() {
		t.rooms--
		if t.by[l.by]--; t.by[l.by] == 0 {
			delete(t.by, l.by)
		}
	}
}

// makeRoomLocked drops rooms without a reader, and inboxes too if that is not enough. It looks at every feed,
// so it does that once a second at most. It reports whether it did.
func (t *feedStates) makeRoomLocked(now time.Time) bool {
	if now.Sub(t.madeRoom) < roomInterval {
		return false
	}
	t.madeRoom = now
	for _, rooms := range []bool{true, false} {
		for _, l := range t.byName {
			if l.name.isRoom() == rooms && l.out.Unused(unreadFor) {
				t.forgetLocked(l)
			}
		}
		if len(t.byName) < t.most {
			break
		}
	}
	return true
}

// sweep drops feeds without readers, and admits waiting feeds. It returns the remaining feeds, and those that
// it admitted.
func (t *feedStates) sweep() (left, admitted []*feedState) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, l := range t.byName {
		keep := linger
		if v := l.view.Load(); v.known && v.head.Rev == 0 {
			keep = unreadFor
		}
		if l.out.Unused(keep) {
			t.forgetLocked(l)
		} else {
			left = append(left, l)
		}
	}
	if len(t.waiting) > 0 {
		t.makeRoomLocked(time.Now())
	}
	for n, l := range t.waiting {
		switch {
		case l.out.Unused(unreadFor):
			delete(t.waiting, n)
		case t.admitsLocked(l):
			t.addLocked(l)
			admitted = append(admitted, l)
		}
	}
	return left, admitted
}

// find returns the state of a feed that pages here follow, or nil.
func (t *feedStates) find(n Name) *feedState {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.byName[n]
}

func (t *feedStates) all() []*feedState {
	t.mu.Lock()
	defer t.mu.Unlock()
	all := make([]*feedState, 0, len(t.byName))
	for _, l := range t.byName {
		all = append(all, l)
	}
	return all
}

func (t *feedStates) len() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.byName)
}
