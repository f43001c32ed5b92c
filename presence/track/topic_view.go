package track

import (
	"context"
	"encoding/base64"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
)

// A View is a roster as this node knows it at one moment. It never changes: each change makes a new View. So
// any number of goroutines may read it without a lock, and HTML made from it may be cached under its pointer.
// There is one exception: if the node keeps the topic in part, Member returns the current entries of users
// outside of that part.
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

	counting   bool                                     // the topic is over the roster limit, or count-only
	extrasTurn int                                      // a number that changes with Peak and Bots
	roster     roster                                   // of a partial topic: the sample
	chosen     map[presence.UserID]*presence.Visibility // of devices: choices that the store has not reported, which replace those in roster
	asked      *askedUsers                              // knows further users of a partial topic; nil: roster is the whole
	since      time.Time                                // of a partial topic: roster has every user who came later
	doubtful   bool                                     // the store may lack users, because it is out or nodes are restoring them

	mu        viewMutex
	states    map[int]*sharedEvent // encoded states by their limit
	heartbeat *sharedEvent
	firsts    map[int]*firstUsers // by their number
}

// Member returns a user's entry in the roster, and false if the user is not there. It costs a search in
// memory, about 0.2 µs among 10,000. This node may keep only a part of a topic over the roster limit. The
// first call for a user outside of the part then costs a round trip, of 50 ms at most. If the store does not
// answer, the user counts as absent.
func (v *View) Member(id presence.UserID) (presence.Member, bool) {
	if !v.Names {
		return presence.Member{}, false
	}
	if e := v.roster.get(id); e != nil {
		return e.Member, true
	}
	if v.asked != nil {
		ctx, cancel := context.WithTimeout(context.Background(), viewWait)
		defer cancel()
		if found, err := v.asked.ask(ctx, id); err == nil && found[0] != nil {
			return found[0].Member, true
		}
	}
	return presence.Member{}, false
}

// Look asks the store about the users whom this node does not know, in one round trip for each 500, so that
// Member then knows them. It waits until ctx ends. For a topic that this node keeps whole it is a no-op.
func (v *View) Look(ctx context.Context, ids ...presence.UserID) error {
	if v.asked == nil || !v.Names {
		return nil
	}
	return v.look(ctx, ids...)
}

func (v *View) look(ctx context.Context, ids ...presence.UserID) error {
	if v.asked == nil {
		return nil
	}
	ids = slices.DeleteFunc(slices.Clone(ids), func(id presence.UserID) bool { return v.roster.get(id) != nil })
	_, err := v.asked.ask(ctx, ids...)
	return err
}

// find returns a user's entry, nil if absent. For an unknown user it returns false, and asks the store in the
// background.
func (v *View) find(id presence.UserID) (e *entry, known bool) {
	if e = v.roster.get(id); e != nil || v.asked == nil {
		return e, true
	}
	return v.asked.get(id)
}

// Newest returns up to limit members, the newest first. This node may keep only a part of a topic over the
// roster limit: a sample of up to 1,000 users. Newest then returns members of the sample. It has the newest
// of the users who joined since the node reads the topic, and at first also others.
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

// errPage is returned for a page that [Tracker.RosterPage] did not name.
var errPage = errors.New("the page is not one that this roster named")

// maxGroupLooks is how many users pageSince checks to find those of a group.
const maxGroupLooks = 10_000

// pageSince returns a page of the users in memory who came after a moment; zero: of all users. See
// [Tracker.RosterPage].
func (v *View) pageSince(since time.Time, group, after string, limit int) (page []presence.Member, next string, err error) {
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
		if !since.IsZero() && !e.Since.After(since) {
			return false
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
	f := figures{v.Guests, v.Recent, 0, v.extrasTurn}
	if v.Stale {
		f[2] = 1
	}
	return f
}
