package presencetest_test

import (
	"context"
	"maps"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
)

// botMutants count bots wrongly.
func botMutants() map[string]mutant {
	counting := func(caught string, make func() func(backend.Op) []backend.Op) mutant {
		return mutant{caught: caught, plant: func(s backend.Store) backend.Store {
			var mu sync.Mutex
			change := make()
			return planted{Store: s, op: func(_ presence.Topic, op backend.Op) []backend.Op {
				if op.Kind == backend.OpBot {
					mu.Lock()
					defer mu.Unlock()
					return change(op)
				}
				return []backend.Op{op}
			}}
		}}
	}
	changing := func(caught string, change func(backend.Op) []backend.Op) mutant {
		return counting(caught, func() func(backend.Op) []backend.Op { return change })
	}
	return map[string]mutant{
		"bots are guests too": changing("rule 18/bots count by name", func(op backend.Op) []backend.Op {
			return []backend.Op{op, {Kind: backend.OpGuest, Guest: op.Guest}}
		}),
		"bots are users too": changing("rule 18/bots count by name", func(op backend.Op) []backend.Op {
			return []backend.Op{op, {Kind: backend.OpSeen, User: presence.User{ID: presence.UserID(op.Guest)}, For: op.For}}
		}),
		"bots go with guests": rewriting("rule 18/bots count by name", func(op backend.Op) []backend.Op {
			if op.Kind == backend.OpForgetGuest {
				return []backend.Op{op, {Kind: backend.OpBot, Guest: op.Guest, Bot: "gone"}}
			}
			return []backend.Op{op}
		}),
		"bots by visit": counting("rule 18/bots count by name", func() func(backend.Op) []backend.Op {
			n := 0
			return func(op backend.Op) []backend.Op {
				n++
				op.Guest += strconv.Itoa(n)
				return []backend.Op{op}
			}
		}),
		"bots without a name": changing("rule 18/bots count by name", func(op backend.Op) []backend.Op {
			op.Bot = "bot"
			return []backend.Op{op}
		}),
		"bots by period": {caught: "rule 18/a bot counts once", plant: func(s backend.Store) backend.Store {
			periods := 0
			return planted{Store: s, op: func(_ presence.Topic, op backend.Op) []backend.Op {
				if op.Kind == backend.OpBot {
					op.Guest += strconv.Itoa(periods)
				}
				return []backend.Op{op}
			}, age: func(ctx context.Context, period time.Duration) (int, error) {
				periods++
				return s.Age(ctx, period)
			}}
		}},
		"bots for ever": {caught: "rule 18/after two periods", plant: func(s backend.Store) backend.Store {
			var last map[string]int
			return planted{Store: s, extras: func(_ presence.Topic, e backend.Extras) backend.Extras {
				last = max2(e.Bots, last)
				e.Bots = last
				return e
			}, age: func(ctx context.Context, period time.Duration) (int, error) {
				extras, _ := s.Extras(ctx, presence.Site)
				last = extras[0].Bots
				return s.Age(ctx, period)
			}}
		}},
		"a bot by each name that it had": changing("rule 18/a bot has the name", func(op backend.Op) []backend.Op {
			op.Guest += op.Bot
			return []backend.Op{op}
		}),
		"a bot keeps its first name": counting("rule 18/a bot has the name", func() func(backend.Op) []backend.Op {
			first := make(map[string]string)
			return func(op backend.Op) []backend.Op {
				if first[op.Guest] == "" {
					first[op.Guest] = op.Bot
				}
				op.Bot = first[op.Guest]
				return []backend.Op{op}
			}
		}),
		"bots without a bound": {caught: "rule 18/bots over the bound", plant: func(s backend.Store) backend.Store {
			var mu sync.Mutex
			known := make(map[string]bool)
			return planted{Store: s, op: func(_ presence.Topic, op backend.Op) []backend.Op {
				mu.Lock()
				defer mu.Unlock()
				if op.Kind == backend.OpBot {
					known[op.Guest] = true
				}
				return []backend.Op{op}
			}, extras: func(_ presence.Topic, e backend.Extras) backend.Extras {
				if over := len(known) - backend.MaxBots; over > 0 && len(e.Bots) > 0 {
					e.Bots = maps.Clone(e.Bots)
					e.Bots["Bot0"] += over
				}
				return e
			}}
		}},
		"who is counted goes at the bound": counting("rule 18/bots over the bound", func() func(backend.Op) []backend.Op {
			known := make(map[string]bool)
			return func(op backend.Op) []backend.Op {
				if len(known) >= backend.MaxBots-6 && known[op.Guest] {
					return nil // a bot that is counted does not go on
				}
				known[op.Guest] = true
				return []backend.Op{op}
			}
		}),
		"a bad name is another": changing("rule 18/a bad name", func(op backend.Op) []backend.Op {
			if !backend.ValidBotName(op.Bot) {
				op.Bot = "other"
			}
			return []backend.Op{op}
		}),
		"only plain names": changing("rule 18/a bad name", func(op backend.Op) []backend.Op {
			if !presence.ValidGroup(op.Bot) && op.Bot != "Good" {
				return nil
			}
			return []backend.Op{op}
		}),
		"each node has bots of its own": counting("rule 18/bots come on several nodes", func() func(backend.Op) []backend.Op {
			n := 0
			return func(op backend.Op) []backend.Op {
				if n++; n%backend.MaxBots == 0 {
					return nil
				}
				op.Bot += strconv.Itoa(n % 4)
				return []backend.Op{op}
			}
		}),
	}
}

