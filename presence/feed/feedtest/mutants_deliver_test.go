package feedtest

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rollcall-go/rollcall/presence/feed"
)

// each changes messages on their way in.
func each(change func(*feed.Message)) func(*planted, *Site) {
	return func(p *planted, _ *Site) {
		p.send = func(ms []feed.Message) error {
			ms = slices.Clone(ms)
			for i := range ms {
				change(&ms[i])
			}
			return p.Memory.Send(bg, ms...)
		}
	}
}

// shows changes items on their way out.
func shows(change func(*feed.Item)) func(*planted, *Site) {
	return func(p *planted, _ *Site) {
		p.item = func(i feed.Item) feed.Item { change(&i); return i }
	}
}

// relayed changes what a relay says, or what is kept, after it.
func relayed(change func(*planted, *feed.Relayed)) func(*planted, *Site) {
	return func(p *planted, _ *Site) {
		p.relay = func(o feed.RelayOptions) (feed.Relayed, error) {
			r, err := p.Memory.Relay(bg, o)
			change(p, &r)
			return r, err
		}
	}
}

// rows changes the rows of the outbox after a relay.
func rows(change func(*Row)) func(*planted, *Site) {
	return relayed(func(p *planted, _ *feed.Relayed) {
		p.mu.Lock()
		defer p.mu.Unlock()
		for i := range p.outbox {
			change(&p.outbox[i])
		}
	})
}

func TestMutantsOfDelivery(t *testing.T) {
	catchMutants(t, []mutant{
		{"each message twice", "F1/a message is in the feed of each", func(p *planted, _ *Site) {
			p.send = func(ms []feed.Message) error { return p.Memory.Send(bg, append(slices.Clone(ms), ms...)...) }
		}},
		{"the last message of a call is lost", "F1/messages arrive in order", func(p *planted, _ *Site) {
			p.send = func(ms []feed.Message) error { return p.Memory.Send(bg, ms[:len(ms)-1]...) }
		}},
		{"messages of a call in turned order", "F1/messages arrive in order", func(p *planted, _ *Site) {
			p.send = func(ms []feed.Message) error {
				ms = slices.Clone(ms)
				slices.Reverse(ms)
				return p.Memory.Send(bg, ms...)
			}
		}},
		{"a row a user", "F1/a user who is named twice", func(p *planted, _ *Site) {
			p.send = func(ms []feed.Message) error {
				for _, m := range ms {
					for _, user := range m.To {
						one := m
						one.To = to(user)
						if err := p.Memory.Send(bg, one); err != nil {
							return err
						}
					}
				}
				return nil
			}
		}},
		{"many recipients are refused", "F1/a message to more users than fit", func(p *planted, _ *Site) {
			p.send = func(ms []feed.Message) error {
				for _, m := range ms {
					if err := m.Validate(); err != nil {
						return err
					}
				}
				return p.Memory.Send(bg, ms...)
			}
		}},
		{"rows of a split message are not apart", "F1/a message to more users than fit", func(p *planted, _ *Site) {
			p.send = func(ms []feed.Message) error {
				for to := range slices.Chunk(ms[0].To, feed.MaxRecipients) {
					m := ms[0]
					m.To = to
					if err := p.Memory.Send(bg, m); err != nil {
						return err
					}
				}
				return nil
			}
		}},
		{"good messages of a refused call", "F1/a message that is refused", func(p *planted, _ *Site) {
			p.send = func(ms []feed.Message) (err error) {
				for _, m := range ms {
					err = errors.Join(err, p.Memory.Send(bg, m))
				}
				return err
			}
		}},
		{"deaf to contexts", "F1/a call whose context has ended", func(p *planted, _ *Site) { p.deaf = true }},
		{"rows that were rolled back", "F1/what is rolled back", func(p *planted, s *Site) {
			s.Rollback = func(ms ...feed.Message) error { return p.Memory.Send(bg, ms...) }
		}},
		{"rows of others in the order of arrival", "F1/rows of other programs", func(p *planted, s *Site) {
			n := 0
			s.Insert = func(_, id, message string) error { n++; return p.Insert(string(rune('a'+n))+id, message) }
		}},
		{"no data", "F1/every field", shows(func(i *feed.Item) { i.Data = nil })},
		{"no names", "F1/every field", shows(func(i *feed.Item) {
			for a := range i.Actors {
				i.Actors[a].Name = string(i.Actors[a].ID)
			}
		})},
		{"no default ID", "F1/the fields of a message", shows(func(i *feed.Item) { i.ID = "x" + i.ID })},
		{"version 0", "F1/the fields of a message", shows(func(i *feed.Item) { i.V = 0 })},
		{"a user for the site", "F1/the fields of a message", shows(func(i *feed.Item) {
			if len(i.Actors) == 0 {
				i.Actors = []feed.Actor{{ID: "", Name: ""}}
			}
		})},
		{"short texts", "F1/texts arrive", shows(func(i *feed.Item) { i.Text = i.Text[:min(255, len(i.Text))] })},
		{"escaped texts", "F1/texts arrive", shows(func(i *feed.Item) { i.Text = strings.ReplaceAll(i.Text, "<", "&lt;") })},
		{"unknown fields fail", "F1/fields that are not known", func(p *planted, s *Site) {
			s.Insert = func(_, id, message string) error {
				d := json.NewDecoder(strings.NewReader(message))
				d.DisallowUnknownFields()
				if err := d.Decode(new(feed.Message)); err != nil {
					message = "not JSON"
				}
				return p.Insert(id, message)
			}
		}},
		{"a bad row ends the batch", "F1/a bad row holds up", func(p *planted, _ *Site) {
			p.relay = func(o feed.RelayOptions) (feed.Relayed, error) {
				for _, row := range p.Outbox() {
					if !json.Valid([]byte(row.Message)) {
						return feed.Relayed{Failed: map[string]int{"json": 1}}, nil
					}
				}
				return p.Memory.Relay(bg, o)
			}
		}},
		{"a bad row is tried for ever", "F1/a bad row is given up", rows(func(r *Row) { r.Tries = min(r.Tries, 5) })},
		{"a bad row is dropped in the end", "F1/a bad row is given up", relayed(func(p *planted, _ *feed.Relayed) {
			p.outbox = slices.DeleteFunc(p.outbox, func(r Row) bool { return r.Tries == maxTries })
		})},
		{"a bad row is tried at once", "F1/a bad row holds up", rows(func(r *Row) { r.due = time.Time{} })},
		{"a bad row waits for a second", "F1/a bad row waits for longer", rows(func(r *Row) { r.due = time.Now().Add(time.Second) })},
		{"a row without a time waits since 1970", "F1/the outbox says", func(p *planted, _ *Site) {
			p.waiting = func() (feed.Outbox, error) {
				o, err := p.Memory.Waiting(bg)
				o.Oldest = time.Since(time.Unix(0, 0))
				return o, err
			}
		}},
		{"one batch is all", "F1/a relay goes on", relayed(func(_ *planted, r *feed.Relayed) { r.More = false })},
		{"bulk rows first", "F1/rows of few", func(p *planted, _ *Site) {
			p.relay = func(o feed.RelayOptions) (feed.Relayed, error) {
				all := p.Outbox()
				p.outbox = slices.DeleteFunc(slices.Clone(all), func(r Row) bool { return len(r.Message) < 1_000 })
				if len(p.outbox) == 0 {
					p.outbox = all
				} else {
					defer func() {
						p.outbox = append(p.outbox, slices.DeleteFunc(all, func(r Row) bool { return len(r.Message) >= 1_000 })...)
					}()
					r, err := p.Memory.Relay(bg, o)
					r.More = true
					return r, err
				}
				return p.Memory.Relay(bg, o)
			}
		}},
	})
}

