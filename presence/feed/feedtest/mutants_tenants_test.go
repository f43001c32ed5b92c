package feedtest

import (
	"slices"
	"testing"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/feed"
)

// Each of these stores forgets the tenant in one thing.
func TestMutantsOfTenants(t *testing.T) {
	local := func(p *planted, _ *Site) { p.named = func(n feed.Name) feed.Name { return n.Local() } }
	catchMutants(t, []mutant{
		{"one inbox for all tenants", "T3/equal users of tenants have inboxes", each(func(m *feed.Message) { m.Tenant = "" })},
		{"pages of no tenant", "T3/equal users of tenants have inboxes", local},
		{"one tenant where names begin alike", "T3/hints, heads", each(func(m *feed.Message) { m.Tenant = m.Tenant[:min(len(m.Tenant), 4)] })},
		{"hints of no tenant", "T3/hints, heads", relayed(func(_ *planted, r *feed.Relayed) {
			for i := range r.Changed {
				r.Changed[i].Name = r.Changed[i].Name.Local()
			}
		})},
		{"changes of the first one's tenant", "T3/hints, heads", func(p *planted, _ *Site) {
			p.changes = func(since []feed.Since) ([]feed.Change, error) {
				since = slices.Clone(since)
				for i := range since {
					since[i].Name = since[i].Name.Local().In(since[0].Name.Tenant())
				}
				return p.Memory.Changes(bg, since...)
			}
		}},
		{"marks of all tenants", "T3/a mark is of one", func(p *planted, _ *Site) {
			p.mark = func(n feed.Name, m feed.Mark) (feed.Head, error) {
				for _, tenant := range tenants {
					if _, err := p.Memory.Mark(bg, n.Local().In(tenant), m); err != nil {
						return feed.Head{}, err
					}
				}
				return p.Memory.Mark(bg, n, m)
			}
		}},
		{"IDs of all tenants", "T3/equal message IDs", beforeRelay(dedupe)},
		{"groups of all tenants", "T3/equal groups", each(func(m *feed.Message) {
			if m.Group != "" {
				m.Tenant = ""
			}
		})},
		{"whose own doing is lost in tenants", "T3/who did it", each(func(m *feed.Message) {
			if m.Tenant != "" && m.From != "" {
				m.From += "-" + presence.UserID(m.Tenant)
			}
		})},
		{"edits of no tenant", "T3/equal rooms", func(p *planted, _ *Site) {
			p.edit = func(n feed.Name, id string, m feed.Message) (feed.Head, error) {
				return p.Memory.Edit(bg, n.Local(), id, m)
			}
		}},
		{"removals of no tenant", "T3/equal rooms", func(p *planted, _ *Site) {
			p.remove = func(n feed.Name, id string) (feed.Head, error) { return p.Memory.Remove(bg, n.Local(), id) }
		}},
		{"mutes of no tenant", "T3/a mute is", func(p *planted, _ *Site) {
			p.mute = func(user presence.UserID, m feed.Mute) error { return p.Memory.Mute(bg, user.Local(), m) }
		}},
		{"mutes are read of no tenant", "T3/a mute is", func(p *planted, _ *Site) {
			p.mutes = func(user presence.UserID) ([]feed.Mute, error) { return p.Memory.Mutes(bg, user.Local()) }
		}},
		{"rows of other programs have no tenant", "T3/rows of other programs", func(p *planted, s *Site) {
			s.Insert = func(tenant, id, message string) error { return p.InsertFor("", tenant+id, message) }
		}},
		{"rows of other programs have one ID", "T3/rows of other programs", func(p *planted, s *Site) {
			had := make(map[string]bool)
			s.Insert = func(tenant, id, message string) error {
				if had[id] {
					return nil
				}
				had[id] = true
				return p.InsertFor(tenant, id, message)
			}
		}},
		{"any text is a tenant", "T3/a row of no valid tenant", func(p *planted, s *Site) {
			s.Insert = func(tenant, id, message string) error {
				if !presence.ValidTenant(tenant) {
					tenant = ""
				}
				return p.InsertFor(tenant, id+tenant+time.Now().String(), message)
			}
		}},
		{"names of messages are not checked", "T1/no name", func(p *planted, _ *Site) {
			p.send = func(ms []feed.Message) error { _ = p.Memory.Send(bg, ms...); return nil }
		}},
		{"names of feeds are made local", "T1/no name", local},
		{"digests have no tenant", "T3/equal users of tenants have digests", func(p *planted, _ *Site) {
			p.due = func(most int, claim time.Duration) ([]feed.Digest, error) {
				all, err := p.Memory.Due(bg, most, claim)
				for i := range all {
					all[i].Tenant = ""
				}
				return all, err
			}
		}},
		{"digests settle those of all tenants", "T3/equal users of tenants have digests", func(p *planted, _ *Site) {
			p.settle = func(d feed.Digest, sent bool, later time.Duration) error {
				p.meddle(func(n feed.Name, l *list) {
					if sent && n.Local() == feed.Inbox(d.User) {
						l.mailAt = time.Time{}
					}
				})
				d.Claim += "-"
				return p.Memory.Settle(bg, d, sent, later)
			}
		}},
		{"trims of one tenant", "T3/a trim is of all", func(p *planted, _ *Site) {
			p.trim = func(o feed.TrimOptions) (int, error) {
				p.mu.Lock()
				var kept map[feed.Name]*list
				for n, l := range p.feeds {
					if n.Tenant() == "acme-2" {
						kept = map[feed.Name]*list{n: l}
						delete(p.feeds, n)
					}
				}
				p.mu.Unlock()
				n, err := p.Memory.Trim(bg, o)
				for name, l := range kept {
					p.feeds[name] = l
				}
				return n, err
			}
		}},
		{"digests of the oldest", "T3/a tenant with many digests", func(p *planted, _ *Site) {
			p.due = func(most int, claim time.Duration) ([]feed.Digest, error) {
				all, err := p.Memory.Due(bg, 1_000, claim)
				slices.SortStableFunc(all, func(a, b feed.Digest) int { return a.Items[0].At.Compare(b.Items[0].At) })
				return all[:min(len(all), most)], err
			}
		}},
		{"a trim that goes on never turns back", "T3/a trim that goes on", func(p *planted, _ *Site) {
			p.trim = func(o feed.TrimOptions) (int, error) {
				p.mu.Lock()
				hidden := p.feeds["thread:1"]
				if len(p.feeds["acme-2\x1dthread:2"].ids) == 0 {
					delete(p.feeds, "thread:1")
				}
				p.mu.Unlock()
				n, err := p.Memory.Trim(bg, o)
				p.feeds["thread:1"] = hidden
				return n, err
			}
		}},
		{"no turns", "T3/a tenant with many messages", beforeRelay(func(p *planted) { p.turn = "acm" })},
	})
}

// dedupe removes rows whose message another tenant's row has.
func dedupe(p *planted) {
	p.mu.Lock()
	defer p.mu.Unlock()
	had := make(map[string]bool)
	p.outbox = slices.DeleteFunc(p.outbox, func(r Row) bool {
		twice := had[r.Message]
		had[r.Message] = true
		return twice
	})
}
