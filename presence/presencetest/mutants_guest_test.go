package presencetest_test

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
)

// guestMutants count or forget guests wrongly.
func guestMutants() map[string]mutant {
	counting := func(caught string, guests func(int) int) mutant {
		return mutant{caught: caught, plant: func(s backend.Store) backend.Store {
			return planted{Store: s, counts: func(_ presence.Topic, c backend.Counts) backend.Counts {
				c.Guests = guests(c.Guests)
				return c
			}}
		}}
	}
	// changing replaces operations on guests. Each store gets a function of its own.
	changing := func(caught string, make func() func(backend.Op) []backend.Op) mutant {
		return mutant{caught: caught, plant: func(s backend.Store) backend.Store {
			change := make()
			return planted{Store: s, op: func(_ presence.Topic, op backend.Op) []backend.Op {
				if op.Kind == backend.OpGuest || op.Kind == backend.OpForgetGuest {
					return change(op)
				}
				return []backend.Op{op}
			}}
		}}
	}
	return map[string]mutant{
		"guests by page view": changing("rule 11/guests are counted exactly", func() func(backend.Op) []backend.Op {
			n := 0
			return func(op backend.Op) []backend.Op {
				n++
				op.Guest += strconv.Itoa(n)
				return []backend.Op{op}
			}
		}),
		"guests one off from a hundred": counting("rule 11/guests are counted exactly", func(n int) int {
			return n + n/100
		}),
		"a jump at the bound": counting("rule 11/guests are counted exactly", func(n int) int {
			if n > backend.ExactGuests {
				n += n / 20
			}
			return n
		}),
		"guests ten percent off": counting("rule 11/guests are counted within", func(n int) int {
			return n * 11 / 10
		}),
		"guests past a thousand are lost": counting("rule 11/guests of both periods", func(n int) int {
			return min(n, 1000)
		}),
		"guests by period": {caught: "rule 11/guests of both periods", plant: func(s backend.Store) backend.Store {
			periods := 0
			return planted{Store: s, op: func(_ presence.Topic, op backend.Op) []backend.Op {
				if op.Kind == backend.OpGuest {
					op.Guest += fmt.Sprint(periods)
				}
				return []backend.Op{op}
			}, age: func(ctx context.Context, period time.Duration) (int, error) {
				periods++
				return s.Age(ctx, period)
			}}
		}},
		"never exact again": {caught: "rule 11/few guests are counted exactly after many", plant: func(s backend.Store) backend.Store {
			many := false
			return planted{Store: s, counts: func(_ presence.Topic, c backend.Counts) backend.Counts {
				if many = many || c.Guests > backend.ExactGuests; many {
					c.Guests += c.Guests / 100
				}
				return c
			}}
		}},
		"guests are never forgotten": changing("rule 11/a guest who is forgotten is out", func() func(backend.Op) []backend.Op {
			return func(op backend.Op) []backend.Op {
				if op.Kind == backend.OpForgetGuest {
					return nil
				}
				return []backend.Op{op}
			}
		}),
		"a forgotten guest never counts again": changing("rule 11/a guest who is forgotten is out", func() func(backend.Op) []backend.Op {
			gone := make(map[string]bool)
			return func(op backend.Op) []backend.Op {
				if op.Kind == backend.OpForgetGuest {
					gone[op.Guest] = true
				} else if gone[op.Guest] {
					return nil
				}
				return []backend.Op{op}
			}
		}),
		"guests are forgotten before they count": {caught: "rule 11/a guest who is forgotten is out", plant: func(s backend.Store) backend.Store {
			return planted{Store: s, apply: func(ctx context.Context, batches []backend.Batch) []backend.Result {
				for i, b := range batches {
					var first, rest []backend.Op
					for _, op := range b.Ops {
						if op.Kind == backend.OpForgetGuest {
							first = append(first, op)
						} else {
							rest = append(rest, op)
						}
					}
					if len(first) > 0 {
						batches[i].Ops = append(first, rest...)
					}
				}
				return s.Apply(ctx, batches)
			}}
		}},
		"only guests of this period are forgotten": {caught: "rule 11/a guest of the period before", plant: func(s backend.Store) backend.Store {
			now := make(map[string]bool)
			return planted{Store: s, op: func(_ presence.Topic, op backend.Op) []backend.Op {
				switch op.Kind {
				case backend.OpGuest:
					now[op.Guest] = true
				case backend.OpForgetGuest:
					if !now[op.Guest] {
						return nil
					}
				}
				return []backend.Op{op}
			}, age: func(ctx context.Context, period time.Duration) (int, error) {
				clear(now)
				return s.Age(ctx, period)
			}}
		}},
		"each of many who is forgotten takes others along": {caught: "rule 11/a guest who is forgotten beyond", plant: func(s backend.Store) backend.Store {
			forgotten := 0
			return planted{Store: s, op: func(_ presence.Topic, op backend.Op) []backend.Op {
				if op.Kind == backend.OpForgetGuest {
					forgotten++
				}
				return []backend.Op{op}
			}, counts: func(_ presence.Topic, c backend.Counts) backend.Counts {
				if c.Guests > backend.ExactGuests {
					c.Guests -= 3 * forgotten
				}
				return c
			}}
		}},
		"a forgotten guest signs out a user": changing("rule 11/guests are in no roster", func() func(backend.Op) []backend.Op {
			return func(op backend.Op) []backend.Op {
				if op.Kind == backend.OpForgetGuest {
					return []backend.Op{op, {Kind: backend.OpSignOut, User: presence.User{ID: presence.UserID(op.Guest)}}}
				}
				return []backend.Op{op}
			}
		}),
		"a guest who is forgotten again is another one": {caught: "rule 12/a batch that is applied twice", plant: func(s backend.Store) backend.Store {
			times := make(map[string]int)
			return planted{Store: s, op: func(topic presence.Topic, op backend.Op) []backend.Op {
				if key := string(topic) + op.Guest; op.Kind == backend.OpForgetGuest {
					if times[key]++; times[key]%2 == 0 {
						op.Kind = backend.OpGuest
					}
				}
				return []backend.Op{op}
			}}
		}},
	}
}
