package presencetest_test

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
)

// keeping is a mutant that keeps something else than asked for.
func keeping(caught string, keep func(*presence.Keep)) mutant {
	return mutant{caught: caught, plant: func(s backend.Store) backend.Store {
		return planted{Store: s, keep: func(k presence.Keep) presence.Keep {
			keep(&k)
			return k
		}}
	}}
}

// A lister answers Recent in place of a store.
type lister func(context.Context, backend.Store, presence.Topic, backend.RecentQuery) (backend.RecentPage, error)

// listing is a mutant that answers Recent wrongly. Each store gets a function of its own.
func listing(caught string, list func() lister) mutant {
	return mutant{caught: caught, plant: func(s backend.Store) backend.Store {
		recent := list()
		return planted{Store: s, recent: func(ctx context.Context, t presence.Topic, q backend.RecentQuery) (backend.RecentPage, error) {
			return recent(ctx, s, t, q)
		}}
	}}
}

// relisting is listing with other users on the page.
func relisting(caught string, edit func(*backend.RecentUser)) mutant {
	return listing(caught, func() lister {
		return func(ctx context.Context, s backend.Store, t presence.Topic, q backend.RecentQuery) (backend.RecentPage, error) {
			p, err := s.Recent(ctx, t, q)
			for i := range p.Users {
				edit(&p.Users[i])
			}
			return p, err
		}
	})
}

// asking is listing with another query.
func asking(caught string, edit func(*backend.RecentQuery)) mutant {
	return listing(caught, func() lister {
		return func(ctx context.Context, s backend.Store, t presence.Topic, q backend.RecentQuery) (backend.RecentPage, error) {
			edit(&q)
			return s.Recent(ctx, t, q)
		}
	})
}

// recentMutants remember users wrongly.
func recentMutants() map[string]mutant {
	return map[string]mutant{
		"a sign-out always takes the name out": keeping("rule 15/a sign-out takes the user out", func(k *presence.Keep) { k.ForgetSignedOut = true }),
		"a sign-out never takes the name out":  keeping("rule 15/a sign-out takes the user out", func(k *presence.Keep) { k.ForgetSignedOut = false }),
		"names without a bound": keeping("rule 15/the bound evicts", func(k *presence.Keep) {
			if k.Names > 0 {
				k.Names = 1 << 20
			}
		}),
		"names of every topic": keeping("rule 15/a topic that asks for no names", func(k *presence.Keep) { k.Names = max(k.Names, 10) }),
		"names of a site that asked once": {caught: "rule 15/a batch that asks for fewer names", plant: func(s backend.Store) backend.Store {
			most := 0
			return planted{Store: s, keep: func(k presence.Keep) presence.Keep {
				most = max(most, k.Names)
				k.Names = most
				return k
			}}
		}},
		"a heartbeat is activity": rewriting("rule 15/other operations are no activity", func(op backend.Op) []backend.Op {
			if op.Kind == backend.OpHeartbeat {
				return []backend.Op{op, {Kind: backend.OpSeen, User: op.User}}
			}
			return []backend.Op{op}
		}),
		"every join is activity": rewriting("rule 15/other operations are no activity", func(op backend.Op) []backend.Op {
			if op.Kind == backend.OpJoin {
				return []backend.Op{op, {Kind: backend.OpSeen, User: op.User}}
			}
			return []backend.Op{op}
		}),
		"a page view is no activity": rewriting("rule 15/the latest page view", func(op backend.Op) []backend.Op {
			if op.Kind == backend.OpSeen {
				op.Kind, op.Holder = backend.OpJoin, presence.HolderWeb
			}
			return []backend.Op{op}
		}),
		"a leave counts at the sweep": relisting("rule 15/a leave counts at last seen", func(u *backend.RecentUser) {
			if !u.Online {
				u.Active = time.Now()
			}
		}),
		"a leave is no activity": listing("rule 15/the latest page view", func() lister {
			active := make(map[presence.UserID]time.Time)
			return func(ctx context.Context, s backend.Store, t presence.Topic, q backend.RecentQuery) (backend.RecentPage, error) {
				p, err := s.Recent(ctx, t, q)
				for i, u := range p.Users {
					if u.Online {
						active[u.ID] = u.Active
					} else if at, known := active[u.ID]; known {
						p.Users[i].Active = at
					}
				}
				return p, err
			}
		}),
		"the status of who left": relisting("rule 15/who left keeps the name", func(u *backend.RecentUser) {
			if u.Status == "" {
				u.Status = presence.Online
			}
		}),
		"everybody recent is online": relisting("rule 15/who left keeps the name", func(u *backend.RecentUser) {
			u.Online, u.Status = true, presence.Online
		}),
		"names without the group": relisting("rule 15/who left keeps the name", func(u *backend.RecentUser) { u.Group = "" }),
		"the name of the first time": listing("rule 15/the newest profile", func() lister {
			first := make(map[presence.UserID]string)
			return func(ctx context.Context, s backend.Store, t presence.Topic, q backend.RecentQuery) (backend.RecentPage, error) {
				p, err := s.Recent(ctx, t, q)
				for i, u := range p.Users {
					if _, known := first[u.ID]; !known {
						first[u.ID] = u.Name
					}
					p.Users[i].Name = first[u.ID]
				}
				return p, err
			}
		}),
		"a new profile brings back who was evicted": {caught: "rule 15/the newest profile", plant: func(s backend.Store) backend.Store {
			return planted{Store: s, op: func(_ presence.Topic, op backend.Op) []backend.Op {
				if op.Kind == backend.OpUpdate && op.User.Name != "" {
					return []backend.Op{op, {Kind: backend.OpSeen, User: op.User, For: time.Nanosecond}}
				}
				return []backend.Op{op}
			}}
		}},
		"who goes invisible late leaves late": rewriting("rule 2/turning invisible is told late", func(op backend.Op) []backend.Op {
			if op.Kind == backend.OpUpdate {
				op.For = 0
			}
			return []backend.Op{op}
		}),
		"who goes invisible is forgotten": rewriting("rule 2/turning invisible is leaving", func(op backend.Op) []backend.Op {
			if op.User.Status == presence.Invisible {
				op.User.Status = "invisible-"
			}
			return []backend.Op{op}
		}),
		"a sign-out forgets who is invisible": rewriting("rule 2/an invisible user's sign-out", func(op backend.Op) []backend.Op {
			if op.Kind == backend.OpSignOut {
				op.User.Status = ""
			}
			return []backend.Op{op}
		}),
		"recent users by their IDs": listing("rule 15/the latest page view", func() lister {
			return func(ctx context.Context, s backend.Store, t presence.Topic, q backend.RecentQuery) (backend.RecentPage, error) {
				p, err := s.Recent(ctx, t, q)
				slices.SortFunc(p.Users, func(a, b backend.RecentUser) int { return strings.Compare(string(a.ID), string(b.ID)) })
				return p, err
			}
		}),
		"names that are not counted at the end": {caught: "rule 15/what counts is the end of a step", plant: func(s backend.Store) backend.Store {
			return planted{Store: s, apply: func(ctx context.Context, batches []backend.Batch) []backend.Result {
				results := make([]backend.Result, len(batches))
				for i, b := range batches {
					for _, op := range b.Ops {
						s.Apply(ctx, []backend.Batch{{Topic: b.Topic, Ops: []backend.Op{op}, Keep: b.Keep}})
					}
					results[i] = backend.Result{}
				}
				return results
			}}
		}},
	}
}
