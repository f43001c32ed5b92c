package track

import (
	"encoding/base64"
	"errors"
	"maps"
	"strconv"
	"strings"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
)

// A View is a roster as this node knows it at one moment. It never changes: each change makes a new View. So
// any number of goroutines may read it without a lock, and HTML made from it may be cached under its pointer.
type View struct {
	Topic  presence.Topic
	Cursor presence.Cursor // a stream that resumes from it misses nothing and repeats nothing
	Total  int             // visible users online
	Guests int             // may lag by a second
	Recent int             // users who viewed a page in one to two age periods; may lag by a second
	Stale  bool            // the store is out, and this may be outdated
	AsOf   time.Time       // when the store went out; zero unless Stale

	Peak  backend.Peak   // the most users who were ever online at one time; zero unless the topic's Kind asks for it
	Bots  map[string]int // crawlers by name, in the window of Guests; nil unless the topic's Kind asks for them
	Names bool           // false: the topic is count-only, and Member, Newest and Page return nobody

	counting bool // the topic is over the roster limit, or count-only
	figured  int  // a number that changes with the figures
	roster   roster

	mu        viewMutex
	states    map[int]*sharedEvent // encoded states by their limit
	heartbeat *sharedEvent
	firsts    map[int]*firstUsers // by their number
}

// Member returns a user's entry in the roster, and false if the user is not there. It costs a search in
// memory, about 0.2 µs among 10,000.
func (v *View) Member(id presence.UserID) (presence.Member, bool) {
	if !v.Names {
		return presence.Member{}, false
	}
	if e := v.roster.get(id); e != nil {
		return e.Member, true
	}
	return presence.Member{}, false
}

// find returns a user's entry, nil if absent.
func (v *View) find(id presence.UserID) *entry { return v.roster.get(id) }

// Newest returns up to limit members, the newest first.
func (v *View) Newest(limit int) []presence.Member { return members(v.newest(limit)) }

func (v *View) newest(limit int) []*entry {
	if !v.Names {
		return nil
	}
	return v.newestOfAll(limit)
}

// newestOfAll is newest that also works for a count-only topic. It is for Go programs, and not for pages.
func (v *View) newestOfAll(limit int) []*entry {
	entries := make([]*entry, 0, min(max(limit, 0), v.Total))
	v.roster.bySince.Scan(func(e *entry) bool {
		if len(entries) >= limit {
			return false
		}
		entries = append(entries, e)
		return true
	})
	return entries
}

func members(entries []*entry) []presence.Member {
	m := make([]presence.Member, len(entries))
	for i, e := range entries {
		m[i] = e.Member
	}
	return m
}

// errPage is returned for a page that [View.Page] did not name.
var errPage = errors.New("the page is not one that this roster named")

// maxGroupLooks is how many users Page checks to find those of a group.
const maxGroupLooks = 10_000

// Page returns up to limit users of the topic, the newest first, and where the next page begins: empty
// after the last page. after is where this page begins: empty for the first one. Users who join meanwhile
// come before the first page, so a user who stays is neither repeated nor left out. group selects the users
// of one [presence.User].Group; empty: all. A page of a group checks 10,000 users at most, so it may have
// fewer than limit, or none, although there is a next page. Every page costs the same.
func (v *View) Page(group, after string, limit int) (page []presence.Member, next string, err error) {
	var pivot *entry
	if after != "" {
		if pivot, err = parsePage(after, v.Topic.Tenant()); err != nil {
			return nil, "", err
		}
	}
	if !v.Names {
		return nil, "", nil
	}
	entries := make([]*entry, 0, min(max(limit, 0), v.Total))
	var last *entry // the last user that was checked
	looked, more := 0, false
	collect := func(e *entry) bool {
		if pivot != nil && presence.NewestFirst(e.Member, pivot.Member) == 0 {
			return true
		}
		if more = len(entries) >= limit || group != "" && looked >= maxGroupLooks; more {
			return false
		}
		looked++
		if last = e; group == "" || e.Group == group {
			entries = append(entries, e)
		}
		return true
	}
	if pivot == nil {
		v.roster.bySince.Scan(collect)
	} else {
		v.roster.bySince.Ascend(pivot, collect)
	}
	if more && last != nil {
		next = pageName(last.Member)
	}
	return members(entries), next, nil
}

// parsePage parses the start of a page. It contains no tenant; the topic's tenant counts.
func parsePage(after, tenant string) (*entry, error) {
	since, id, ok := strings.Cut(after, ".")
	nanos, err := strconv.ParseInt(since, 36, 64)
	name, err2 := base64.RawURLEncoding.DecodeString(id)
	if !ok || err != nil || err2 != nil || len(name) > presence.MaxUserIDLen {
		return nil, errPage
	}
	return &entry{Member: presence.Member{User: presence.User{ID: presence.UserID(name).In(tenant)}, Since: time.Unix(0, nanos)}}, nil
}

// maxStates bounds how many states a View keeps, because clients choose the limits.
const maxStates = 8

// stateEvent returns a state event with up to limit users, for a connection with a single topic. It is
// encoded once for each limit, and shared.
func (v *View) stateEvent(limit int) *sharedEvent {
	v.mu.Lock()
	defer v.mu.Unlock()
	if state, ok := v.states[limit]; ok {
		return state
	}
	e := presence.Event{Type: presence.EventState, Topic: v.Topic, Cursor: v.Cursor, Data: encodeState(v, limit)}
	state := newSharedEvent(frame{Event: e, content: v})
	if v.states == nil {
		v.states = make(map[int]*sharedEvent)
	}
	if len(v.states) < maxStates {
		v.states[limit] = state
	}
	return state
}

// heartbeatEvent returns a heartbeat for a connection with a single topic, shared.
func (v *View) heartbeatEvent() *sharedEvent {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.heartbeat == nil {
		v.heartbeat = v.eventAt(presence.EventHeartbeat, v.Cursor)
	}
	return v.heartbeat
}

func (v *View) cursor() presence.Cursor { return v.Cursor }

func (v *View) figures() figures {
	f := figures{v.figured}
	if v.Stale {
		f[1] = 1
	}
	return f
}

// tells reports whether the View has these figures. It knows the total by itself.
func (v *View) tells(c backend.Counts) bool {
	return v.Guests == c.Guests && v.Recent == c.Recent && samePeak(v.Peak, c.Peak) && maps.Equal(v.Bots, c.Bots)
}

// pageName names the page of the users who come behind a member.
func pageName(m presence.Member) string {
	return strconv.FormatInt(m.Since.UnixNano(), 36) + "." + base64.RawURLEncoding.EncodeToString([]byte(m.ID.Local()))
}
