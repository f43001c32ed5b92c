package track

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
)

// PeopleTopic, and how it keeps the rules of people. Each has a test of its name.
//
//	P1  A person is online exactly while a device of the person is in backend.DevicesTopic. Each
//	    watcher sees one join and one leave for it, however many devices there are.
//	P2  What a viewer may not see is, in every event, byte for byte what it would be if the
//	    person were offline, and last seen were unknown.
//	P3  Visibility is decided before anything else: see watchList.shows.
//	P4  Unknown settings and unknown relations are the strictest. An error widens nothing.
//	P5  A leave has last_seen only if the viewer may know it.
//	P6  A viewer who loses sight of a person is told within a second, by a leave without
//	    last_seen. A viewer who gains sight gets a join with since = now.
//	P8  A connection watches at most MaxWatched people.
//	P9  A person whom more than 1,000 connections here watch is loud: they are told at once
//	    after 10 quiet seconds, and else once in 10 s. Rule P6 goes before it.
//	P10 Nobody learns who watches whom, or how many do.

// peopleHere knows which connections on this node watch which people. A person has an entry while a
// connection here watches the person. A change of backend.DevicesTopic costs a look at each changed person,
// and a mark in each list that has one of them; see [watchList] for the rest.
type peopleHere struct {
	cfg       *Config
	life      *lifetime
	stats     *counters
	store     backend.Store
	topics    *topics
	directory *directoryCalls
	news      *deviceNews
	stale     atomic.Bool // the store is out, and who is online may be outdated
	relations *relations
	contacts  *contactReader
	loudOver  int // a person with more followers is loud

	mu       peopleMutex
	byID     map[presence.UserID]*watched
	lists    []*watchList // by their numbers; nil: the number is free
	free     []uint32
	edges    int
	byViewer map[presence.UserID][]*watchList // those that follow the contacts of their viewer
	loud     []*watched                       // those whose followers are told later
	marked   []*watchList                     // scratch of tell
	turn     uint64
}

// A watched is a person whom connections here watch.
type watched struct {
	id  presence.UserID
	now atomic.Pointer[seenPerson]

	// people.mu guards these.
	followers []follower
	told      time.Time // when all followers were last told
	due       bool      // the person is in people.loud
	left      time.Time // when the person was last seen, by departures of devices while the person was not hidden
	renewed   uint64    // the turn of hear that last renewed now
	listed    uint64    // the turn of watchLocked that last looked at the person
	place     int       // index in the list before that turn; negative: not on it, or already on the new list
}

// A follower is one entry of one list. It has 8 bytes, because there are millions.
type follower struct {
	list uint32 // its number
	slot uint32
}

// A seenPerson is a watched person at one moment, the same for all viewers. It never changes.
type seenPerson struct {
	json       []byte              // "bob":{…}; nil: nobody may see the person
	hash       uint32              // of json; 0: nobody may see the person
	here       bool                // has a device
	visibility presence.Visibility // who may see the person; for a person who is offline: who could before
	left       time.Time           // when a person who is offline was last seen; zero: unknown

	invisible bool // has a device, but is invisible, which looks like offline
}

// begin completes a peopleHere whose fields for other parts are set.
func (p *peopleHere) begin() *peopleHere {
	p.byID, p.byViewer, p.loudOver = make(map[presence.UserID]*watched), make(map[presence.UserID][]*watchList), loudFollowers
	p.relations, p.contacts = newRelations(p), newContactReader(p)
	return p
}

// start begins to watch the devices, if the site has people.
func (p *peopleHere) start() {
	if !p.directory.on() {
		return
	}
	p.life.spawn(p.run)
	p.life.spawn(p.relations.run)
	p.life.spawn(p.contacts.run)
}

// openers returns the opener of PeopleTopic for connections: see sources. It is empty if the site has no
// people.
func (p *peopleHere) openers() map[string]openSource {
	if !p.directory.on() {
		return make(map[string]openSource)
	}
	return map[string]openSource{presence.PeopleTopic.Kind(): func(ctx context.Context, topic presence.Topic, o opening, from presence.Cursor) (source, error) {
		l, err := p.open(ctx, topic, o)
		if err != nil {
			return nil, err // not l: a nil *watchList in a source would not be nil
		}
		p.reach(ctx, l, from)
		return l, nil
	}}
}

func (p *peopleHere) open(ctx context.Context, topic presence.Topic, o opening) (*watchList, error) {
	if topic.Local() != presence.PeopleTopic {
		return nil, fmt.Errorf("%w: %q names nothing", presence.ErrInvalidTopic, topic.Local())
	}
	if !o.visitor.SignedIn() {
		return nil, presence.ErrGuest
	}
	var want watchWanted
	if o.watch != nil {
		want, *o.watch = *o.watch, watchWanted{}
	}
	named, err := checkPeople(o.visitor, want.people)
	if err != nil {
		return nil, err
	}
	if _, err := p.topics.loaded(ctx, backend.DevicesTopic); err != nil {
		return nil, err
	}
	l := p.newList(o.visitor.User.ID, topic)
	if want.contacts {
		p.followContacts(l, named)
		p.contacts.read(ctx, l)
	} else {
		p.rewatch(l, named)
	}
	p.relations.await(ctx, l)
	return l, nil
}

// reach brings a list up to date for a reader who comes from another node, as replica.reach does. A list has
// a cursor of its own, and not a version of the devices.
func (p *peopleHere) reach(ctx context.Context, l *watchList, from presence.Cursor) {
	if r := p.news.replica.Load(); r != nil && l.differs(from) && r.reachLatest(ctx) {
		p.hear()
	}
}

// A watchWanted says whom a connection will watch once it opens PeopleTopic.
type watchWanted struct {
	people   []presence.UserID
	contacts bool
}

