package presence

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"time"
)

// PeopleTopic, and how it keeps the rules of people. Each has a test of its name.
//
//	P1  A person is online exactly while a device of the person is in devicesTopic. Each
//	    watcher sees one join and one leave for it, however many devices there are.
//	P2  What a viewer may not see is, in every event, byte for byte what it would be if the
//	    person were offline, and last seen were unknown.
//	P3  Visibility is decided before anything else: see watchList.shows.
//	P4  Unknown settings and unknown relations are the strictest. An error widens nothing.
//	P5  A leave has last_seen only if the viewer may know it.
//	P6  A viewer who loses sight of a person is told within a second, by a leave without
//	    last_seen. A viewer who gains sight gets a join with since = now.
//	P8  A connection watches at most Config.Watched people.
//	P9  A person whom more than 1,000 connections here watch is loud: they are told at once
//	    after 10 quiet seconds, and else once in 10 s. Rule P6 goes before it.
//	P10 Nobody learns who watches whom, or how many do.

// people is who watches whom on this node. A person has an entry while a connection here
// watches the person. A change of devicesTopic costs a look at each changed person, and a
// mark at each list that has one of them; see [watchList] for the rest.
type people struct {
	*node
	replica   atomic.Pointer[replica] // of devicesTopic; nil until run begins
	stale     atomic.Bool             // the store is out, and who is online may be out of date
	relations *relations
	contacts  *contactReader
	loudOver  int // a person with more followers is loud
	news      heardNews

	mu         peopleMutex
	byID       map[UserID]*watched
	lists      []*watchList // by number; nil: free
	free       []uint32
	edges      int
	byViewer   map[UserID][]*watchList // those that follow the contacts of their viewer
	loud       []*watched              // who are to be told later
	marked     []*watchList            // scratch of tell
	generation uint64
}

// A watched is a person whom connections here watch.
type watched struct {
	id  UserID
	now atomic.Pointer[seenPerson]

	// people.mu guards these.
	followers []follower
	told      time.Time // when all followers were last told
	due       bool      // is in people.loud
	left      time.Time // the latest departure of a device, while the person was not hidden
	renewed   uint64    // the generation that renewed now
}

// A follower is one place in one list. It has 8 bytes, and there are millions of them.
type follower struct {
	list uint32 // its number
	slot uint32
}

// A seenPerson is a watched person at one moment, the same for all viewers. It never
// changes.
type seenPerson struct {
	json []byte    // "bob":{…}; nil: nobody may see the person
	hash uint32    // of json; 0: nobody may see the person
	here bool      // has a device
	word word      // who may see the person; of one who is not here: who could before
	left time.Time // when one who is not here was last seen; zero: unknown
}

func newPeople(n *node) *people {
	p := &people{node: n, byID: make(map[UserID]*watched), byViewer: make(map[UserID][]*watchList), loudOver: loudFollowers}
	p.news.kick = make(chan struct{}, 1)
	p.relations, p.contacts = newRelations(p), newContactReader(p)
	return p
}

// start begins to follow the devices, if the site has people.
func (p *people) start() {
	if !p.directory.on() {
		return
	}
	p.life.spawn(p.run)
	p.life.spawn(p.relations.run)
	p.life.spawn(p.contacts.run)
}

// open opens PeopleTopic for a connection: see sources.
func (p *people) open(ctx context.Context, topic Topic, c *Connection) (source, error) {
	if topic != PeopleTopic {
		return nil, fmt.Errorf("%w: %q names nothing", ErrInvalidTopic, topic)
	}
	if !c.visitor.SignedIn() {
		return nil, ErrGuest
	}
	var want watchWanted
	if c.watched != nil {
		want, c.watched = *c.watched, nil
	}
	named, err := p.checked(want.people)
	if err != nil {
		return nil, err
	}
	if _, err := p.topics.loaded(ctx, devicesTopic); err != nil {
		return nil, err
	}
	l := p.newList(c.visitor.User.ID)
	if want.contacts {
		p.followContacts(l, named)
		p.contacts.read(ctx, l)
	} else {
		p.watch(l, named)
	}
	p.relations.await(ctx, l)
	return l, nil
}

