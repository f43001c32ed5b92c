package presencetest_test

import (
	"context"
	"strings"
	"sync"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
)

// rosterMutants have wrong pages of a roster, and wrong members.
func rosterMutants() map[string]mutant {
	page := func(caught string, change func(backend.RosterQuery, backend.RosterPage) backend.RosterPage) mutant {
		return mutant{caught: caught, plant: func(s backend.Store) backend.Store { return planted{Store: s, roster: change} }}
	}
	members := func(change func([]presence.UserID, []presence.Member) []presence.Member) mutant {
		return mutant{caught: "rule 2/members", plant: func(s backend.Store) backend.Store { return planted{Store: s, members: change} }}
	}
	var mu sync.Mutex
	known := make(map[presence.UserID]presence.Member)
	return map[string]mutant{
		"a page of a roster ends early": page("rule 1/the pages", func(q backend.RosterQuery, p backend.RosterPage) backend.RosterPage {
			if q.After != "" {
				p.Next = ""
			}
			return p
		}),
		"a page of a roster lacks its last user": page("rule 1/who stays", func(_ backend.RosterQuery, p backend.RosterPage) backend.RosterPage {
			if len(p.Members) > 40 {
				p.Members = p.Members[:len(p.Members)-1]
			}
			return p
		}),
		"pages of a roster by number": {caught: "rule 1/who stays", plant: func(s backend.Store) backend.Store { return numbered{s} }},
		"a page of a roster is of no version": page("rule 3/a page", func(_ backend.RosterQuery, p backend.RosterPage) backend.RosterPage {
			p.ID = backend.Origin
			return p
		}),
		"a page of a roster counts its users alone": page("rule 3/a page", func(_ backend.RosterQuery, p backend.RosterPage) backend.RosterPage {
			p.Total = len(p.Members) + 1
			return p
		}),
		"members lack those who are absent": members(func(_ []presence.UserID, all []presence.Member) []presence.Member {
			var there []presence.Member
			for _, m := range all {
				if m.ID != "" {
					there = append(there, m)
				}
			}
			return there
		}),
		"members have a user who left": members(func(ids []presence.UserID, all []presence.Member) []presence.Member {
			mu.Lock()
			defer mu.Unlock()
			for i, id := range ids {
				if id == "x" && all[i].ID == "" {
					all[i] = known["u"]
					all[i].ID = "x"
				} else {
					known[id] = all[i]
				}
			}
			return all
		}),
	}
}

// numbered has pages of a roster that begin behind so many users, whoever left meanwhile.
type numbered struct{ backend.Store }

func (s numbered) Roster(ctx context.Context, t presence.Topic, q backend.RosterQuery) (backend.RosterPage, error) {
	if strings.Trim(q.After, "_") != "" {
		return backend.RosterPage{}, presence.ErrInvalidPage
	}
	var all []presence.Member
	for next := ""; ; {
		p, err := s.Store.Roster(ctx, t, backend.RosterQuery{After: next, Limit: 1000})
		if err != nil {
			return p, err
		}
		if all, next = append(all, p.Members...), p.Next; next != "" {
			continue
		}
		skip := min(len(q.After), len(all))
		p.Members, p.Next = all[skip:], ""
		if limit := min(max(q.Limit, 1), 1000); len(p.Members) > limit {
			p.Members, p.Next = p.Members[:limit], strings.Repeat("_", skip+limit)
		}
		return p, nil
	}
}
