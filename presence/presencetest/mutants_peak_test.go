package presencetest_test

import (
	"context"
	"sync"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
)

// recording is a mutant that keeps the records by itself: grow is called after each batch
// with the record and the figures, of which Total was read before the step, and has what
// the step changed added.
func recording(caught string, grow func(p backend.Peak, b backend.Batch, c backend.Counts) backend.Peak) mutant {
	return mutant{caught: caught, plant: func(s backend.Store) backend.Store {
		var mu sync.Mutex
		peaks := make(map[presence.Topic]backend.Peak)
		figures := func(t presence.Topic) backend.Counts {
			counts, _ := s.Counts(context.Background(), t)
			return counts[0]
		}
		step := func(ctx context.Context, b backend.Batch) backend.Result {
			before := figures(b.Topic)
			time.Sleep(time.Millisecond) // other nodes read the same
			mu.Lock()
			defer mu.Unlock()
			changed := -figures(b.Topic).Total
			result := s.Apply(ctx, []backend.Batch{b})[0]
			c := figures(b.Topic)
			c.Total = before.Total + changed + c.Total
			if b.Keep.Peak {
				peaks[b.Topic] = grow(peaks[b.Topic], b, c)
			}
			return result
		}
		return planted{Store: s, apply: func(ctx context.Context, batches []backend.Batch) (results []backend.Result) {
			for _, b := range batches {
				results = append(results, step(ctx, b))
			}
			return results
		}, extras: func(t presence.Topic, e backend.Extras) backend.Extras {
			mu.Lock()
			defer mu.Unlock()
			e.Peak = peaks[t]
			return e
		}}
	}}
}

// showing is a mutant that tells other records. Each store gets a function of its own.
func showing(caught string, show func() func(backend.Peak) backend.Peak) mutant {
	return mutant{caught: caught, plant: func(s backend.Store) backend.Store {
		edit := show()
		return planted{Store: s, extras: func(_ presence.Topic, e backend.Extras) backend.Extras {
			e.Peak = edit(e.Peak)
			return e
		}}
	}}
}

