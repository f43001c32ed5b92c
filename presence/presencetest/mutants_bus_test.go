package presencetest_test

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
	"github.com/rollcall-go/rollcall/presence/presencetest"
)

// misdelivered is a mutant that delivers wrong diffs: deliver is called with each diff and
// the watcher.
func misdelivered(caught string, deliver func() func(backend.Diff, func(backend.Diff))) mutant {
	return mutant{caught: caught, plant: func(s backend.Store) backend.Store {
		return planted{Store: s, watch: func(ctx context.Context, t presence.Topic, fn func(backend.Diff)) (func(), error) {
			bring := deliver()
			return s.Watch(ctx, t, func(d backend.Diff) { bring(d, fn) })
		}}
	}}
}

// busMutants deliver wrongly.
func busMutants() map[string]mutant {
	return map[string]mutant{
		"reversed diff": misdelivered("rule 2/one join and one leave", func() func(backend.Diff, func(backend.Diff)) {
			var first *backend.Diff
			return func(d backend.Diff, fn func(backend.Diff)) {
				if first == nil {
					first = &d
					return
				}
				fn(d)
				fn(*first)
				first = nil
			}
		}),
		"diff delivered twice": misdelivered("rule 3/every watcher gets every diff", func() func(backend.Diff, func(backend.Diff)) {
			return func(d backend.Diff, fn func(backend.Diff)) {
				fn(d)
				fn(d)
			}
		}),
		"diff lost": misdelivered("rule 3/every watcher gets every diff", func() func(backend.Diff, func(backend.Diff)) {
			n := 0
			return func(d backend.Diff, fn func(backend.Diff)) {
				if n++; n != 3 {
					fn(d)
				}
			}
		}),
		"another diff than in the log": misdelivered("rule 3/a step makes one diff", func() func(backend.Diff, func(backend.Diff)) {
			return func(d backend.Diff, fn func(backend.Diff)) {
				d.Updates = nil
				fn(d)
			}
		}),
		"one watcher a topic": {caught: "rule 3/every watcher gets every diff", plant: func(s backend.Store) backend.Store {
			var mu sync.Mutex
			latest := make(map[presence.Topic]int)
			return planted{Store: s, watch: func(ctx context.Context, t presence.Topic, fn func(backend.Diff)) (func(), error) {
				mu.Lock()
				latest[t]++
				mine := latest[t]
				mu.Unlock()
				return s.Watch(ctx, t, func(d backend.Diff) {
					mu.Lock()
					defer mu.Unlock()
					if latest[t] == mine {
						fn(d)
					}
				})
			}}
		}},
		"a watch that begins late": {caught: "rule 3/a watch begins when Watch returns", plant: func(s backend.Store) backend.Store {
			return planted{Store: s, watch: func(ctx context.Context, t presence.Topic, fn func(backend.Diff)) (func(), error) {
				began := time.Now()
				return s.Watch(ctx, t, func(d backend.Diff) {
					if time.Since(began) > 0 {
						fn(d)
					}
				})
			}}
		}},
		"a watch that does not stop": {caught: "rule 3/a watch begins when Watch returns, and ends", plant: func(s backend.Store) backend.Store {
			return planted{Store: s, watch: func(ctx context.Context, t presence.Topic, fn func(backend.Diff)) (func(), error) {
				_, err := s.Watch(ctx, t, fn)
				return func() {}, err
			}}
		}},
		"a watch of the past": {caught: "rule 3/a watch begins when Watch returns", plant: func(s backend.Store) backend.Store {
			return planted{Store: s, watch: func(ctx context.Context, t presence.Topic, fn func(backend.Diff)) (func(), error) {
				past, _ := s.Log(ctx, t, "")
				for _, d := range past {
					fn(d)
				}
				return s.Watch(ctx, t, fn)
			}}
		}},
		"a sender that does not hear itself": {caught: "notices/", plant: func(s backend.Store) backend.Store {
			return planted{Store: s, listen: func(context.Context, func(backend.Notice)) (func(), error) {
				return func() {}, nil
			}}
		}},
		"kinds that are not known are lost": {caught: "notices/kinds that the store", plant: func(s backend.Store) backend.Store {
			return planted{Store: s, publish: func(ctx context.Context, n backend.Notice) error {
				if n.Kind != backend.NoticeSignedOut && n.Kind != backend.NoticeStatus {
					return nil
				}
				return s.Publish(ctx, n)
			}}
		}},
		"a payload is cut": {caught: "notices/kinds that the store", plant: func(s backend.Store) backend.Store {
			return planted{Store: s, publish: func(ctx context.Context, n backend.Notice) error {
				if n.Kind != backend.NoticeStatus {
					n.Payload, _, _ = strings.Cut(n.Payload, "\x00")
				}
				return s.Publish(ctx, n)
			}}
		}},
		"notices out of order": {caught: "notices/", plant: func(s backend.Store) backend.Store {
			faults := presencetest.NewFaults(s)
			return planted{Store: faults, listen: func(ctx context.Context, fn func(backend.Notice)) (func(), error) {
				stop, err := faults.Listen(ctx, fn)
				faults.Disturb(presencetest.Disturbance{Swap: true})
				return stop, err
			}}
		}},
	}
}

