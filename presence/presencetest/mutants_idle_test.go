package presencetest_test

import (
	"context"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
)

// idleMutants get wrong who is idle.
func idleMutants() map[string]mutant {
	saying := func(caught string, kind backend.OpKind, say func(backend.Op) []backend.Op) mutant {
		return rewriting(caught, func(op backend.Op) []backend.Op {
			if op.Kind == kind {
				return say(op)
			}
			return []backend.Op{op}
		})
	}
	attend := func(op backend.Op, idle bool) backend.Op {
		op.Kind, op.Idle = backend.OpAttend, idle
		return op
	}
	one := func(op backend.Op) []backend.Op { return []backend.Op{op} }
	return map[string]mutant{
		"an attend is a heartbeat": saying("rule 24/a user is idle while", backend.OpAttend, func(op backend.Op) []backend.Op {
			return one(with(op, backend.OpHeartbeat, op.Holder))
		}),
		"a page is idle for all pages": saying("rule 24/a user is idle while", backend.OpAttend, func(op backend.Op) []backend.Op {
			return []backend.Op{op, attend(with(op, op.Kind, "a.1"), op.Idle), attend(with(op, op.Kind, "b.1"), op.Idle)}
		}),
		"once idle, always idle": saying("rule 24/a user is idle while", backend.OpAttend, func(op backend.Op) []backend.Op {
			return one(attend(op, true))
		}),
		"a page that joins is attended": saying("rule 24/a join says it too", backend.OpJoin, func(op backend.Op) []backend.Op {
			op.Idle = false
			return one(op)
		}),
		"a heartbeat is somebody": saying("rule 24/nothing else", backend.OpHeartbeat, func(op backend.Op) []backend.Op {
			return one(attend(op, false))
		}),
		"a follow is somebody": saying("rule 24/nothing else", backend.OpFollow, func(op backend.Op) []backend.Op {
			return []backend.Op{op, attend(op, false)}
		}),
		"an attend makes a lease": saying("rule 24/an attend lengthens", backend.OpAttend, func(op backend.Op) []backend.Op {
			op.User.Name = "Name of " + string(op.User.ID)
			return one(with(op, backend.OpJoin, op.Holder))
		}),
		"an attend lengthens nothing": saying("rule 24/an attend lengthens", backend.OpAttend, func(op backend.Op) []backend.Op {
			op.For = 0
			return one(op)
		}),
		"idle is a status": {caught: "rule 24/the status stays", plant: func(s backend.Store) backend.Store {
			return planted{Store: s, op: func(_ presence.Topic, op backend.Op) []backend.Op {
				if op.Kind == backend.OpAttend && op.Idle {
					return []backend.Op{op, {Kind: backend.OpUpdate, User: presence.User{ID: op.User.ID, Status: presence.Idle}}}
				}
				return []backend.Op{op}
			}}
		}},
		"a page view is nobody": saying("rule 24/a page view is somebody", backend.OpSeen, func(op backend.Op) []backend.Op {
			view := with(op, backend.OpJoin, "view.1")
			view.Idle = true
			return []backend.Op{op, view, with(op, backend.OpDrop, "view.1")}
		}),
		"a grace is somebody": saying("rule 24/the grace", backend.OpRelease, func(op backend.Op) []backend.Op {
			said := attend(op, false)
			said.For = 0
			return []backend.Op{said, op}
		}),
		"a grace is nobody": saying("rule 24/the grace", backend.OpRelease, func(op backend.Op) []backend.Op {
			said := attend(op, true)
			said.For = 0
			return []backend.Op{said, op}
		}),
		"who is seen is there": {caught: "rule 24/a user is idle while", plant: func(s backend.Store) backend.Store {
			return planted{Store: s, sightings: func(_ presence.Topic, _ presence.UserID, seen backend.Sighting) backend.Sighting {
				seen.Idle = false
				return seen
			}}
		}},
		"idle by the next diff alone": {caught: "rule 24/a user is idle while", plant: func(s backend.Store) backend.Store {
			return planted{Store: s, snapshot: func(ctx context.Context, t presence.Topic) (backend.Snapshot, error) {
				snap, err := s.Snapshot(ctx, t)
				for i := range snap.Members {
					snap.Members[i].Idle = false
				}
				return snap, err
			}}
		}},
		"idle in all topics": {caught: "rule 24/in each topic", plant: func(s backend.Store) backend.Store {
			return planted{Store: s, apply: func(ctx context.Context, batches []backend.Batch) []backend.Result {
				for _, b := range batches {
					for _, op := range b.Ops {
						if op.Kind == backend.OpAttend && b.Topic == presence.Site {
							s.Apply(ctx, []backend.Batch{{Topic: "thread:1", Ops: []backend.Op{op}}})
						}
					}
				}
				return s.Apply(ctx, batches)
			}}
		}},
		"the invisible are attended": {caught: "rule 24/who turns visible", plant: func(s backend.Store) backend.Store {
			return planted{Store: s, op: func(_ presence.Topic, op backend.Op) []backend.Op {
				if op.Kind == backend.OpUpdate && op.User.Status == presence.Online {
					return []backend.Op{{Kind: backend.OpAttend, User: op.User, Holder: "a.1", For: 1}, op}
				}
				return []backend.Op{op}
			}}
		}},
		"an attend is a page view": saying("rule 24/an attend is a proof of life", backend.OpAttend, func(op backend.Op) []backend.Op {
			view := op
			view.Kind, view.User.Name = backend.OpSeen, "Name of "+string(op.User.ID)
			return []backend.Op{op, view}
		}),
	}
}