func TestMutantsOfGroups(t *testing.T) {
	catchMutants(t, []mutant{
		{"no groups", "F1/unread messages of a group", each(func(m *feed.Message) { m.Group = "" })},
		{"groups about anything", "F1/messages of another group", each(func(m *feed.Message) { m.About = "thread:1" })},
		{"no group is a group", "F1/messages of another group", each(func(m *feed.Message) {
			if m.Group == "" {
				m.Group = "none"
			}
		})},
		{"who did it in order of names", "F1/unread messages of a group", shows(func(i *feed.Item) {
			slices.SortFunc(i.Actors, func(a, b feed.Actor) int { return strings.Compare(string(a.ID), string(b.ID)) })
		})},
		{"others are forgotten", "F1/an item knows fifty", shows(func(i *feed.Item) { i.Others = 0 })},
		{"reading leaves a group open", "F1/reading ends a group", func(p *planted, _ *Site) {
			p.relay = func(o feed.RelayOptions) (feed.Relayed, error) {
				p.meddle(func(_ feed.Name, l *list) {
					for i := range l.items {
						if l.items[i].State == feed.Read {
							l.items[i].State = feed.Unread
						}
					}
				})
				return p.Memory.Relay(bg, o)
			}
		}},
		{"the site begins another item", "F1/a message of the site joins", each(func(m *feed.Message) {
			if m.From == "" {
				m.Group = ""
			}
		})},
	})
}