// figureMutants count or remember wrongly.
func figureMutants() map[string]mutant {
	counting := func(caught string, counts func(presence.Topic, backend.Counts) backend.Counts) mutant {
		return mutant{caught: caught, plant: func(s backend.Store) backend.Store {
			return planted{Store: s, counts: counts}
		}}
	}
	sighting := func(caught string, sightings func(presence.Topic, presence.UserID, backend.Sighting) backend.Sighting) mutant {
		return mutant{caught: caught, plant: func(s backend.Store) backend.Store {
			return planted{Store: s, sightings: sightings}
		}}
	}
	return map[string]mutant{
		"guests are recent users": counting("rule 8/page views count", func(_ presence.Topic, c backend.Counts) backend.Counts {
			c.Recent += c.Guests
			return c
		}),
		"a count of its own": counting("rule 1/", func(_ presence.Topic, c backend.Counts) backend.Counts {
			c.Total = max(c.Total, 1)
			return c
		}),
		"counts without a head": counting("rule 3/the log goes on from every version", func(_ presence.Topic, c backend.Counts) backend.Counts {
			c.Head = backend.Origin
			return c
		}),
		"the invisible seen in bulk": sighting("rule 2/an invisible user comes and goes", func(_ presence.Topic, id presence.UserID, got backend.Sighting) backend.Sighting {
			if id == "u" && !got.Online {
				got.Status = presence.Invisible
			}
			return got
		}),
		"last seen of who is online": sighting("rule 7/it is kept for users who left", func(_ presence.Topic, _ presence.UserID, got backend.Sighting) backend.Sighting {
			if got.Online {
				got.LastSeen = time.Now()
			}
			return got
		}),
		"last seen of nobody": sighting("rule 7/last seen is the last proof", func(_ presence.Topic, _ presence.UserID, got backend.Sighting) backend.Sighting {
			got.LastSeen = time.Time{}
			return got
		}),
		"last seen by topic and user mixed up": {caught: "rule 7/sightings answer in the order", plant: func(s backend.Store) backend.Store {
			return sightingsSorted{s}
		}},
		"an update is a proof of life": {caught: "rule 7/other operations", plant: func(s backend.Store) backend.Store {
			return planted{Store: s, op: func(_ presence.Topic, op backend.Op) []backend.Op {
				if op.Kind == backend.OpUpdate || op.Kind == backend.OpDrop {
					beat := op
					beat.Kind, beat.Holder, beat.For = backend.OpHeartbeat, "a.2", 45*time.Second
					if op.Kind == backend.OpDrop {
						beat.Holder = op.Holder
					}
					return []backend.Op{beat, op}
				}
				return []backend.Op{op}
			}}
		}},
	}
}

// sightingsSorted answers in the order of the user ids, not in the order asked for.
type sightingsSorted struct{ backend.Store }

func (s sightingsSorted) Sightings(ctx context.Context, t presence.Topic, users ...presence.UserID) ([]backend.Sighting, error) {
	users = slices.Clone(users)
	slices.Sort(users)
	return s.Store.Sightings(ctx, t, users...)
}
