package presencetest_test

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/rollcall-go/rollcall/presence"
)

// guestMutants count or forget guests wrongly.
func guestMutants() map[string]mutant {
	counting := func(caught string, guests func(int) int) mutant {
		return mutant{caught: caught, plant: func(s presence.Store) presence.Store {
			return planted{Store: s, counts: func(_ presence.Topic, c presence.Counts) presence.Counts {
				c.Guests = guests(c.Guests)
				return c
			}}
		}}
	}
	// changing replaces operations on guests. Each store gets a function of its own.
	changing := func(caught string, make func() func(presence.Op) []presence.Op) mutant {
		return mutant{caught: caught, plant: func(s presence.Store) presence.Store {
			change := make()
			return planted{Store: s, op: func(_ presence.Topic, op presence.Op) []presence.Op {
				if op.Kind == presence.OpGuest || op.Kind == presence.OpForgetGuest {
					return change(op)
				}
				return []presence.Op{op}
			}}
		}}
	}
	return map[string]mutant{
		"guests by page view": changing("rule 11/guests are counted exactly", func() func(presence.Op) []presence.Op {
			n := 0
			return func(op presence.Op) []presence.Op {
				n++
				op.Guest += strconv.Itoa(n)
				return []presence.Op{op}
			}
		}),
		"guests one off from a hundred": counting("rule 11/guests are counted exactly", func(n int) int {
			return n + n/100
		}),
		"a jump at the bound": counting("rule 11/guests are counted exactly", func(n int) int {
			if n > presence.ExactGuests {
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
		"guests by period": {caught: "rule 11/guests of both periods", plant: func(s presence.Store) presence.Store {
			periods := 0
			return planted{Store: s, op: func(_ presence.Topic, op presence.Op) []presence.Op {
				if op.Kind == presence.OpGuest {
					op.Guest += fmt.Sprint(periods)
				}
				return []presence.Op{op}
			}, age: func(ctx context.Context, period time.Duration) (int, error) {
				periods++
				return s.Age(ctx, period)
			}}
		}},
		"never exact again": {caught: "rule 11/few guests are counted exactly after many", plant: func(s presence.Store) presence.Store {
			many := false
			return planted{Store: s, counts: func(_ presence.Topic, c presence.Counts) presence.Counts {
				if many = many || c.Guests > presence.ExactGuests; many {
					c.Guests += c.Guests / 100
				}
				return c
			}}
		}},
		"guests are never forgotten": changing("rule 11/a guest who is forgotten is out", func() func(presence.Op) []presence.Op {
			return func(op presence.Op) []presence.Op {
				if op.Kind == presence.OpForgetGuest {
					return nil
				}
				return []presence.Op{op}
			}
		}),
		"a forgotten guest never counts again": changing("rule 11/a guest who is forgotten is out", func() func(presence.Op) []presence.Op {
			gone := make(map[string]bool)
			return func(op presence.Op) []presence.Op {
				if op.Kind == presence.OpForgetGuest {
					gone[op.Guest] = true
				} else if gone[op.Guest] {
					return nil
				}
				return []presence.Op{op}
			}
		}),
		"guests are forgotten before they count": {caught: "rule 11/a guest who is forgotten is out", plant: func(s presence.Store) presence.Store {
			return planted{Store: s, apply: func(ctx context.Context, batches []presence.Batch) []presence.Result {
				for i, b := range batches {
					var first, rest []presence.Op
					for _, op := range b.Ops {
						if op.Kind == presence.OpForgetGuest {
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
		"only guests of this period are forgotten": {caught: "rule 11/a guest of the period before", plant: func(s presence.Store) presence.Store {
			now := make(map[string]bool)
			return planted{Store: s, op: func(_ presence.Topic, op presence.Op) []presence.Op {
				switch op.Kind {
				case presence.OpGuest:
					now[op.Guest] = true
				case presence.OpForgetGuest:
					if !now[op.Guest] {
						return nil
					}
				}
				return []presence.Op{op}
			}, age: func(ctx context.Context, period time.Duration) (int, error) {
				clear(now)
				return s.Age(ctx, period)
			}}
		}},
		"each of many who is forgotten takes others along": {caught: "rule 11/a guest who is forgotten beyond", plant: func(s presence.Store) presence.Store {
			forgotten := 0
			return planted{Store: s, op: func(_ presence.Topic, op presence.Op) []presence.Op {
				if op.Kind == presence.OpForgetGuest {
					forgotten++
				}
				return []presence.Op{op}
			}, counts: func(_ presence.Topic, c presence.Counts) presence.Counts {
				if c.Guests > presence.ExactGuests {
					c.Guests -= 3 * forgotten
				}
				return c
			}}
		}},
		"a forgotten guest signs out a user": changing("rule 11/guests are in no roster", func() func(presence.Op) []presence.Op {
			return func(op presence.Op) []presence.Op {
				if op.Kind == presence.OpForgetGuest {
					return []presence.Op{op, {Kind: presence.OpSignOut, User: presence.User{ID: presence.UserID(op.Guest)}}}
				}
				return []presence.Op{op}
			}
		}),
		"a guest who is forgotten again is another one": {caught: "rule 12/a batch that is applied twice", plant: func(s presence.Store) presence.Store {
			times := make(map[string]int)
			return planted{Store: s, op: func(topic presence.Topic, op presence.Op) []presence.Op {
				if key := string(topic) + op.Guest; op.Kind == presence.OpForgetGuest {
					if times[key]++; times[key]%2 == 0 {
						op.Kind = presence.OpGuest
					}
				}
				return []presence.Op{op}
			}}
		}},
	}
}
