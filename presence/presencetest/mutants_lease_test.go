package presencetest_test

import (
	"context"
	"strings"
	"sync/atomic"
	"time"

	"github.com/rollcall-go/rollcall/presence"
)

// rewriting is a mutant that does other operations than those asked for.
func rewriting(caught string, rewrite func(op presence.Op) []presence.Op) mutant {
	return mutant{caught: caught, plant: func(s presence.Store) presence.Store {
		return planted{Store: s, op: func(_ presence.Topic, op presence.Op) []presence.Op { return rewrite(op) }}
	}}
}

// remembering is rewriting with a view of the lease that the operation is about.
func remembering(caught string, rewrite func(op presence.Op, was entry, there bool) []presence.Op) mutant {
	return mutant{caught: caught, plant: func(s presence.Store) presence.Store {
		book := newLeaseBook()
		return planted{Store: s, op: func(t presence.Topic, op presence.Op) []presence.Op {
			was, there := book.note(t, op)
			return rewrite(op, was, there)
		}}
	}}
}

func with(op presence.Op, kind presence.OpKind, h presence.Holder) presence.Op {
	op.Kind, op.Holder = kind, h
	return op
}

// leaseMutants get leases, the grace and profiles wrong.
func leaseMutants() map[string]mutant {
	return map[string]mutant{
		"lost web lease": rewriting("rule 6/a page view after the stream opened", func(op presence.Op) []presence.Op {
			if op.Kind == presence.OpRelease {
				return []presence.Op{op, with(op, presence.OpDrop, presence.HolderWeb)}
			}
			return []presence.Op{op}
		}),
		"closed tab stays for the period": remembering("rule 6/a closed tab", func(op presence.Op, was entry, there bool) []presence.Op {
			if op.Kind == presence.OpRelease && there {
				return []presence.Op{{Kind: presence.OpSeen, User: was.user, For: time.Minute}, op}
			}
			return []presence.Op{op}
		}),
		"page view as old as the first": rewriting("rule 6/in every order", func(op presence.Op) []presence.Op {
			if op.Kind == presence.OpJoin { // as if each connection opened after the latest page view
				return []presence.Op{with(op, presence.OpDrop, op.Holder), op}
			}
			if op.Kind == presence.OpSeen { // as if the page view held like a connection
				return []presence.Op{op, with(op, presence.OpJoin, "view.1")}
			}
			return []presence.Op{op}
		}),
		"a beat that revives what was released": remembering("rule 5/a heartbeat after a release", func(op presence.Op, _ entry, _ bool) []presence.Op {
			if op.Kind == presence.OpHeartbeat {
				op.User.Name = "Name of " + string(op.User.ID)
				return []presence.Op{with(op, presence.OpJoin, op.Holder)}
			}
			return []presence.Op{op}
		}),
		"expired lease renewed by a beat": remembering("rule 5/a heartbeat of an expired lease", func(op presence.Op, was entry, there bool) []presence.Op {
			if op.Kind == presence.OpHeartbeat && there && !was.until.After(time.Now()) {
				op.User = was.user
				return []presence.Op{with(op, presence.OpJoin, op.Holder)}
			}
			return []presence.Op{op}
		}),
		"a beat that shortens": remembering("rule 5/nothing shortens", func(op presence.Op, was entry, there bool) []presence.Op {
			if op.Kind == presence.OpHeartbeat && there && was.until.After(time.Now()) && op.Holder.IsConnection() {
				again := with(op, presence.OpJoin, op.Holder)
				again.User = was.user
				return []presence.Op{op, with(op, presence.OpJoin, "tmp.1"), with(op, presence.OpDrop, op.Holder), again, with(op, presence.OpDrop, "tmp.1")}
			}
			return []presence.Op{op}
		}),
		"a beat that lengthens nothing": rewriting("rule 5/a heartbeat lengthens", func(op presence.Op) []presence.Op {
			if op.Kind == presence.OpHeartbeat {
				op.For = 0
			}
			return []presence.Op{op}
		}),
		"unknown beats are not told": {caught: "rule 5/a heartbeat makes no lease", plant: func(s presence.Store) presence.Store {
			return planted{Store: s, apply: func(ctx context.Context, batches []presence.Batch) []presence.Result {
				results := s.Apply(ctx, batches)
				for i := range results {
					results[i].Unknown = nil
				}
				return results
			}}
		}},
		"indexes count heartbeats alone": {caught: "rule 5/a heartbeat makes no lease", plant: func(s presence.Store) presence.Store {
			return planted{Store: s, apply: func(ctx context.Context, batches []presence.Batch) []presence.Result {
				results := s.Apply(ctx, batches)
				for i, r := range results {
					for k, at := range r.Unknown {
						beats := 0
						for _, op := range batches[i].Ops[:at] {
							if op.Kind == presence.OpHeartbeat {
								beats++
							}
						}
						r.Unknown[k] = beats
					}
				}
				return results
			}}
		}},
		"a join that comes again joined long ago": remembering("rule 12/a batch that is applied twice", func(op presence.Op, was entry, there bool) []presence.Op {
			if op.Kind == presence.OpJoin && there && was.until.After(time.Now()) {
				return []presence.Op{with(op, presence.OpHeartbeat, op.Holder), with(op, presence.OpUpdate, "")}
			}
			return []presence.Op{op}
		}),
		"grace ignored": rewriting("rule 5/a release holds for the grace", func(op presence.Op) []presence.Op {
			if op.Kind == presence.OpRelease {
				op.For = 0
			}
			return []presence.Op{op}
		}),
		"a grace at every end": rewriting("rule 5/a drop ends at once", func(op presence.Op) []presence.Op {
			if op.Kind == presence.OpDrop && op.Holder.IsConnection() {
				op.Kind, op.For = presence.OpRelease, 10*time.Second
			}
			return []presence.Op{op}
		}),
		"a release of nothing holds": rewriting("rule 2/leaving without a join", func(op presence.Op) []presence.Op {
			if op.Kind == presence.OpRelease {
				op.User.Name = "Name of " + string(op.User.ID)
				return []presence.Op{with(op, presence.OpJoin, op.Holder), op}
			}
			return []presence.Op{op}
		}),
		"the last grace counts": rewriting("rule 5/the longest grace", func(op presence.Op) []presence.Op {
			if op.Kind == presence.OpRelease {
				return []presence.Op{with(op, presence.OpDrop, presence.HolderGrace), op}
			}
			return []presence.Op{op}
		}),
		"sign-out ends streams alone": rewriting("rule 5/a sign-out ends every lease", func(op presence.Op) []presence.Op {
			if op.Kind == presence.OpSignOut {
				return []presence.Op{with(op, presence.OpDrop, "a.1"), with(op, presence.OpDrop, "b.1"), with(op, presence.OpDrop, "a.2")}
			}
			return []presence.Op{op}
		}),
		"page views hold nobody": rewriting("rule 1/page views and streams", func(op presence.Op) []presence.Op {
			if op.Kind == presence.OpSeen {
				op.For = time.Second
			}
			return []presence.Op{op}
		}),
		"the node's clock": {caught: "rule 4/", plant: func(s presence.Store) presence.Store {
			var calls atomic.Int64
			return planted{Store: s, op: func(_ presence.Topic, op presence.Op) []presence.Op {
				if op.Kind == presence.OpJoin && calls.Add(1)%2 == 0 { // every other node is ahead
					op.For += 50 * time.Second
				}
				return []presence.Op{op}
			}}
		}},
		"one connection a user": rewriting("rule 2/a user on two nodes", func(op presence.Op) []presence.Op {
			if op.Holder.IsConnection() {
				op.Holder = "a.1"
			}
			return []presence.Op{op}
		}),
		"the first profile wins": {caught: "profiles/the newest wins", plant: func(s presence.Store) presence.Store {
			first := make(map[presence.UserID]presence.User)
			return planted{Store: s, op: func(_ presence.Topic, op presence.Op) []presence.Op {
				if op.Kind == presence.OpJoin || op.Kind == presence.OpSeen {
					if _, ok := first[op.User.ID]; !ok {
						first[op.User.ID] = op.User
					}
					op.User = first[op.User.ID]
				}
				return []presence.Op{op}
			}}
		}},
		"a status alone clears the rest": rewriting("profiles/a status alone", func(op presence.Op) []presence.Op {
			if op.Kind == presence.OpUpdate && op.User.Name == "" {
				op.User.Name = string(op.User.ID)
			}
			return []presence.Op{op}
		}),
		"an update makes a user": rewriting("profiles/who is not there", func(op presence.Op) []presence.Op {
			if op.Kind == presence.OpUpdate {
				return []presence.Op{{Kind: presence.OpJoin, User: op.User, Holder: "a.1", For: time.Second}, op}
			}
			return []presence.Op{op}
		}),
		"data is lost": rewriting("profiles/every field", func(op presence.Op) []presence.Op {
			op.User.Data = nil
			return []presence.Op{op}
		}),
		"user ids without case": rewriting("user ids/every valid id", func(op presence.Op) []presence.Op {
			op.User.ID = presence.UserID(strings.ToLower(string(op.User.ID)))
			return []presence.Op{op}
		}),
		"user ids are cut": rewriting("user ids/every valid id", func(op presence.Op) []presence.Op {
			op.User.ID = op.User.ID[:min(len(op.User.ID), 127)]
			return []presence.Op{op}
		}),
		"topics by their kind": {caught: "rule 1/topics are apart", plant: func(s presence.Store) presence.Store {
			return planted{Store: s, topic: func(t presence.Topic) presence.Topic { return presence.Topic(t.Kind()) }}
		}},
		"invisible is a status like any other": rewriting("rule 2/an invisible user comes and goes", func(op presence.Op) []presence.Op {
			if op.User.Status == presence.Invisible {
				op.User.Status = presence.Away
			}
			return []presence.Op{op}
		}),
		"a second device gives the invisible away": rewriting("rule 2/a second device", func(op presence.Op) []presence.Op {
			if op.Kind == presence.OpJoin && op.User.Status == "" {
				op.User.Status = presence.Online
			}
			return []presence.Op{op}
		}),
	}
}
