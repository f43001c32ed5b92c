package presencetest_test

import (
	"context"
	"strings"
	"sync/atomic"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
)

// rewriting is a mutant that does other operations than those asked for.
func rewriting(caught string, rewrite func(op backend.Op) []backend.Op) mutant {
	return mutant{caught: caught, plant: func(s backend.Store) backend.Store {
		return planted{Store: s, op: func(_ presence.Topic, op backend.Op) []backend.Op { return rewrite(op) }}
	}}
}

// remembering is rewriting with a view of the lease that the operation is about.
func remembering(caught string, rewrite func(op backend.Op, was entry, there bool) []backend.Op) mutant {
	return mutant{caught: caught, plant: func(s backend.Store) backend.Store {
		book := newLeaseBook()
		return planted{Store: s, op: func(t presence.Topic, op backend.Op) []backend.Op {
			was, there := book.note(t, op)
			return rewrite(op, was, there)
		}}
	}}
}

func with(op backend.Op, kind backend.OpKind, h presence.Holder) backend.Op {
	op.Kind, op.Holder = kind, h
	return op
}

// leaseMutants get leases, the grace and profiles wrong.
func leaseMutants() map[string]mutant {
	return map[string]mutant{
		"lost web lease": rewriting("rule 6/a page view after the stream opened", func(op backend.Op) []backend.Op {
			if op.Kind == backend.OpRelease {
				return []backend.Op{op, with(op, backend.OpDrop, presence.HolderWeb)}
			}
			return []backend.Op{op}
		}),
		"closed tab stays for the period": remembering("rule 6/a closed tab", func(op backend.Op, was entry, there bool) []backend.Op {
			if op.Kind == backend.OpRelease && there {
				return []backend.Op{{Kind: backend.OpSeen, User: was.user, For: time.Minute}, op}
			}
			return []backend.Op{op}
		}),
		"page view as old as the first": rewriting("rule 6/in every order", func(op backend.Op) []backend.Op {
			if op.Kind == backend.OpJoin { // as if each connection opened after the latest page view
				return []backend.Op{with(op, backend.OpDrop, op.Holder), op}
			}
			if op.Kind == backend.OpSeen { // as if the page view held like a connection
				return []backend.Op{op, with(op, backend.OpJoin, "view.1")}
			}
			return []backend.Op{op}
		}),
		"a beat that revives what was released": remembering("rule 5/a heartbeat after a release", func(op backend.Op, _ entry, _ bool) []backend.Op {
			if op.Kind == backend.OpHeartbeat {
				op.User.Name = "Name of " + string(op.User.ID)
				return []backend.Op{with(op, backend.OpJoin, op.Holder)}
			}
			return []backend.Op{op}
		}),
		"expired lease renewed by a beat": remembering("rule 5/a heartbeat of an expired lease", func(op backend.Op, was entry, there bool) []backend.Op {
			if op.Kind == backend.OpHeartbeat && there && !was.until.After(time.Now()) {
				op.User = was.user
				return []backend.Op{with(op, backend.OpJoin, op.Holder)}
			}
			return []backend.Op{op}
		}),
		"a beat that shortens": remembering("rule 5/nothing shortens", func(op backend.Op, was entry, there bool) []backend.Op {
			if op.Kind == backend.OpHeartbeat && there && was.until.After(time.Now()) && op.Holder.IsConnection() {
				again := with(op, backend.OpJoin, op.Holder)
				again.User = was.user
				return []backend.Op{op, with(op, backend.OpJoin, "tmp.1"), with(op, backend.OpDrop, op.Holder), again, with(op, backend.OpDrop, "tmp.1")}
			}
			return []backend.Op{op}
		}),
		"a beat that lengthens nothing": rewriting("rule 5/a heartbeat lengthens", func(op backend.Op) []backend.Op {
			if op.Kind == backend.OpHeartbeat {
				op.For = 0
			}
			return []backend.Op{op}
		}),
		"unknown beats are not told": {caught: "rule 5/a heartbeat makes no lease", plant: func(s backend.Store) backend.Store {
			return planted{Store: s, apply: func(ctx context.Context, batches []backend.Batch) []backend.Result {
				results := s.Apply(ctx, batches)
				for i := range results {
					results[i].Unknown = nil
				}
				return results
			}}
		}},
		"indexes count heartbeats alone": {caught: "rule 5/a heartbeat makes no lease", plant: func(s backend.Store) backend.Store {
			return planted{Store: s, apply: func(ctx context.Context, batches []backend.Batch) []backend.Result {
				results := s.Apply(ctx, batches)
				for i, r := range results {
					for k, at := range r.Unknown {
						beats := 0
						for _, op := range batches[i].Ops[:at] {
							if op.Kind == backend.OpHeartbeat {
								beats++
							}
						}
						r.Unknown[k] = beats
					}
				}
				return results
			}}
		}},
		"a join that comes again joined long ago": remembering("rule 12/a batch that is applied twice", func(op backend.Op, was entry, there bool) []backend.Op {
			if op.Kind == backend.OpJoin && there && was.until.After(time.Now()) {
				return []backend.Op{with(op, backend.OpHeartbeat, op.Holder), with(op, backend.OpUpdate, "")}
			}
			return []backend.Op{op}
		}),
		"grace ignored": rewriting("rule 5/a release holds for the grace", func(op backend.Op) []backend.Op {
			if op.Kind == backend.OpRelease {
				op.For = 0
			}
			return []backend.Op{op}
		}),
		"a grace at every end": rewriting("rule 5/a drop ends at once", func(op backend.Op) []backend.Op {
			if op.Kind == backend.OpDrop && op.Holder.IsConnection() {
				op.Kind, op.For = backend.OpRelease, 10*time.Second
			}
			return []backend.Op{op}
		}),
		"a release of nothing holds": rewriting("rule 2/leaving without a join", func(op backend.Op) []backend.Op {
			if op.Kind == backend.OpRelease {
				op.User.Name = "Name of " + string(op.User.ID)
				return []backend.Op{with(op, backend.OpJoin, op.Holder), op}
			}
			return []backend.Op{op}
		}),
		"the last grace counts": rewriting("rule 5/the longest grace", func(op backend.Op) []backend.Op {
			if op.Kind == backend.OpRelease {
				return []backend.Op{with(op, backend.OpDrop, presence.HolderGrace), op}
			}
			return []backend.Op{op}
		}),
		"sign-out ends streams alone": rewriting("rule 5/a sign-out ends every lease", func(op backend.Op) []backend.Op {
			if op.Kind == backend.OpSignOut {
				return []backend.Op{with(op, backend.OpDrop, "a.1"), with(op, backend.OpDrop, "b.1"), with(op, backend.OpDrop, "a.2")}
			}
			return []backend.Op{op}
		}),
		"page views hold nobody": rewriting("rule 1/page views and streams", func(op backend.Op) []backend.Op {
			if op.Kind == backend.OpSeen {
				op.For = time.Second
			}
			return []backend.Op{op}
		}),
		"the node's clock": {caught: "rule 4/", plant: func(s backend.Store) backend.Store {
			var calls atomic.Int64
			return planted{Store: s, op: func(_ presence.Topic, op backend.Op) []backend.Op {
				if op.Kind == backend.OpJoin && calls.Add(1)%2 == 0 { // every other node is ahead
					op.For += 50 * time.Second
				}
				return []backend.Op{op}
			}}
		}},
		"one connection a user": rewriting("rule 2/a user on two nodes", func(op backend.Op) []backend.Op {
			if op.Holder.IsConnection() {
				op.Holder = "a.1"
			}
			return []backend.Op{op}
		}),
		"the first profile wins": {caught: "profiles/the newest wins", plant: func(s backend.Store) backend.Store {
			first := make(map[presence.UserID]presence.User)
			return planted{Store: s, op: func(_ presence.Topic, op backend.Op) []backend.Op {
				if op.Kind == backend.OpJoin || op.Kind == backend.OpSeen {
					if _, ok := first[op.User.ID]; !ok {
						first[op.User.ID] = op.User
					}
					op.User = first[op.User.ID]
				}
				return []backend.Op{op}
			}}
		}},
		"a status alone clears the rest": rewriting("profiles/a status alone", func(op backend.Op) []backend.Op {
			if op.Kind == backend.OpUpdate && op.User.Name == "" {
				op.User.Name = string(op.User.ID)
			}
			return []backend.Op{op}
		}),
		"an update makes a user": rewriting("profiles/who is not there", func(op backend.Op) []backend.Op {
			if op.Kind == backend.OpUpdate {
				return []backend.Op{{Kind: backend.OpJoin, User: op.User, Holder: "a.1", For: time.Second}, op}
			}
			return []backend.Op{op}
		}),
		"data is lost": rewriting("profiles/every field", func(op backend.Op) []backend.Op {
			op.User.Data = nil
			return []backend.Op{op}
		}),
		"a visibility is kept from the join": rewriting("profiles/a visibility", func(op backend.Op) []backend.Op {
			if op.Kind == backend.OpUpdate {
				op.User.Visibility = nil
			}
			return []backend.Op{op}
		}),
		"user ids without case": rewriting("user ids/every valid id", func(op backend.Op) []backend.Op {
			op.User.ID = presence.UserID(strings.ToLower(string(op.User.ID)))
			return []backend.Op{op}
		}),
		"user ids are cut": rewriting("user ids/every valid id", func(op backend.Op) []backend.Op {
			op.User.ID = op.User.ID[:min(len(op.User.ID), 127)]
			return []backend.Op{op}
		}),
		"topics by their kind": {caught: "rule 1/topics are apart", plant: func(s backend.Store) backend.Store {
			return planted{Store: s, topic: func(t presence.Topic) presence.Topic { return presence.Topic(t.Kind()) }}
		}},
		"invisible is a status like any other": rewriting("rule 2/an invisible user comes and goes", func(op backend.Op) []backend.Op {
			if op.User.Status == presence.Invisible {
				op.User.Status = presence.Away
			}
			return []backend.Op{op}
		}),
		"a second device gives the invisible away": rewriting("rule 2/a second device", func(op backend.Op) []backend.Op {
			if op.Kind == backend.OpJoin && op.User.Status == "" {
				op.User.Status = presence.Online
			}
			return []backend.Op{op}
		}),
	}
}
