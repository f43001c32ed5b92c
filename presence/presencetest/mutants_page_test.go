package presencetest_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
)

// pageMutants page wrongly.
func pageMutants() map[string]mutant {
	return map[string]mutant{
		"pages by number": listing("rule 15/pages hold each user once", func() lister {
			return func(ctx context.Context, s backend.Store, t presence.Topic, q backend.RecentQuery) (backend.RecentPage, error) {
				skip, limit := len(q.After), min(max(q.Limit, 1), 1000)
				if strings.Trim(q.After, "x") != "" {
					return backend.RecentPage{}, presence.ErrInvalidPage
				}
				q.After, q.Limit = "", 1000
				p, err := s.Recent(ctx, t, q)
				rest := p.Users[min(skip, len(p.Users)):]
				p.Users, p.Next = rest[:min(limit, len(rest))], ""
				if len(rest) > limit {
					p.Next = strings.Repeat("x", skip+limit)
				}
				return p, err
			}
		}),
		"a page begins with the last of the former": listing("rule 15/pages hold each user once", func() lister {
			return func(ctx context.Context, s backend.Store, t presence.Topic, q backend.RecentQuery) (backend.RecentPage, error) {
				p, err := s.Recent(ctx, t, q)
				if p.Next != "" && q.Limit > 1 {
					q.Limit--
					shorter, _ := s.Recent(ctx, t, q)
					p.Next = shorter.Next
				}
				return p, err
			}
		}),
		"a page that cannot be read is the first": listing("rule 15/a page that cannot be read", func() lister {
			return func(ctx context.Context, s backend.Store, t presence.Topic, q backend.RecentQuery) (backend.RecentPage, error) {
				p, err := s.Recent(ctx, t, q)
				if errors.Is(err, presence.ErrInvalidPage) {
					q.After = ""
					return s.Recent(ctx, t, q)
				}
				return p, err
			}
		}),
		"a page that cannot be read is an error like any": listing("rule 15/a page that cannot be read", func() lister {
			return func(ctx context.Context, s backend.Store, t presence.Topic, q backend.RecentQuery) (backend.RecentPage, error) {
				p, err := s.Recent(ctx, t, q)
				if err != nil {
					err = errors.New("bad page")
				}
				return p, err
			}
		}),
		"pages without a limit": asking("rule 15/a page has one to a thousand", func(q *backend.RecentQuery) {
			if q.Limit > 100 {
				q.Limit = 999
			}
		}),
		"the total is of the page": listing("rule 15/a page has one to a thousand", func() lister {
			return func(ctx context.Context, s backend.Store, t presence.Topic, q backend.RecentQuery) (backend.RecentPage, error) {
				p, err := s.Recent(ctx, t, q)
				p.Total = len(p.Users)
				return p, err
			}
		}),
		"both periods are a day": asking("rule 15/without a time the page is of both", func(q *backend.RecentQuery) {
			if q.Within <= 0 {
				q.Within = backend.MaxWithin
			}
		}),
		"a day is both periods": asking("rule 15/with a time the page reaches", func(q *backend.RecentQuery) { q.Within = 0 }),
		"whatever the time, a day": asking("rule 15/with a time the page reaches", func(q *backend.RecentQuery) {
			if q.Within > 0 {
				q.Within = backend.MaxWithin
			}
		}),
		"who is asked for and unknown is left out": askedByID(func(_ []presence.UserID, all []backend.RecentUser) []backend.RecentUser {
			return slices.DeleteFunc(all, func(u backend.RecentUser) bool { return u.ID == "" })
		}),
		"who is asked for is as online as before": askedByID(func(_ []presence.UserID, all []backend.RecentUser) []backend.RecentUser {
			for i := range all {
				all[i].Online = false
			}
			return all
		}),
		"names for two days": {caught: "rule 15/names are remembered for MaxWithin", plant: func(s backend.Store) backend.Store {
			var last backend.RecentPage
			return planted{Store: s, recent: func(ctx context.Context, t presence.Topic, q backend.RecentQuery) (backend.RecentPage, error) {
				p, err := s.Recent(ctx, t, q)
				if len(p.Users) == 0 && len(last.Users) > 0 && time.Since(last.Users[0].Active) < 2*backend.MaxWithin {
					return last, err
				}
				if p.Next == "" {
					last = p
				}
				return p, err
			}}
		}},
		"pages end at a user with an odd ID": listing("rule 15/a user id of any kind", func() lister {
			return func(ctx context.Context, s backend.Store, t presence.Topic, q backend.RecentQuery) (backend.RecentPage, error) {
				p, err := s.Recent(ctx, t, q)
				if n := len(p.Users); n > 0 && strings.ContainsAny(string(p.Users[n-1].ID), ".:") {
					p.Next = ""
				}
				return p, err
			}
		}),
	}
}

// askedByID is a mutant that answers Remembered wrongly.
func askedByID(change func([]presence.UserID, []backend.RecentUser) []backend.RecentUser) mutant {
	return mutant{caught: "rule 15/who is asked for by the id", plant: func(s backend.Store) backend.Store {
		return planted{Store: s, remembered: change}
	}}
}