// checkPeople returns a list of people with each once, or an error that says what is wrong with it (rule P8).
// It leaves out users of another tenant, whom the viewer could never see.
func checkPeople(viewer presence.Visitor, ids []presence.UserID) ([]presence.UserID, error) {
	tenant := viewer.User.ID.Tenant()
	for _, id := range ids {
		if err := (presence.User{ID: id}).ValidateInside(); err != nil {
			return nil, err
		}
		if id.Tenant() != tenant {
			return nil, fmt.Errorf("%w: the user is of another tenant", presence.ErrInvalidUser)
		}
	}
	if len(ids) <= presence.MaxWatched {
		return ids, nil // watchLocked removes repeated ids
	}
	if ids = slices.Compact(slices.Sorted(slices.Values(ids))); len(ids) > presence.MaxWatched {
		return nil, presence.ErrTooManyPeople
	}
	return ids, nil
}

// newList returns an empty list, which keeps its number until it ends.
func (p *peopleHere) newList(viewer presence.UserID, topic presence.Topic) *watchList {
	l := newWatchList(p, viewer, topic)
	p.mu.Lock()
	defer p.mu.Unlock()
	if n := len(p.free); n > 0 {
		l.number = p.free[n-1]
		p.free = p.free[:n-1]
		p.lists[l.number] = l
	} else {
		l.number = uint32(len(p.lists))
		p.lists = append(p.lists, l)
	}
	return l
}

// personLocked returns the entry of a person, who gets a follower next.
func (p *peopleHere) personLocked(id presence.UserID) *watched {
	w := p.byID[id]
	if w == nil {
		w = &watched{id: presence.UserID(strings.Clone(string(id)))}
		p.byID[w.id] = w
		p.renewLocked(w)
	}
	return w
}

// followLocked adds a slot of a list to the followers of a person.
func (p *peopleHere) followLocked(w *watched, l *watchList, slot int) watchSlot {
	w.followers = append(w.followers, follower{l.number, uint32(slot)})
	p.edges++
	return watchSlot{person: w, seat: uint32(len(w.followers) - 1)}
}

// unfollowLocked undoes followLocked. The last follower moves to the free seat.
func (p *peopleHere) unfollowLocked(s watchSlot) {
	w := s.person
	last := len(w.followers) - 1
	moved := w.followers[last]
	w.followers[s.seat] = moved
	w.followers = w.followers[:last]
	p.edges--
	switch {
	case last == 0:
		delete(p.byID, w.id)
	case int(s.seat) < last:
		p.lists[moved.list].slots[moved.slot].seat = s.seat
		fallthrough
	default:
		if cap(w.followers) > 64 && cap(w.followers) > 4*last {
			w.followers = append(make([]follower, 0, 2*last), w.followers...)
		}
	}
}

// watchLocked replaces the people of the list, and ignores repeated ids. A person who stays on the list keeps
// the state that the reader was told. It looks once at each id, and makes no map. people.mu is held.
func (l *watchList) watchLocked(ids []presence.UserID) {
	p := l.people
	p.turn++
	l.mu.Lock()
	for i := range l.slots {
		l.slots[i].person.listed, l.slots[i].person.place = p.turn, i
	}
	slots, said := make([]watchSlot, 0, len(ids)), make([]relationState, len(ids))
	for _, id := range ids {
		w, slot := p.personLocked(id), len(slots)
		switch {
		case w.listed != p.turn:
			slots = append(slots, p.followLocked(w, l, slot))
		case w.place < 0:
			continue
		default:
			said[slot] = l.said[w.place]
			slots = append(slots, l.slots[w.place])
			w.followers[slots[slot].seat].slot = uint32(slot)
		}
		w.listed, w.place = p.turn, -1
	}
	var gone []watchSlot
	for _, s := range l.slots {
		if s.person.place >= 0 {
			gone = append(gone, s)
		}
	}
	l.replaceLocked(slots, said[:len(slots)], gone)
	l.out.wakeLocked()
	l.mu.Unlock()
	for i := range gone { // the list has the new slots, so the seats of l are correct again
		p.unfollowLocked(gone[i])
	}
}

// end removes a list, once. A reader that comes later gets no event: its page must not see everybody leave.
func (p *peopleHere) end(l *watchList) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if l.over {
		return
	}
	l.mu.Lock()
	l.over = true
	l.mu.Unlock()
	p.forgetContactsLocked(l)
	l.watchLocked(nil)
	p.lists[l.number] = nil
	p.free = append(p.free, l.number)
}

// Watch replaces the list of users whom the connection watches in [presence.PeopleTopic]: at most MaxWatched,
// each once. It also replaces the visitor's contacts, if the connection was opened with them. The next events
// have a leave for each person who is no longer on the list, and a join for each new one who is online. Watch
// returns [presence.ErrTooManyPeople], [presence.ErrInvalidUser] or [presence.ErrNoDirectory]; then nothing
// has changed. It is a no-op without that topic. It may be called concurrently, and costs about 0.2 µs a
// person.
func (c *Connection) Watch(people []presence.UserID) error {
	if !c.env.people {
		return presence.ErrNoDirectory
	}
	ids, err := checkPeople(c.visitor, people)
	if err != nil {
		return err
	}
	for _, s := range c.topics() {
		if l, ok := s.from.(*watchList); ok {
			l.people.rewatch(l, ids)
		}
	}
	return nil
}

// rewatch replaces the people of a list by those that the page named. It is a no-op for a list that has ended.
func (p *peopleHere) rewatch(l *watchList, ids []presence.UserID) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if l.over {
		return
	}
	p.forgetContactsLocked(l)
	l.watchLocked(ids)
}