// max2 returns the larger number of each name.
func max2(a, b map[string]int) map[string]int {
	all := make(map[string]int)
	for _, m := range []map[string]int{a, b} {
		for name, n := range m {
			all[name] = max(all[name], n)
		}
	}
	return all
}

// activeMutants tell wrongly when members were active.
func activeMutants() map[string]mutant {
	retelling := func(caught string, edit func(*presence.Member)) mutant {
		return mutant{caught: caught, plant: func(s backend.Store) backend.Store {
			j := newJournal(s)
			j.edit = func(_ presence.Topic, d backend.Diff) []backend.Diff {
				d.Joins, d.Updates = slices.Clone(d.Joins), slices.Clone(d.Updates)
				for _, members := range [][]presence.Member{d.Joins, d.Updates} {
					for i := range members {
						edit(&members[i])
					}
				}
				return []backend.Diff{d}
			}
			return planted{Store: j, snapshot: func(ctx context.Context, t presence.Topic) (backend.Snapshot, error) {
				snap, err := j.Snapshot(ctx, t)
				for i := range snap.Members {
					edit(&snap.Members[i])
				}
				return snap, err
			}}
		}}
	}
	return map[string]mutant{
		"nobody is active": keeping("rule 16/a page view in a new minute", func(k *presence.Keep) { k.Active = false }),
		"active in every topic": keeping("rule 16/a topic that does not ask for it", func(k *presence.Keep) {
			k.Active = true
		}),
		"active once asked for": {caught: "rule 16/it comes and goes", plant: func(s backend.Store) backend.Store {
			active := false
			return planted{Store: s, keep: func(k presence.Keep) presence.Keep {
				active = active || k.Active
				k.Active = active
				return k
			}}
		}},
		"active by the hour": retelling("rule 16/a page view in a new minute", func(m *presence.Member) {
			m.Active = m.Active.Truncate(time.Hour)
		}),
		"active since the join": retelling("rule 16/a page view in a new minute", func(m *presence.Member) {
			if !m.Active.IsZero() {
				m.Active = m.Since.Truncate(time.Minute)
			}
		}),
		"a new minute is not told": {caught: "rule 16/a page view in a new minute", plant: func(s backend.Store) backend.Store {
			j := newJournal(s)
			j.edit = func(_ presence.Topic, d backend.Diff) []backend.Diff {
				if d.Updates = nil; len(d.Joins)+len(d.Leaves) == 0 {
					return nil
				}
				return []backend.Diff{d}
			}
			return j
		}},
		"active by the second": rewriting("rule 16/a page view in a new minute", func(op backend.Op) []backend.Op {
			if op.Kind == backend.OpSeen { // a diff at each page view
				op.User.URL = time.Now().Format("#5")
				return []backend.Op{op}
			}
			return []backend.Op{op}
		}),
		"active by every beat": rewriting("rule 16/other operations", func(op backend.Op) []backend.Op {
			if op.Kind == backend.OpHeartbeat {
				op.User.Name = "Name of " + string(op.User.ID)
				return []backend.Op{op, {Kind: backend.OpSeen, User: op.User}}
			}
			return []backend.Op{op}
		}),
		"active in a step of its own": {caught: "rule 16/a step makes one diff", plant: func(s backend.Store) backend.Store {
			return planted{Store: s, apply: func(ctx context.Context, batches []backend.Batch) []backend.Result {
				for _, b := range batches {
					if b.Ops = slices.DeleteFunc(slices.Clone(b.Ops), func(op backend.Op) bool { return op.Kind != backend.OpSeen }); len(b.Ops) > 0 {
						s.Apply(ctx, []backend.Batch{b})
					}
				}
				return s.Apply(ctx, batches)
			}}
		}},
		"who becomes visible was active before": retelling("rule 16/a join is activity", func(m *presence.Member) {
			if m.Since.Sub(m.Active) < 10*time.Second && m.Since.Sub(m.Since.Truncate(10*time.Minute)) > 2*time.Minute {
				m.Active = m.Active.Add(-time.Minute)
			}
		}),
	}
}
