package presencetest_test

import (
	"context"
	"slices"
	"time"

	"github.com/rollcall-go/rollcall/presence"
)

// signOffMutants sign one browser off wrongly.
func signOffMutants() map[string]mutant {
	signing := func(caught string, off func(op presence.Op) []presence.Op) mutant {
		return rewriting(caught, func(op presence.Op) []presence.Op {
			if op.Kind == presence.OpSignOff {
				return off(op)
			}
			return []presence.Op{op}
		})
	}
	web := func(op presence.Op) presence.Op { return with(op, presence.OpDrop, presence.HolderWeb) }
	return map[string]mutant{
		"a sign-off is a sign-out": signing("rule 19/other connections are left", func(op presence.Op) []presence.Op {
			return []presence.Op{with(op, presence.OpSignOut, "")}
		}),
		"a sign-off ends the page views": signing("rule 19/other connections are left", func(op presence.Op) []presence.Op {
			return []presence.Op{op, web(op)}
		}),
		"a sign-off leaves the connection": signing("rule 19/other connections are left", func(op presence.Op) []presence.Op {
			return []presence.Op{with(op, presence.OpSignOff, "")}
		}),
		"the last sign-off is a drop": signing("rule 19/the last one ends all", func(op presence.Op) []presence.Op {
			return []presence.Op{with(op, presence.OpDrop, op.Holder)}
		}),
		"the last sign-off is a release": signing("rule 19/the last one ends all", func(op presence.Op) []presence.Op {
			return []presence.Op{with(op, presence.OpRelease, op.Holder)}
		}),
		"a browser without a connection stays": signing("rule 19/a browser without a connection", func(op presence.Op) []presence.Op {
			if !op.Holder.IsConnection() || op.Holder == "" {
				return nil
			}
			return []presence.Op{op}
		}),
		"a holder that is no connection is ended": signing("rule 19/a browser without a connection", func(op presence.Op) []presence.Op {
			if op.Holder == presence.HolderGrace {
				return []presence.Op{op, with(op, presence.OpDrop, op.Holder)}
			}
			return []presence.Op{op}
		}),
		"an expired connection is left": remembering("rule 19/a connection that expired", func(op presence.Op, was entry, there bool) []presence.Op {
			if op.Kind == presence.OpSignOff && there && op.Holder == "b.1" {
				return []presence.Op{with(op, presence.OpDrop, op.Holder)}
			}
			return []presence.Op{op}
		}),
		"a sign-off of nobody forgets nothing": signing("rule 19/in one topic", func(op presence.Op) []presence.Op {
			return []presence.Op{with(op, presence.OpDrop, op.Holder), with(op, presence.OpDrop, presence.HolderWeb)}
		}),
		"a sign-off is no proof of life": {caught: "rule 19/it is a proof of life", plant: func(s presence.Store) presence.Store {
			joined := time.Now()
			return planted{Store: s, sightings: func(_ presence.Topic, id presence.UserID, got presence.Sighting) presence.Sighting {
				if id == "v" && !got.Online && !got.LastSeen.IsZero() {
					got.LastSeen = joined
				}
				return got
			}}
		}},
		"a sign-off keeps the name": {caught: "rule 19/the last one takes the name out", plant: func(s presence.Store) presence.Store {
			return planted{Store: s, keep: func(k presence.Keep) presence.Keep {
				k.ForgetSignedOut = false
				return k
			}}
		}},
		"each sign-off takes the name out": {caught: "rule 19/the last one takes the name out", plant: func(s presence.Store) presence.Store {
			signed := false
			return planted{Store: s, op: func(_ presence.Topic, op presence.Op) []presence.Op {
				signed = op.Kind == presence.OpSignOff
				return []presence.Op{op}
			}, recent: func(ctx context.Context, t presence.Topic, q presence.RecentQuery) (presence.RecentPage, error) {
				if signed {
					return presence.RecentPage{}, nil
				}
				return s.Recent(ctx, t, q)
			}}
		}},
		"a repeated sign-off ends another connection": remembering("rule 19/a sign-off that is repeated", func(op presence.Op, _ entry, there bool) []presence.Op {
			if op.Kind == presence.OpSignOff && !there {
				op.Kind = presence.OpSignOut
			}
			return []presence.Op{op}
		}),
		"two sign-offs at once leave a connection": {caught: "rule 19/two browsers sign off at once", plant: func(s presence.Store) presence.Store {
			return planted{Store: s, apply: func(ctx context.Context, batches []presence.Batch) []presence.Result {
				for _, b := range batches {
					for _, op := range b.Ops {
						if op.Kind == presence.OpSignOff { // read, then write
							users, _ := s.Inspect(ctx, b.Topic, "", 100)
							others := slices.ContainsFunc(users, func(u presence.Inspected) bool {
								return u.ID == op.User.ID && slices.ContainsFunc(u.Leases, func(l presence.Lease) bool {
									return l.Holder.IsConnection() && l.Holder != op.Holder
								})
							})
							time.Sleep(time.Millisecond)
							if others {
								op.Kind = presence.OpDrop
							}
							return s.Apply(ctx, []presence.Batch{{Topic: b.Topic, Keep: b.Keep, Ops: []presence.Op{op}}})
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
	listing := func(caught string, topics func(context.Context, presence.Store, presence.Topic, int) ([]presence.Topic, error)) mutant {
		return mutant{caught: caught, plant: func(s presence.Store) presence.Store {
			return planted{Store: s, topics: func(ctx context.Context, after presence.Topic, most int) ([]presence.Topic, error) {
				return topics(ctx, s, after, most)
			}}
		}}
	}
	looking := func(caught string, edit func([]presence.Inspected) []presence.Inspected) mutant {
		return mutant{caught: caught, plant: func(s presence.Store) presence.Store {
			return planted{Store: s, inspect: func(ctx context.Context, t presence.Topic, after presence.UserID, most int) ([]presence.Inspected, error) {
				users, err := s.Inspect(ctx, t, after, most)
				return edit(users), err
			}}
		}}
	}
	return map[string]mutant{
		"topics with visible users alone": listing("topics/every topic", func(ctx context.Context, s presence.Store, after presence.Topic, most int) ([]presence.Topic, error) {
			topics, err := s.Topics(ctx, after, most)
			return slices.DeleteFunc(topics, func(t presence.Topic) bool {
				c, _ := s.Counts(ctx, t)
				return c[0].Total == 0
			}), err
		}),
		"topics as long as their names": listing("topics/they come by their bytes", func(ctx context.Context, s presence.Store, after presence.Topic, most int) ([]presence.Topic, error) {
			topics, err := s.Topics(ctx, after, most)
			slices.SortStableFunc(topics, func(a, b presence.Topic) int { return len(a) - len(b) })
			return topics, err
		}),
		"topics since ever": {caught: "topics/a topic is forgotten", plant: func(s presence.Store) presence.Store {
			known := make(map[presence.Topic]bool)
			return planted{Store: s, op: func(t presence.Topic, op presence.Op) []presence.Op {
				known[t] = true
				return []presence.Op{op}
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
		"staff do not see the invisible": looking("inspect/users come with what holds them", func(users []presence.Inspected) []presence.Inspected {
			return slices.DeleteFunc(users, func(u presence.Inspected) bool { return u.Status == presence.Invisible })
		}),
		"staff see connections alone": looking("inspect/users come with what holds them", func(users []presence.Inspected) []presence.Inspected {
			for i := range users {
				users[i].Leases = slices.DeleteFunc(users[i].Leases, func(l presence.Lease) bool { return !l.Holder.IsConnection() })
			}
			return users
		}),
		"staff see who is expired as held": looking("inspect/an expired lease", func(users []presence.Inspected) []presence.Inspected {
			for _, u := range users {
				for k := range u.Leases {
					u.Leases[k].Left = max(u.Leases[k].Left, time.Second)
				}
			}
			return users
		}),
		"staff see users by their coming": looking("inspect/users come by their IDs", func(users []presence.Inspected) []presence.Inspected {
			slices.SortStableFunc(users, func(a, b presence.Inspected) int { return presence.NewestFirst(b.Member, a.Member) })
			return users
		}),
		"names stay when all has gone": {caught: "rule 9/nothing remains of what a site wanted", plant: func(s presence.Store) presence.Store {
			return planted{Store: s, recent: func(ctx context.Context, t presence.Topic, q presence.RecentQuery) (presence.RecentPage, error) {
				q.Within = presence.MaxWithin
				return s.Recent(ctx, t, q)
			}}
		}},
	}
}
