package track

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rollcall-go/rollcall/presence"
)

// placesNow has all places at one moment.
type placesNow struct {
	places  []presence.Place
	rosters []placeRoster // the rosters of the first places

	once  sync.Once
	of    map[presence.UserID][]int // the places of each user, except large places
	large []int                     // places whose roster is searched for each user instead

	shown atomic.Pointer[shownPlaces]
}

// shownPlaces are places without the users who hid before a moment.
type shownPlaces struct {
	*placesNow
	at time.Time
}

// A placeRoster has the users of a place: from a view of this node's replica, or from the store. It is zero
// if the users are unknown.
type placeRoster struct {
	view    *View
	read    bool              // it was read from the store
	head    presence.DiffID   // the version that was read
	members []presence.Member // all of them, unless cut
	cut     bool              // members are only the newest ones: see maxPlaceMembers
}

// index fills in of and large.
func (n *placesNow) index() {
	n.of = make(map[presence.UserID][]int)
	for i, r := range n.rosters {
		switch {
		case r.view != nil && r.view.roster.len() > maxWholeRoster:
			n.large = append(n.large, i)
		case r.view != nil:
			r.view.roster.byID.Scan(func(e *entry) bool {
				n.of[e.ID] = append(n.of[e.ID], i)
				return true
			})
		case !r.cut:
			for _, m := range r.members {
				n.of[m.ID] = append(n.of[m.ID], i)
			}
		}
	}
}

// fromStore returns the rosters that were read from the store, by topic.
func (n *placesNow) fromStore() map[presence.Topic]placeRoster {
	rosters := make(map[presence.Topic]placeRoster)
	if n != nil {
		for i, r := range n.rosters {
			if r.read {
				rosters[n.places[i].Topic] = r
			}
		}
	}
	return rosters
}

// read asks the store for the list of topics, for their figures, and for the rosters that have changed since before, which may
// be nil.
func (p *places) read(ctx context.Context, tenant string, before *placesNow) (*placesNow, error) {
	topics, err := topicsIn(ctx, p.store, tenant, "", maxPlaces)
	if err != nil {
		return nil, err
	}
	now, heads, err := p.figuresOf(ctx, topics)
	if err != nil {
		return nil, err
	}
	full := now[:min(len(now), maxPlaceRosters)]
	rosters, had := make([]placeRoster, len(full)), before.fromStore()
	var reads sync.WaitGroup
	next := make(chan int)
	for range min(placeReads, len(full)) {
		reads.Go(func() {
			for i := range next {
				rosters[i] = p.rosterOf(ctx, full[i], heads[full[i].Topic], had[full[i].Topic])
			}
		})
	}
	for i := range full {
		next <- i
	}
	close(next)
	reads.Wait()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return placesWith(now, rosters), nil
}

// shownIn returns places that were read, without the users who have hidden since. Mostly there are none. It
// searches at most every placesHide, since a search takes 10 ms for 100,000 users, and until that long after
// the latest user hid, because a roster here may lag by hidesWithin.
func (p *places) shownIn(read *placesNow) *placesNow {
	was := read.shown.Load()
	if was.at.After(p.users.records.lastHid().Add(placesHide)) || time.Since(was.at) < placesHide {
		return was.placesNow
	}
	now := &shownPlaces{p.stillIn(was.placesNow), time.Now()}
	if !read.shown.CompareAndSwap(was, now) {
		return read.shown.Load().placesNow
	}
	return now.placesNow
}

// stillIn returns the previous places with the current rosters of this node, and without the users who turned
// invisible since.
func (p *places) stillIn(before *placesNow) *placesNow {
	places, rosters := slices.Clone(before.places), slices.Clone(before.rosters)
	for i := range rosters {
		r := &rosters[i]
		if r.view != nil {
			r.view = cmp.Or(p.topics.viewHere(places[i].Topic), r.view)
		}
		seen := slices.DeleteFunc(slices.Clone(r.members), func(m presence.Member) bool { return p.users.chosen(m.ID).Base() == presence.Invisible })
		if hid := len(r.members) - len(seen); hid > 0 {
			places[i].Total -= hid
			r.members, r.head = seen, "" // an empty head makes it be read again
		}
	}
	return placesWith(places, rosters)
}

// figuresOf returns the topics that have users or guests, the fullest first, and the version of each.
func (p *places) figuresOf(ctx context.Context, topics []presence.Topic) (now []presence.Place, heads map[presence.Topic]presence.DiffID, err error) {
	heads = make(map[presence.Topic]presence.DiffID, len(topics))
	for some := range slices.Chunk(topics, placesAtOnce) {
		counts, err := p.store.Counts(ctx, some...)
		if err != nil {
			return nil, nil, err
		}
		for i, c := range counts {
			if c.Total+c.Guests > 0 {
				now = append(now, presence.Place{Topic: some[i], Total: c.Total, Guests: c.Guests})
				heads[some[i]] = c.Head
			}
		}
	}
	slices.SortFunc(now, FullestFirst)
	return now, heads, nil
}

// rosterOf returns the users of a place: from the replica here, from the previous read (had), or from the store.
// For a place that is too large to read it loads a replica, like a page that shows the topic.
func (p *places) rosterOf(ctx context.Context, place presence.Place, head presence.DiffID, had placeRoster) placeRoster {
	if place.Total == 0 || p.cfg.Kind(place.Topic).CountOnly {
		return placeRoster{}
	}
	if place.Total > maxWholeRoster {
		r, err := p.topics.loaded(ctx, place.Topic)
		if err != nil {
			return placeRoster{}
		}
		return placeRoster{view: r.view.Load()}
	}
	if view := p.topics.viewHere(place.Topic); view != nil {
		return placeRoster{view: view}
	}
	if had.read && had.head == head {
		return had
	}
	snap, err := p.store.Snapshot(ctx, place.Topic)
	if err != nil {
		return placeRoster{}
	}
	return placeRoster{read: true, head: snap.ID, members: snap.Members}
}

// of returns a place with the users and figures of its roster.
func (r placeRoster) of(place presence.Place) presence.Place {
	switch {
	case r.view != nil:
		place.Total, place.Guests, place.Users = r.view.Total, r.view.Guests, r.view.Newest(maxPlaceUsers)
	case r.read:
		if !r.cut {
			place.Total = len(r.members)
		}
		place.Users = slices.Clip(r.members[:min(len(r.members), maxPlaceUsers)])
	}
	return place
}

// placesWith combines places with the rosters of the first of them, in order. It cuts rosters beyond
// maxPlaceMembers.
func placesWith(places []presence.Place, rosters []placeRoster) *placesNow {
	type full struct {
		presence.Place
		placeRoster
	}
	all := make([]full, 0, len(rosters))
	for i, r := range rosters {
		if place := r.of(places[i]); place.Total+place.Guests > 0 {
			all = append(all, full{place, r})
		}
	}
	slices.SortStableFunc(all, func(a, b full) int { return FullestFirst(a.Place, b.Place) })
	now, kept := new(placesNow), 0
	for _, f := range all {
		if kept += len(f.members); kept > maxPlaceMembers {
			f.members, f.cut = slices.Clone(f.Users), true
		}
		now.places, now.rosters = append(now.places, f.Place), append(now.rosters, f.placeRoster)
	}
	now.places = append(now.places, places[len(rosters):]...)
	return now
}