// A watchWanted is whom a connection is to watch once it opens PeopleTopic.
type watchWanted struct {
	people   []UserID
	contacts bool
}

// checked returns a list of people with each once, or what is wrong with it (rule P8).
func (p *people) checked(ids []UserID) ([]UserID, error) {
	listed := make([]UserID, 0, min(len(ids), p.cfg.Watched))
	known := make(map[UserID]struct{}, min(len(ids), p.cfg.Watched))
	for _, id := range ids {
		if _, twice := known[id]; twice {
			continue
		}
		if len(listed) == p.cfg.Watched {
			return nil, ErrTooManyPeople
		}
		if err := (User{ID: id}).Validate(); err != nil {
			return nil, err
		}
		known[id] = struct{}{}
		listed = append(listed, id)
	}
	return listed, nil
}

// newList returns an empty list, which has a number until it ends.
func (p *people) newList(viewer UserID) *watchList {
	l := newWatchList(p, viewer)
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

// followLocked puts a place of a list among the followers of a person.
func (p *people) followLocked(id UserID, l *watchList, slot int) watchSlot {
	w := p.byID[id]
	if w == nil {
		w = &watched{id: UserID(strings.Clone(string(id)))}
		p.byID[w.id] = w
		p.renewLocked(w)
	}
	w.followers = append(w.followers, follower{l.number, uint32(slot)})
	p.edges++
	return watchSlot{person: w, seat: uint32(len(w.followers) - 1)}
}

// unfollowLocked undoes followLocked. The last follower takes the seat.
func (p *people) unfollowLocked(s watchSlot) {
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

// watch replaces the people of a list. It is a no-op for a list that has ended.
func (p *people) watch(l *watchList, ids []UserID) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if l.ended {
		return
	}
	p.watchLocked(l, ids)
}

// watchLocked replaces the people of a list. A person who stays on the list stays as told.
func (p *people) watchLocked(l *watchList, ids []UserID) {
	l.out.mu.Lock()
	had := make(map[UserID]int, len(l.slots))
	for i := range l.slots {
		had[l.slots[i].person.id] = i
	}
	slots, said := make([]watchSlot, len(ids)), make([]relationState, len(ids))
	for i, id := range ids {
		at, ok := had[id]
		if !ok {
			slots[i] = p.followLocked(id, l, i)
			continue
		}
		slots[i], said[i] = l.slots[at], l.said[at]
		slots[i].person.followers[slots[i].seat].slot = uint32(i)
		delete(had, id)
	}
	gone := make([]watchSlot, 0, len(had))
	for _, at := range had {
		gone = append(gone, l.slots[at])
	}
	l.replaceLocked(slots, said, gone)
	l.out.wakeLocked()
	l.out.mu.Unlock()
	for i := range gone { // their seats are right again: l has the new slots
		p.unfollowLocked(gone[i])
	}
}

// end takes a list out of everything, once. Nobody reads it any more.
func (p *people) end(l *watchList) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if l.ended {
		return
	}
	p.forgetContactsLocked(l)
	p.watchLocked(l, nil)
	l.ended = true
	p.lists[l.number] = nil
	p.free = append(p.free, l.number)
}

// Watch replaces the list of users whom the connection watches in [PeopleTopic]: at most
// Config.Watched, each once. It takes the place of the visitor's contacts too, if the
// connection was opened with them. The next events have a leave for each person who is off
// the list, and a join for each one who is new on it and online. Watch returns
// [ErrTooManyPeople], [ErrInvalidUser] or [ErrNoDirectory]; then nothing has changed. It is
// a no-op without that topic. It may be called concurrently, and costs about 0.2 µs a
// person.
func (c *Connection) Watch(people []UserID) error {
	p := c.tracker.people
	if !p.directory.on() {
		return ErrNoDirectory
	}
	ids, err := p.checked(people)
	if err != nil {
		return err
	}
	for _, s := range c.topics() {
		if l, ok := s.from.(*watchList); ok {
			p.rewatch(l, ids)
		}
	}
	return nil
}

// rewatch replaces the people of a list by those whom its page names.
func (p *people) rewatch(l *watchList, ids []UserID) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if l.ended {
		return
	}
	p.forgetContactsLocked(l)
	p.watchLocked(l, ids)
}
