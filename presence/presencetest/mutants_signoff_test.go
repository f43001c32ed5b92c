package presencetest_test

import (
	"context"
	"slices"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
)

// signOffMutants sign one browser off wrongly.
func signOffMutants() map[string]mutant {
	signing := func(caught string, off func(op backend.Op) []backend.Op) mutant {
		return rewriting(caught, func(op backend.Op) []backend.Op {
			if op.Kind == backend.OpSignOff {
				return off(op)
			}
			return []backend.Op{op}
		})
	}
	web := func(op backend.Op) backend.Op { return with(op, backend.OpDrop, presence.HolderWeb) }
	return map[string]mutant{
		"a sign-off is a sign-out": signing("rule 19/other connections are left", func(op backend.Op) []backend.Op {
			return []backend.Op{with(op, backend.OpSignOut, "")}
		}),
		"a sign-off ends the page views": signing("rule 19/other connections are left", func(op backend.Op) []backend.Op {
			return []backend.Op{op, web(op)}
		}),
		"a sign-off leaves the connection": signing("rule 19/other connections are left", func(op backend.Op) []backend.Op {
			return []backend.Op{with(op, backend.OpSignOff, "")}
		}),
		"the last sign-off is a drop": signing("rule 19/the last one ends all", func(op backend.Op) []backend.Op {
			return []backend.Op{with(op, backend.OpDrop, op.Holder)}
		}),
		"the last sign-off is a release": signing("rule 19/the last one ends all", func(op backend.Op) []backend.Op {
			return []backend.Op{with(op, backend.OpRelease, op.Holder)}
		}),
		"a browser without a connection stays": signing("rule 19/a browser without a connection", func(op backend.Op) []backend.Op {
			if !op.Holder.IsConnection() || op.Holder == "" {
				return nil
			}
			return []backend.Op{op}
		}),
		"a holder that is no connection is ended": signing("rule 19/a browser without a connection", func(op backend.Op) []backend.Op {
			if op.Holder == presence.HolderGrace {
				return []backend.Op{op, with(op, backend.OpDrop, op.Holder)}
			}
			return []backend.Op{op}
		}),
		"an expired connection is left": remembering("rule 19/a connection that expired", func(op backend.Op, was entry, there bool) []backend.Op {
			if op.Kind == backend.OpSignOff && there && op.Holder == "b.1" {
				return []backend.Op{with(op, backend.OpDrop, op.Holder)}
			}
			return []backend.Op{op}
		}),
		"a sign-off of nobody forgets nothing": signing("rule 19/in one topic", func(op backend.Op) []backend.Op {
			return []backend.Op{with(op, backend.OpDrop, op.Holder), with(op, backend.OpDrop, presence.HolderWeb)}
		}),
		"a sign-off is no proof of life": {caught: "rule 19/it is a proof of life", plant: func(s backend.Store) backend.Store {
			joined := time.Now()
			return planted{Store: s, sightings: func(_ presence.Topic, id presence.UserID, got backend.Sighting) backend.Sighting {
				if id == "v" && !got.Online && !got.LastSeen.IsZero() {
					got.LastSeen = joined
				}
				return got
			}}
		}},
		"a sign-off keeps the name": {caught: "rule 19/the last one takes the name out", plant: func(s backend.Store) backend.Store {
			return planted{Store: s, keep: func(k presence.Keep) presence.Keep {
				k.ForgetSignedOut = false
				return k
			}}
		}},
		"each sign-off takes the name out": {caught: "rule 19/the last one takes the name out", plant: func(s backend.Store) backend.Store {
			signed := false
			return planted{Store: s, op: func(_ presence.Topic, op backend.Op) []backend.Op {
				signed = op.Kind == backend.OpSignOff
				return []backend.Op{op}
			}, recent: func(ctx context.Context, t presence.Topic, q backend.RecentQuery) (backend.RecentPage, error) {
				if signed {
					return backend.RecentPage{}, nil
				}
				return s.Recent(ctx, t, q)
			}}
		}},
		"a repeated sign-off ends another connection": remembering("rule 19/a sign-off that is repeated", func(op backend.Op, _ entry, there bool) []backend.Op {
			if op.Kind == backend.OpSignOff && !there {
				op.Kind = backend.OpSignOut
			}
			return []backend.Op{op}
		}),
		"two sign-offs at once leave a connection": {caught: "rule 19/two browsers sign off at once", plant: func(s backend.Store) backend.Store {
			return planted{Store: s, apply: func(ctx context.Context, batches []backend.Batch) []backend.Result {
				for _, b := range batches {
					for _, op := range b.Ops {
						if op.Kind == backend.OpSignOff { // read, then write
							users, _ := s.Inspect(ctx, b.Topic, "", 100)
							others := slices.ContainsFunc(users, func(u backend.Inspected) bool {
								return u.ID == op.User.ID && slices.ContainsFunc(u.Leases, func(l backend.Lease) bool {
									return l.Holder.IsConnection() && l.Holder != op.Holder
								})
							})
							time.Sleep(time.Millisecond)
							if others {
								op.Kind = backend.OpDrop
							}
							return s.Apply(ctx, []backend.Batch{{Topic: b.Topic, Keep: b.Keep, Ops: []backend.Op{op}}})
						}
					}
				}
				return s.Apply(ctx, batches)
			}}
		}},
	}
}

