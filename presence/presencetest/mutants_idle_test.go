package presencetest_test

import (
	"context"

	"github.com/rollcall-go/rollcall/presence"
)

// idleMutants get wrong who is idle.
func idleMutants() map[string]mutant {
	saying := func(caught string, kind presence.OpKind, say func(presence.Op) []presence.Op) mutant {
		return rewriting(caught, func(op presence.Op) []presence.Op {
			if op.Kind == kind {
				return say(op)
			}
			return []presence.Op{op}
		})
	}
	attend := func(op presence.Op, idle bool) presence.Op {
		op.Kind, op.Idle = presence.OpAttend, idle
		return op
	}
	one := func(op presence.Op) []presence.Op { return []presence.Op{op} }
	return map[string]mutant{
		"an attend is a heartbeat": saying("rule 24/a user is idle while", presence.OpAttend, func(op presence.Op) []presence.Op {
			return one(with(op, presence.OpHeartbeat, op.Holder))
		}),
		"a page is idle for all pages": saying("rule 24/a user is idle while", presence.OpAttend, func(op presence.Op) []presence.Op {
			return []presence.Op{op, attend(with(op, op.Kind, "a.1"), op.Idle), attend(with(op, op.Kind, "b.1"), op.Idle)}
		}),
		"once idle, always idle": saying("rule 24/a user is idle while", presence.OpAttend, func(op presence.Op) []presence.Op {
			return one(attend(op, true))
		}),
		"a page that joins is attended": saying("rule 24/a join says it too", presence.OpJoin, func(op presence.Op) []presence.Op {
			op.Idle = false
			return one(op)
		}),
		"a heartbeat is somebody": saying("rule 24/nothing else", presence.OpHeartbeat, func(op presence.Op) []presence.Op {
			return one(attend(op, false))
		}),
		"a follow is somebody": saying("rule 24/nothing else", presence.OpFollow, func(op presence.Op) []presence.Op {
			return []presence.Op{op, attend(op, false)}
		}),
		"an attend makes a lease": saying("rule 24/an attend lengthens", presence.OpAttend, func(op presence.Op) []presence.Op {
			op.User.Name = "Name of " + string(op.User.ID)
			return one(with(op, presence.OpJoin, op.Holder))
		}),
		"an attend lengthens nothing": saying("rule 24/an attend lengthens", presence.OpAttend, func(op presence.Op) []presence.Op {
			op.For = 0
			return one(op)
		}),
		"idle is a status": {caught: "rule 24/the status stays", plant: func(s presence.Store) presence.Store {
			return planted{Store: s, op: func(_ presence.Topic, op presence.Op) []presence.Op {
				if op.Kind == presence.OpAttend && op.Idle {
					return []presence.Op{op, {Kind: presence.OpUpdate, User: presence.User{ID: op.User.ID, Status: presence.Idle}}}
				}
				return []presence.Op{op}
			}}
		}},
		"a page view is nobody": saying("rule 24/a page view is somebody", presence.OpSeen, func(op presence.Op) []presence.Op {
			view := with(op, presence.OpJoin, "view.1")
			view.Idle = true
			return []presence.Op{op, view, with(op, presence.OpDrop, "view.1")}
		}),
		"a grace is somebody": saying("rule 24/the grace", presence.OpRelease, func(op presence.Op) []presence.Op {
			said := attend(op, false)
			said.For = 0
			return []presence.Op{said, op}
		}),
		"a grace is nobody": saying("rule 24/the grace", presence.OpRelease, func(op presence.Op) []presence.Op {
			said := attend(op, true)
			said.For = 0
			return []presence.Op{said, op}
		}),
		"who is seen is there": {caught: "rule 24/a user is idle while", plant: func(s presence.Store) presence.Store {
			return planted{Store: s, sightings: func(_ presence.Topic, _ presence.UserID, seen presence.Sighting) presence.Sighting {
				seen.Idle = false
				return seen
			}}
		}},
		"idle by the next diff alone": {caught: "rule 24/a user is idle while", plant: func(s presence.Store) presence.Store {
			return planted{Store: s, snapshot: func(ctx context.Context, t presence.Topic) (presence.Snapshot, error) {
				snap, err := s.Snapshot(ctx, t)
				for i := range snap.Members {
					snap.Members[i].Idle = false
				}
				return snap, err
			}}
		}},
		"idle in all topics": {caught: "rule 24/in each topic", plant: func(s presence.Store) presence.Store {
			return planted{Store: s, apply: func(ctx context.Context, batches []presence.Batch) []presence.Result {
				for _, b := range batches {
					for _, op := range b.Ops {
						if op.Kind == presence.OpAttend && b.Topic == presence.Site {
							s.Apply(ctx, []presence.Batch{{Topic: "thread:1", Ops: []presence.Op{op}}})
						}
					}
				}
				return s.Apply(ctx, batches)
			}}
		}},
		"the invisible are attended": {caught: "rule 24/who turns visible", plant: func(s presence.Store) presence.Store {
			return planted{Store: s, op: func(_ presence.Topic, op presence.Op) []presence.Op {
				if op.Kind == presence.OpUpdate && op.User.Status == presence.Online {
					return []presence.Op{{Kind: presence.OpAttend, User: op.User, Holder: "a.1", For: 1}, op}
				}
				return []presence.Op{op}
			}}
		}},
		"an attend is a page view": saying("rule 24/an attend is a proof of life", presence.OpAttend, func(op presence.Op) []presence.Op {
			view := op
			view.Kind, view.User.Name = presence.OpSeen, "Name of "+string(op.User.ID)
			return []presence.Op{op, view}
		}),
	}
}
