package presencetest

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
)

// compare compares all that the store reports of a topic with the oracle, and returns it
// as text. The last move may have made most diffs at most.
func (b *board) compare(s square, most int) (view string, err error) {
	stored, err := read(b.Context(), b.store, s.name)
	if err != nil {
		return "", err
	}
	diffs, err := s.news(b.Context())
	if err != nil {
		return "", err
	}
	if len(diffs) > most {
		return "", fmt.Errorf("the move made %d diffs, want %d at most", len(diffs), most)
	}
	if err := s.roster.equal(stored); err != nil {
		return "", fmt.Errorf("by the diffs, %w, as the snapshot says", err)
	}
	held, err := b.compareLeases(s)
	if err != nil {
		return "", err
	}
	foreseen := b.foresee(s)
	foreseen.id = stored.id
	if err := stored.equal(foreseen); err != nil {
		return "", fmt.Errorf("by the snapshot, %w, as the rules say", err)
	}
	counts, err := b.compareCounts(s, stored)
	if err != nil {
		return "", err
	}
	extras, err := b.compareExtras(s, stored, counts)
	if err != nil {
		return "", err
	}
	for _, id := range stored.names() {
		m := stored.members[id]
		view += fmt.Sprintf(" %q as %q %s, idle: %v, since %v,", id, m.Name, m.Status, m.Idle, m.Since.Sub(b.start))
	}
	if err := s.compareLeaves(diffs); err != nil {
		return "", err
	}
	left, err := b.compareSightings(s)
	return view + held + left + extras, err
}

// foresee returns the roster that the oracle expects.
func (b *board) foresee(s square) *roster {
	r := &roster{members: make(map[presence.UserID]presence.Member)}
	for id, p := range s.people {
		if p.shown {
			r.members[id] = presence.Member{User: p.User, Since: s.start.Add(p.since), Active: p.active, Idle: p.idle}
		}
	}
	return r
}

// compareCounts also returns the figures.
func (b *board) compareCounts(s square, stored *roster) (backend.Counts, error) {
	var c backend.Counts
	counts, err := b.store.Counts(b.Context(), s.name)
	if err != nil || len(counts) != 1 {
		return c, fmt.Errorf("counts: got %+v, %w, want one and no error", counts, err)
	}
	c = counts[0]
	if c.Total != len(stored.members) || c.Head != stored.id {
		return c, fmt.Errorf("counts are %+v, want a total of %d at %q", c, len(stored.members), stored.id)
	}
	// Rule 8: one period at least, and gameWindow at most.
	for _, figure := range []struct {
		what             string
		got, least, most int
	}{
		{"recent", c.Recent, within(s.views, s.now, gamePeriod), within(s.views, s.now, gameWindow)},
		{"guests", c.Guests, within(s.guests, s.now, gamePeriod), within(s.guests, s.now, gameWindow)},
	} {
		if figure.got < figure.least || figure.got > figure.most {
			return c, fmt.Errorf("%s is %d, want %d to %d", figure.what, figure.got, figure.least, figure.most)
		}
	}
	return c, nil
}

// compareLeaves: rule 5, for the latest leave of each user who did not come back.
func (s square) compareLeaves(diffs []backend.Diff) error {
	latest := make(map[presence.UserID]backend.Departure)
	for _, d := range diffs {
		for _, l := range d.Leaves {
			latest[l.ID] = l
		}
	}
	for id, l := range latest {
		if p := s.people[id]; p != nil && p.shown {
			continue
		}
		var want time.Time
		if at := s.told[id]; at > 0 {
			want = s.start.Add(at)
		}
		if !sameTime(l.LastSeen, want) {
			return fmt.Errorf("the leave of %q tells last seen %v, want %v", id, l.LastSeen, want)
		}
	}
	return nil
}

func (b *board) compareSightings(s square) (view string, err error) {
	got, err := b.store.Sightings(b.Context(), s.name, gameUsers[:]...)
	if err != nil || len(got) != len(gameUsers) {
		return "", fmt.Errorf("sightings: got %+v, %w, want %d and no error", got, err, len(gameUsers))
	}
	for i, id := range gameUsers {
		var want backend.Sighting
		if p := s.people[id]; p != nil && p.shown {
			want = backend.Sighting{Online: true, Status: p.Status, Idle: p.idle}
		} else if at, left := s.left[id]; left {
			want.LastSeen = s.start.Add(at)
			view += fmt.Sprintf(" %q was seen %v,", id, got[i].LastSeen.Sub(b.start).Round(time.Millisecond))
		}
		if err := s.compareHolders(id, got[i]); err != nil {
			return "", err
		}
		if got[i].Online != want.Online || got[i].Status != want.Status || got[i].Idle != want.Idle || !sameTime(got[i].LastSeen, want.LastSeen) {
			return "", fmt.Errorf("the sighting of %q is %+v, want %+v", id, got[i], want)
		}
	}
	return view, nil
}

// compareHolders: what a sighting says holds a user, by compareLeases.
func (s square) compareHolders(id presence.UserID, got backend.Sighting) error {
	p := cmp.Or(s.people[id], &person{})
	if !p.shown {
		p = &person{}
	}
	pages := 0
	for _, h := range got.Holders {
		pages += p.holds[h].pages
	}
	if got.Pages != pages {
		return fmt.Errorf("%q has %d pages by %q, want %d", id, got.Pages, got.Holders, pages)
	}
	return p.compareHeld(got.Holders)
}

// compareLeases compares all leases. A store may sweep an expired one whenever it likes, and whether it shows who is not known,
// is its own matter. It returns the leases that have not expired.
func (b *board) compareLeases(s square) (view string, err error) {
	users, err := b.store.Inspect(b.Context(), s.name, "", 1000)
	if err != nil {
		return "", fmt.Errorf("inspect: %w", err)
	}
	leases := make(map[presence.UserID]map[presence.Holder]backend.Lease)
	for _, u := range users {
		leases[u.ID] = make(map[presence.Holder]backend.Lease)
		for _, l := range u.Leases {
			leases[u.ID][l.Holder] = l
		}
	}
	s.oracle.sweep(false, func(p *person, h presence.Holder) bool {
		_, there := leases[p.ID][h]
		return !there && (p.known || leases[p.ID] != nil)
	})
	for _, u := range users {
		p := cmp.Or(s.people[u.ID], &person{})
		var holders []presence.Holder
		for _, l := range u.Leases {
			holders = append(holders, l.Holder)
			want := p.holds[l.Holder]
			if left := want.until - s.now; l.Pages != want.pages || (l.Left-left).Abs() > time.Millisecond {
				return "", fmt.Errorf("a lease of %q is %+v, want %d pages for %v", u.ID, l, want.pages, left)
			}
			if l.Left > 0 && p.known {
				view += fmt.Sprintf(" %q by %s with %d pages,", u.ID, l.Holder, l.Pages)
			}
		}
		if err := p.compareHeld(holders); err != nil || len(holders) == 0 {
			return "", fmt.Errorf("inspect shows %q with %d leases: %w", u.ID, len(holders), err)
		}
	}
	for id, p := range s.people {
		if _, there := leases[id]; !there && p.known && len(p.holds) > 0 {
			return "", fmt.Errorf("inspect lacks %q, who is held by %v", id, p.holds)
		}
	}
	return view, nil
}

// compareHeld: rule 1.
func (p *person) compareHeld(got []presence.Holder) error {
	if want := slices.Sorted(maps.Keys(p.holds)); !slices.Equal(got, want) {
		return fmt.Errorf("%q is held by %q, want %q in this order", p.ID, got, want)
	}
	return nil
}
