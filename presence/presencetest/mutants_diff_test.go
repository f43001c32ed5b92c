package presencetest_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
)

// retold is a mutant that logs other diffs than those that happened.
func retold(caught string, edit func(presence.Topic, backend.Diff) []backend.Diff) mutant {
	return mutant{caught: caught, plant: func(s backend.Store) backend.Store {
		j := newJournal(s)
		j.edit = edit
		return j
	}}
}

// invented is a mutant that announces something where nothing happened.
func invented(caught string, quiet func(backend.Batch, backend.Snapshot) backend.Diff) mutant {
	return mutant{caught: caught, plant: func(s backend.Store) backend.Store {
		var n atomic.Int64
		j := newJournal(s)
		j.quiet = func(b backend.Batch, now backend.Snapshot) []backend.Diff {
			d := quiet(b, now)
			if d.ID == "" {
				return nil
			}
			d.ID = presence.DiffID(fmt.Sprintf("invented-%d", n.Add(1)))
			d.Total = len(now.Members)
			return []backend.Diff{d}
		}
		return j
	}}
}

// told marks a diff that invented announces.
const told = "told"

// diffMutants get diffs, the log or the snapshot wrong.
func diffMutants() map[string]mutant {
	return map[string]mutant{
		"double leave": retold("rule 2/four sweepers", func(_ presence.Topic, d backend.Diff) []backend.Diff {
			if len(d.Leaves) == 0 {
				return []backend.Diff{d}
			}
			return []backend.Diff{d, {ID: d.ID + "-a", Total: d.Total, Leaves: d.Leaves}}
		}),
		"diffs without a moment": retold("rule 3/a diff has the moment", func(_ presence.Topic, d backend.Diff) []backend.Diff {
			d.At = time.Time{}
			return []backend.Diff{d}
		}),
		"net-zero diff": invented("rule 2/changes that cancel out", func(b backend.Batch, _ backend.Snapshot) backend.Diff {
			if len(b.Ops) == 0 {
				return backend.Diff{}
			}
			return backend.Diff{ID: told}
		}),
		"a leave of somebody never seen": invented("rule 2/changes that cancel out", func(b backend.Batch, now backend.Snapshot) backend.Diff {
			for _, op := range b.Ops {
				if op.Kind == backend.OpDrop && len(now.Members) == 0 {
					return backend.Diff{ID: told, Leaves: []backend.Departure{{ID: op.User.ID, LastSeen: time.Now()}}}
				}
			}
			return backend.Diff{}
		}),
		"a join at every page": invented("rule 2/joining again", func(b backend.Batch, now backend.Snapshot) backend.Diff {
			for _, op := range b.Ops {
				if op.Kind == backend.OpSeen && len(now.Members) > 0 {
					return backend.Diff{ID: told, Joins: now.Members[:1]}
				}
			}
			return backend.Diff{}
		}),
		"an update that changes nothing": invented("profiles/a new profile is one update", func(b backend.Batch, now backend.Snapshot) backend.Diff {
			for _, op := range b.Ops {
				if op.Kind == backend.OpUpdate && len(now.Members) > 0 {
					return backend.Diff{ID: told, Updates: now.Members[:1]}
				}
			}
			return backend.Diff{}
		}),
		"an update told as leave and join": retold("profiles/a new profile is one update", func(_ presence.Topic, d backend.Diff) []backend.Diff {
			if len(d.Updates) == 0 {
				return []backend.Diff{d}
			}
			gone := backend.Diff{ID: d.ID + "-a", Total: d.Total - len(d.Updates)}
			for _, m := range d.Updates {
				gone.Leaves = append(gone.Leaves, backend.Departure{ID: m.ID, LastSeen: time.Now()})
			}
			d.Joins, d.Updates = append(d.Joins, d.Updates...), nil
			return []backend.Diff{gone, d}
		}),
		"totals that drift": retold("rule 2/one join and one leave", func(_ presence.Topic, d backend.Diff) []backend.Diff {
			d.Total += len(d.Leaves)
			return []backend.Diff{d}
		}),
		"last seen is the sweep": {caught: "rule 7/last seen is the last proof", plant: func(s backend.Store) backend.Store {
			j := newJournal(s)
			left := make(map[presence.UserID]time.Time)
			j.edit = func(_ presence.Topic, d backend.Diff) []backend.Diff {
				for i := range d.Leaves {
					d.Leaves[i].LastSeen = time.Now()
					left[d.Leaves[i].ID] = time.Now()
				}
				return []backend.Diff{d}
			}
			return planted{Store: j, sightings: func(_ presence.Topic, id presence.UserID, got backend.Sighting) backend.Sighting {
				if !got.LastSeen.IsZero() {
					got.LastSeen = left[id]
				}
				return got
			}}
		}},
		"prev is not chained": {caught: "rule 3/the log goes on from every version", plant: func(s backend.Store) backend.Store {
			j := newJournal(s)
			j.loose = true
			j.edit = func(_ presence.Topic, d backend.Diff) []backend.Diff {
				d.Prev = backend.Origin
				return []backend.Diff{d}
			}
			return j
		}},
		"prev is of whatever topic": {caught: "rule 3/one call takes many topics", plant: func(s backend.Store) backend.Store {
			j := newJournal(s)
			j.loose = true
			last := backend.Origin
			j.edit = func(_ presence.Topic, d backend.Diff) []backend.Diff {
				d.Prev, last = last, d.ID
				return []backend.Diff{d}
			}
			return j
		}},
		"steps are not atomic": {caught: "rule 2/changes that cancel out", plant: func(s backend.Store) backend.Store {
			return planted{Store: s, apply: func(ctx context.Context, batches []backend.Batch) []backend.Result {
				results := make([]backend.Result, len(batches))
				for i, b := range batches {
					for k, op := range b.Ops {
						r := s.Apply(ctx, []backend.Batch{{Topic: b.Topic, Ops: []backend.Op{op}, Keep: b.Keep}})[0]
						if len(r.Unknown) > 0 {
							results[i].Unknown = append(results[i].Unknown, k)
						}
					}
				}
				return results
			}}
		}},
		"indexes of a step, not of the batch": {caught: "rule 3/a batch of thousands", plant: func(s backend.Store) backend.Store {
			return planted{Store: s, apply: func(ctx context.Context, batches []backend.Batch) []backend.Result {
				results := s.Apply(ctx, batches)
				for i := range results {
					for k := range results[i].Unknown {
						results[i].Unknown[k] %= 1000
					}
				}
				return results
			}}
		}},
		"a half-done batch when the caller gives up": {caught: "rule 3/a cancelled call", plant: func(s backend.Store) backend.Store {
			return planted{Store: s, apply: func(ctx context.Context, batches []backend.Batch) []backend.Result {
				if ctx.Err() == nil {
					return s.Apply(ctx, batches)
				}
				s.Apply(context.WithoutCancel(ctx), []backend.Batch{{Topic: batches[0].Topic, Ops: batches[0].Ops[:1]}})
				return []backend.Result{{Err: ctx.Err()}}
			}}
		}},
		"a roster and an id of two moments": {caught: "rule 3/the log goes on where a snapshot stands", plant: func(s backend.Store) backend.Store {
			return planted{Store: s, snapshot: func(ctx context.Context, t presence.Topic) (backend.Snapshot, error) {
				snap, err := s.Snapshot(ctx, t)
				if len(snap.Members) >= 300 { // a large roster is read piece by piece
					time.Sleep(time.Millisecond)
					again, _ := s.Snapshot(ctx, t)
					snap.ID = again.ID
				}
				return snap, err
			}}
		}},
		"a roster of a moment to come": {caught: "rule 3/a roster tells when it was read, if it does, by the store's clock", plant: func(s backend.Store) backend.Store {
			return planted{Store: s, snapshot: func(ctx context.Context, t presence.Topic) (backend.Snapshot, error) {
				snap, err := s.Snapshot(ctx, t)
				snap.At = snap.At.Add(time.Minute)
				return snap, err
			}}
		}},
		"no roster while others write": {caught: "rule 3/a reader who watches and then reads", plant: func(s backend.Store) backend.Store {
			return planted{Store: s, apply: func(ctx context.Context, batches []backend.Batch) []backend.Result {
				time.Sleep(time.Millisecond)
				return s.Apply(ctx, batches)
			}, snapshot: func(context.Context, presence.Topic) (backend.Snapshot, error) {
				return backend.Snapshot{}, errors.New("others write")
			}}
		}},
		"rosters oldest first": {caught: "rule 3/rosters are newest first", plant: func(s backend.Store) backend.Store {
			return planted{Store: s, snapshot: func(ctx context.Context, t presence.Topic) (backend.Snapshot, error) {
				snap, err := s.Snapshot(ctx, t)
				for i := range len(snap.Members) / 2 {
					k := len(snap.Members) - 1 - i
					snap.Members[i], snap.Members[k] = snap.Members[k], snap.Members[i]
				}
				return snap, err
			}}
		}},
		"a gap that is not told": {caught: "rule 3/a version that the log does not hold", plant: func(s backend.Store) backend.Store {
			return planted{Store: s, log: func(ctx context.Context, t presence.Topic, after presence.DiffID) ([]backend.Diff, error) {
				diffs, err := s.Log(ctx, t, after)
				if err != nil {
					return s.Log(ctx, t, "")
				}
				return diffs, err
			}}
		}},
		"the log begins one late": {caught: "rule 3/the log goes on from every version", plant: func(s backend.Store) backend.Store {
			return planted{Store: s, log: func(ctx context.Context, t presence.Topic, after presence.DiffID) ([]backend.Diff, error) {
				diffs, err := s.Log(ctx, t, after)
				return diffs[min(len(diffs), 1):], err
			}}
		}},
		"a log that only grows": {caught: "rule 9/the log is bounded", plant: func(s backend.Store) backend.Store {
			kept := make(map[presence.Topic][]backend.Diff)
			j := newJournal(s)
			j.edit = func(t presence.Topic, d backend.Diff) []backend.Diff {
				kept[t] = append(kept[t], d)
				return []backend.Diff{d}
			}
			return planted{Store: j, log: func(ctx context.Context, t presence.Topic, after presence.DiffID) ([]backend.Diff, error) {
				if after == backend.Origin {
					return kept[t], nil
				}
				return j.Log(ctx, t, after)
			}}
		}},
		"ids that come again": {caught: "rule 10/", plant: func(s backend.Store) backend.Store {
			n := 0
			j := newJournal(s)
			j.edit = func(_ presence.Topic, d backend.Diff) []backend.Diff {
				n++
				d.ID = presence.DiffID(fmt.Sprintf("%d-0", n))
				return []backend.Diff{d}
			}
			return j
		}},
		"ids out of their alphabet": retold("rule 2/one join and one leave", func(_ presence.Topic, d backend.Diff) []backend.Diff {
			d.ID = presence.DiffID(strings.ToUpper(string(d.ID)))
			return []backend.Diff{d}
		}),
	}
}