// peakMutants keep records wrongly.
func peakMutants() map[string]mutant {
	grown := func(p backend.Peak, total int) backend.Peak {
		if total > p.Total {
			p.Total, p.At = total, time.Now()
		}
		return p
	}
	return map[string]mutant{
		"a record in a step of its own": recording("rule 17/nodes race to the record", func(p backend.Peak, _ backend.Batch, c backend.Counts) backend.Peak {
			return grown(p, c.Total)
		}),
		"joins count before leaves": recording("rule 17/of a step its end counts", func(p backend.Peak, b backend.Batch, c backend.Counts) backend.Peak {
			for _, op := range b.Ops {
				if op.Kind == backend.OpDrop {
					c.Total++
				}
			}
			return grown(p, c.Total)
		}),
		"the number of now": recording("rule 17/the record grows", func(_ backend.Peak, _ backend.Batch, c backend.Counts) backend.Peak {
			return backend.Peak{Total: c.Total, At: time.Now()}
		}),
		"equal numbers move the record": recording("rule 17/the record grows", func(p backend.Peak, _ backend.Batch, c backend.Counts) backend.Peak {
			if c.Total >= p.Total {
				p.Total, p.At = c.Total, time.Now()
			}
			return p
		}),
		"recent users count for the record": recording("rule 17/invisible users, guests and bots", func(p backend.Peak, _ backend.Batch, c backend.Counts) backend.Peak {
			return grown(p, c.Total+c.Guests)
		}),
		"the invisible count for the record": {caught: "rule 17/invisible users, guests and bots", plant: func(s backend.Store) backend.Store {
			var peak backend.Peak
			return planted{Store: s, extras: func(t presence.Topic, e backend.Extras) backend.Extras {
				users, _ := s.Inspect(context.Background(), t, "", 100)
				peak = grown(peak.Better(e.Peak), len(users))
				e.Peak = peak
				return e
			}}
		}},
		"bots count for the record": {caught: "rule 17/invisible users, guests and bots", plant: func(s backend.Store) backend.Store {
			return planted{Store: s, extras: func(_ presence.Topic, e backend.Extras) backend.Extras {
				if e.Peak.Total > 0 {
					e.Peak.Total += len(e.Bots)
				}
				return e
			}}
		}},
		"guests never count for the record": keeping("rule 17/with PeakGuests the guests", func(k *presence.Keep) { k.PeakGuests = false }),
		"guests always count for the record": keeping("rule 17/invisible users, guests and bots", func(k *presence.Keep) {
			k.PeakGuests = true
		}),
		"guests count twenty percent more": {caught: "rule 17/with PeakGuests many guests", plant: func(s backend.Store) backend.Store {
			return planted{Store: s, extras: func(_ presence.Topic, e backend.Extras) backend.Extras {
				if e.Peak.Total > backend.ExactGuests {
					e.Peak.Total += e.Peak.Total / 5
				}
				return e
			}}
		}},
		"a record of every topic": keeping("rule 17/a topic that does not ask for a record", func(k *presence.Keep) { k.Peak = true }),
		"extras by topic": {caught: "rule 17/extras answer in the order", plant: func(s backend.Store) backend.Store {
			return extrasOfFirst{s}
		}},
		"what a node remembers is lost": rewriting("rule 17/a wiped store takes", func(op backend.Op) []backend.Op {
			if op.Kind == backend.OpPeak {
				return nil
			}
			return []backend.Op{op}
		}),
		"what a node remembers wins": rewriting("rule 17/a record that a node remembers", func(op backend.Op) []backend.Op {
			if op.Kind == backend.OpPeak {
				op.Peak.Since = time.Now()
			}
			return []backend.Op{op}
		}),
		"the larger record wins, whatever was reset": showing("rule 17/the record is started anew", func() func(backend.Peak) backend.Peak {
			var best backend.Peak
			return func(p backend.Peak) backend.Peak {
				if p.Total > best.Total {
					best = p
				}
				return best
			}
		}),
		"of equal records the later": rewriting("rule 17/several nodes bring their records", func(op backend.Op) []backend.Op {
			if op.Kind == backend.OpPeak {
				op.Peak.At = time.Now().Add(-time.Until(op.Peak.At))
			}
			return []backend.Op{op}
		}),
		"a record that forgets when it was reset": showing("rule 17/the record is started anew", func() func(backend.Peak) backend.Peak {
			return func(p backend.Peak) backend.Peak {
				p.Since = time.Time{}
				return p
			}
		}),
		"a reset to nobody": showing("rule 17/the record is started anew", func() func(backend.Peak) backend.Peak {
			return func(p backend.Peak) backend.Peak {
				if p.At.Equal(p.Since) {
					p.Total = 0
				}
				return p
			}
		}),
		"a reset counts where it stands": {caught: "rule 17/a reset in a step", plant: func(s backend.Store) backend.Store {
			return planted{Store: s, apply: func(ctx context.Context, batches []backend.Batch) []backend.Result {
				var results []backend.Result
				for _, b := range batches {
					for i, op := range b.Ops {
						if op.Kind == backend.OpResetPeak {
							s.Apply(ctx, []backend.Batch{{Topic: b.Topic, Keep: b.Keep, Ops: b.Ops[:i+1]}})
							b.Ops = b.Ops[i+1:]
							break
						}
					}
					results = append(results, s.Apply(ctx, []backend.Batch{b})...)
				}
				return results
			}}
		}},
		"a reset that a node undoes": rewriting("rule 17/a reset is not undone", func(op backend.Op) []backend.Op {
			if op.Kind == backend.OpPeak && op.Peak.Since.IsZero() {
				op.Peak.Since = time.Now()
			}
			return []backend.Op{op}
		}),
		"a small record stays below the users of now": {caught: "rule 17/a record of fewer users", plant: func(s backend.Store) backend.Store {
			var brought backend.Peak
			return planted{Store: s, op: func(_ presence.Topic, op backend.Op) []backend.Op {
				if op.Kind == backend.OpPeak {
					brought = op.Peak
				}
				return []backend.Op{op}
			}, extras: func(_ presence.Topic, e backend.Extras) backend.Extras {
				if !brought.Since.IsZero() && e.Peak.Since.Equal(brought.Since) {
					e.Peak = brought
				}
				return e
			}}
		}},
		"the record goes with the topic": {caught: "rule 17/the record stays", plant: func(s backend.Store) backend.Store {
			return planted{Store: s, extras: func(t presence.Topic, e backend.Extras) backend.Extras {
				if c, _ := s.Counts(context.Background(), t); c[0].Head == backend.Origin {
					e.Peak = backend.Peak{}
				}
				return e
			}}
		}},
	}
}

// extrasOfFirst answers for the first topic alone.
type extrasOfFirst struct{ backend.Store }

func (s extrasOfFirst) Extras(ctx context.Context, topics ...presence.Topic) ([]backend.Extras, error) {
	all, err := s.Store.Extras(ctx, topics...)
	for i := range all {
		all[i] = all[0]
	}
	return all, err
}
