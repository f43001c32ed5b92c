package presence

import (
	"encoding/base64"
	"errors"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/tidwall/btree"
)

// A View is a topic as it is known here at one moment. It never changes, so it
// may be read by any number of goroutines without a lock; a change makes
// another View. What is rendered from a View may be cached under its pointer.
type View struct {
	Topic  Topic
	Cursor Cursor    // a stream from here misses nothing and repeats nothing
	Total  int       // visible users online
	Guests int       // may lag by a second
	Recent int       // users of the current and the old set; may lag by a second
	Stale  bool      // the store is out: this is the last that was known
	AsOf   time.Time // when it was found to be; zero unless Stale

	counting bool // the topic is over the roster limit
	roster   roster

	mu        sync.Mutex
	states    map[int]*shared // encoded, by limit
	heartbeat *shared
}

// roster holds entries in two orders. The trees are copied on write, so that a
// copy for a View costs next to nothing.
type roster struct {
	byID    *btree.BTreeG[*entry]
	bySince *btree.BTreeG[*entry]
	probes  *sync.Pool // of *entry, to search by
}

func newRoster(probes *sync.Pool) roster {
	options := btree.Options{NoLocks: true}
	return roster{
		byID:    btree.NewBTreeGOptions(func(a, b *entry) bool { return a.ID < b.ID }, options),
		bySince: btree.NewBTreeGOptions(func(a, b *entry) bool { return NewestFirst(a.Member, b.Member) < 0 }, options),
		probes:  probes,
	}
}

// get returns a user's entry, nil if absent. It stands on the way of every page,
// and so allocates nothing.
func (r roster) get(id UserID) *entry {
	probe := r.probes.Get().(*entry)
	defer r.probes.Put(probe)
	probe.ID = id
	e, _ := r.byID.Get(probe)
	return e
}

func (r roster) set(e *entry) {
	if old, ok := r.byID.Set(e); ok {
		r.bySince.Delete(old)
	}
	r.bySince.Set(e)
}

func (r roster) remove(id UserID) {
	if old, ok := r.byID.Delete(&entry{Member: Member{User: User{ID: id}}}); ok {
		r.bySince.Delete(old)
	}
}

func (r roster) copy() roster { return roster{r.byID.Copy(), r.bySince.Copy(), r.probes} }

// Member returns a user's entry in the roster, and false for who is not there.
// It costs a search in memory, about 0.2 µs among 10,000.
func (v *View) Member(id UserID) (Member, bool) {
	if e := v.roster.get(id); e != nil {
		return e.Member, true
	}
	return Member{}, false
}

// Newest returns up to limit members, the newest first.
func (v *View) Newest(limit int) []Member { return members(v.newest(limit)) }

func (v *View) newest(limit int) []*entry {
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

func members(entries []*entry) []Member {
	m := make([]Member, len(entries))
	for i, e := range entries {
		m[i] = e.Member
	}
	return m
}

// errPage is returned for a page that [View.Page] cannot read.
var errPage = errors.New("the page is not one that this roster named")

// Page returns up to limit members that come after a page's end, the newest
// first, and the end of this page: empty on the last. The first page comes
// after the empty string. Users who join meanwhile come before the first page,
// so that nobody who stays is shown twice or left out. A page costs the same
// wherever it stands.
func (v *View) Page(after string, limit int) (page []Member, next string, err error) {
	var pivot *entry
	if after != "" {
		if pivot, err = parsePage(after); err != nil {
			return nil, "", err
		}
	}
	entries := make([]*entry, 0, min(max(limit, 0), v.Total))
	more := false
	collect := func(e *entry) bool {
		if pivot != nil && NewestFirst(e.Member, pivot.Member) == 0 {
			return true
		}
		if more = len(entries) >= limit; more {
			return false
		}
		entries = append(entries, e)
		return true
	}
	if pivot == nil {
		v.roster.bySince.Scan(collect)
	} else {
		v.roster.bySince.Ascend(pivot, collect)
	}
	if more && len(entries) > 0 {
		last := entries[len(entries)-1]
		next = strconv.FormatInt(last.Since.UnixNano(), 36) + "." + base64.RawURLEncoding.EncodeToString([]byte(last.ID))
	}
	return members(entries), next, nil
}

func parsePage(after string) (*entry, error) {
	since, id, ok := strings.Cut(after, ".")
	nanos, err := strconv.ParseInt(since, 36, 64)
	name, err2 := base64.RawURLEncoding.DecodeString(id)
	if !ok || err != nil || err2 != nil || len(name) > MaxUserIDLen {
		return nil, errPage
	}
	return &entry{Member: Member{User: User{ID: UserID(name)}, Since: time.Unix(0, nanos)}}, nil
}

// State returns the data of a `state` event with up to limit users. It is
// encoded once for a View and limit, and shared: it must not be changed.
func (v *View) State(limit int) []byte { return v.stateEvent(limit).Data }

// stateEvent returns the event alone, shared as State is.
func (v *View) stateEvent(limit int) *shared {
	v.mu.Lock()
	defer v.mu.Unlock()
	if state, ok := v.states[limit]; ok {
		return state
	}
	state := newShared(frame{Event: Event{Type: EventState, Topic: v.Topic, Cursor: v.Cursor, Data: encodeState(v, limit)}, view: v})
	if v.states == nil {
		v.states = make(map[int]*shared)
	}
	if len(v.states) < 8 { // limits come from outside
		v.states[limit] = state
	}
	return state
}

// heartbeatEvent returns a heartbeat alone, shared.
func (v *View) heartbeatEvent() *shared {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.heartbeat == nil {
		v.heartbeat = newShared(frame{Event: Event{Type: EventHeartbeat, Topic: v.Topic, Cursor: v.Cursor, Data: encodeHeartbeat(v)}})
	}
	return v.heartbeat
}
