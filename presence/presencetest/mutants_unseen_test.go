package presencetest_test

import (
	"context"
	"strings"
	"sync"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
)

// unseenMutants tell or keep a last seen that rule 21 forbids, or hide more than it says.
func unseenMutants() map[string]mutant {
	restating := func(caught string, restate func(presence.Status) presence.Status) mutant {
		return rewriting(caught, func(op backend.Op) []backend.Op {
			op.User.Status = restate(op.User.Status)
			return []backend.Op{op}
		})
	}
	unseenNow := func(b presence.Status) bool { return strings.HasSuffix(string(b), "-") }
	return map[string]mutant{
		"unseen is a word without a meaning": restating("rule 21/an unseen user leaves without", presence.Status.Base),
		"who is invisible need not be unseen": restating("rule 21/turning invisible- is a leave", func(s presence.Status) presence.Status {
			if s == "invisible-" {
				return presence.Invisible
			}
			return s
		}),
		"invisible- is a status like any other": restating("rule 21/invisible- is as hidden", func(s presence.Status) presence.Status {
			if s == "invisible-" {
				return "away-"
			}
			return s
		}),
		"who is unseen is invisible": restating("rule 21/an unseen user is there", func(s presence.Status) presence.Status {
			if unseenNow(s) {
				return "invisible-"
			}
			return s
		}),
		"a profile without a status is seen": rewriting("rule 21/an unseen user is there", func(op backend.Op) []backend.Op {
			if op.Kind == backend.OpUpdate && op.User.Status == "" {
				op.User.Status = presence.Online
			}
			return []backend.Op{op}
		}),
		"once unseen, always unseen": {caught: "rule 21/turning seen", plant: func(s backend.Store) backend.Store {
			unseen := make(map[presence.UserID]bool)
			return planted{Store: s, op: func(_ presence.Topic, op backend.Op) []backend.Op {
				if unseen[op.User.ID] = unseen[op.User.ID] || unseenNow(op.User.Status); unseen[op.User.ID] && op.User.Status != "" {
					op.User.Status = op.User.Status.Base() + "-"
				}
				return []backend.Op{op}
			}}
		}},
		"a leave tells what is not kept": retold("rule 21/an unseen user leaves without", func(_ presence.Topic, d backend.Diff) []backend.Diff {
			for i := range d.Leaves {
				if d.Leaves[i].LastSeen.IsZero() {
					d.Leaves[i].LastSeen = time.Now()
				}
			}
			return []backend.Diff{d}
		}),
		"a sweep tells of all alike": retold("rule 21/many leave together", func(_ presence.Topic, d backend.Diff) []backend.Diff {
			for i := range d.Leaves {
				d.Leaves[i].LastSeen = d.Leaves[min(1, len(d.Leaves)-1)].LastSeen
			}
			return []backend.Diff{d}
		}),
		"last seen from before stays": {caught: "rule 21/a last seen from before", plant: func(s backend.Store) backend.Store {
			var mu sync.Mutex
			known := make(map[presence.UserID]time.Time)
			return planted{Store: s, sightings: func(_ presence.Topic, id presence.UserID, got backend.Sighting) backend.Sighting {
				mu.Lock()
				defer mu.Unlock()
				if got.LastSeen.IsZero() && !got.Online {
					got.LastSeen = known[id]
				}
				known[id] = got.LastSeen
				return got
			}}
		}},
		"who turns seen was seen before": {caught: "rule 21/turning seen", plant: func(s backend.Store) backend.Store {
			var mu sync.Mutex
			proof := make(map[presence.UserID]time.Time)
			return planted{Store: s, op: func(_ presence.Topic, op backend.Op) []backend.Op {
				mu.Lock()
				defer mu.Unlock()
				if op.Kind != backend.OpUpdate {
					proof[op.User.ID] = time.Now()
				}
				return []backend.Op{op}
			}, sightings: func(_ presence.Topic, id presence.UserID, got backend.Sighting) backend.Sighting {
				if !got.LastSeen.IsZero() {
					got.LastSeen = proof[id]
				}
				return got
			}}
		}},
		"an unseen user is remembered by name": {caught: "rule 21/an unseen user is in no list", plant: func(s backend.Store) backend.Store {
			var mu sync.Mutex
			named := make(map[presence.UserID]presence.User)
			return planted{Store: s, op: func(_ presence.Topic, op backend.Op) []backend.Op {
				mu.Lock()
				defer mu.Unlock()
				if unseenNow(op.User.Status) && op.User.Name != "" {
					named[op.User.ID] = op.User
				}
				return []backend.Op{op}
			}, recent: func(ctx context.Context, topic presence.Topic, q backend.RecentQuery) (backend.RecentPage, error) {
				p, err := s.Recent(ctx, topic, q)
				mu.Lock()
				defer mu.Unlock()
				if len(p.Users) > 0 {
					for _, u := range named {
						last := p.Users[len(p.Users)-1]
						u.Status = ""
						p.Users = append(p.Users, backend.RecentUser{User: u, Active: last.Active.Add(-time.Second)})
						p.Total++
						break
					}
				}
				return p, err
			}}
		}},
	}
}