// staffMutants answer Topics and Inspect wrongly.
func staffMutants() map[string]mutant {
	listing := func(caught string, topics func(context.Context, backend.Store, presence.Topic, int) ([]presence.Topic, error)) mutant {
		return mutant{caught: caught, plant: func(s backend.Store) backend.Store {
			return planted{Store: s, topics: func(ctx context.Context, after presence.Topic, most int) ([]presence.Topic, error) {
				return topics(ctx, s, after, most)
			}}
		}}
	}
	looking := func(caught string, edit func([]backend.Inspected) []backend.Inspected) mutant {
		return mutant{caught: caught, plant: func(s backend.Store) backend.Store {
			return planted{Store: s, inspect: func(ctx context.Context, t presence.Topic, after presence.UserID, most int) ([]backend.Inspected, error) {
				users, err := s.Inspect(ctx, t, after, most)
				return edit(users), err
			}}
		}}
	}
	return map[string]mutant{
		"topics with visible users alone": listing("topics/every topic", func(ctx context.Context, s backend.Store, after presence.Topic, most int) ([]presence.Topic, error) {
			topics, err := s.Topics(ctx, after, most)
			return slices.DeleteFunc(topics, func(t presence.Topic) bool {
				c, _ := s.Counts(ctx, t)
				return c[0].Total == 0
			}), err
		}),
		"topics as long as their names": listing("topics/they come by their bytes", func(ctx context.Context, s backend.Store, after presence.Topic, most int) ([]presence.Topic, error) {
			topics, err := s.Topics(ctx, after, most)
			slices.SortStableFunc(topics, func(a, b presence.Topic) int { return len(a) - len(b) })
			return topics, err
		}),
		"topics since ever": {caught: "topics/a topic is forgotten", plant: func(s backend.Store) backend.Store {
			known := make(map[presence.Topic]bool)
			return planted{Store: s, op: func(t presence.Topic, op backend.Op) []backend.Op {
				known[t] = true
				return []backend.Op{op}
			}, topics: func(_ context.Context, after presence.Topic, most int) (all []presence.Topic, _ error) {
				for t := range known {
					if t > after {
						all = append(all, t)
					}
				}
				slices.Sort(all)
				return all[:min(max(most, 0), len(all))], nil
			}}
		}},
		"staff do not see the invisible": looking("inspect/users come with what holds them", func(users []backend.Inspected) []backend.Inspected {
			return slices.DeleteFunc(users, func(u backend.Inspected) bool { return u.Status == presence.Invisible })
		}),
		"staff see connections alone": looking("inspect/users come with what holds them", func(users []backend.Inspected) []backend.Inspected {
			for i := range users {
				users[i].Leases = slices.DeleteFunc(users[i].Leases, func(l backend.Lease) bool { return !l.Holder.IsConnection() })
			}
			return users
		}),
		"staff see who is expired as held": looking("inspect/an expired lease", func(users []backend.Inspected) []backend.Inspected {
			for _, u := range users {
				for k := range u.Leases {
					u.Leases[k].Left = max(u.Leases[k].Left, time.Second)
				}
			}
			return users
		}),
		"staff see users by their coming": looking("inspect/users come by their IDs", func(users []backend.Inspected) []backend.Inspected {
			slices.SortStableFunc(users, func(a, b backend.Inspected) int { return presence.NewestFirst(b.Member, a.Member) })
			return users
		}),
		"names stay when all has gone": {caught: "rule 9/nothing remains of what a site wanted", plant: func(s backend.Store) backend.Store {
			return planted{Store: s, recent: func(ctx context.Context, t presence.Topic, q backend.RecentQuery) (backend.RecentPage, error) {
				q.Within = backend.MaxWithin
				return s.Recent(ctx, t, q)
			}}
		}},
	}
}
