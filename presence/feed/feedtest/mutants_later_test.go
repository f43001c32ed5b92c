package feedtest

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/rollcall-go/rollcall/presence/feed"
)

func TestMutantsOfDigests(t *testing.T) {
	// claimed changes digests on their way out.
	claimed := func(change func(p *planted, d *feed.Digest)) func(*planted, *Site) {
		return func(p *planted, _ *Site) {
			p.due = func(most int, claim time.Duration) ([]feed.Digest, error) {
				all, err := p.Memory.Due(bg, most, claim)
				for i := range all {
					change(p, &all[i])
				}
				return all, err
			}
		}
	}
	// settled changes what Settle is told.
	settled := func(change func(p *planted, d *feed.Digest, sent *bool, later *time.Duration)) func(*planted, *Site) {
		return func(p *planted, _ *Site) {
			p.settle = func(d feed.Digest, sent bool, later time.Duration) error {
				change(p, &d, &sent, &later)
				return p.Memory.Settle(bg, d, sent, later)
			}
		}
	}
	n := 0
	catchMutants(t, []mutant{
		{"what was read is mailed", "F11/a digest has what", func(p *planted, _ *Site) {
			p.due = func(most int, claim time.Duration) ([]feed.Digest, error) {
				p.meddle(func(_ feed.Name, l *list) {
					for i := range l.items {
						l.items[i].State = feed.Unread
					}
				})
				return p.Memory.Due(bg, most, claim)
			}
		}},
		{"a digest for who has read everything", "F11/a user who has read", func(p *planted, _ *Site) {
			p.due = func(most int, claim time.Duration) ([]feed.Digest, error) {
				return append(must(p.Memory.Due(bg, most, claim)), feed.Digest{User: "alice"}), nil
			}
		}},
		{"what is not for mail is mailed", "F11/a digest has what", each(func(m *feed.Message) { m.Mail = true })},
		{"the oldest first", "F11/a digest has what", claimed(func(_ *planted, d *feed.Digest) { slices.Reverse(d.Items) })},
		{"digests at once", "F11/a digest is due", options(func(o *feed.RelayOptions) { o.MailAfter = 0 })},
		{"digests late", "F11/a digest is due", options(func(o *feed.RelayOptions) { o.MailAfter *= 2 })},
		{"each item puts the digest off", "F11/a digest is due", func(p *planted, _ *Site) {
			p.relay = func(o feed.RelayOptions) (feed.Relayed, error) {
				p.meddle(func(_ feed.Name, l *list) { l.mailAt = time.Time{} })
				return p.Memory.Relay(bg, o)
			}
		}},
		{"nothing is settled", "F11/an item is in one", settled(func(_ *planted, d *feed.Digest, _ *bool, _ *time.Duration) { d.Claim = "" })},
		{"what was sent is not marked", "F11/an item is in one", settled(func(_ *planted, _ *feed.Digest, sent *bool, _ *time.Duration) { *sent = false })},
		{"a join has an item mailed again", "F11/what joins", beforeRelay(func(p *planted) {
			p.meddle(func(_ feed.Name, l *list) {
				for i := range l.items {
					l.items[i].Mail = min(l.items[i].Mail, feed.ToMail)
				}
				l.mailAt = time.Now()
			})
		})},
		{"a joined item is as its first message", "F11/a message for mail", each(func(m *feed.Message) {
			if m.From == "carol" {
				m.Mail = false
			}
		})},
		{"no word of more", "F11/a long digest", claimed(func(_ *planted, d *feed.Digest) { d.More = 0 })},
		{"digests of any length", "F11/a long digest", claimed(func(p *planted, d *feed.Digest) { d.Items, d.More = p.feeds[alice].toMail(), 0 })},
		{"more are mailed again", "F11/a long digest", func(p *planted, _ *Site) {
			p.settle = func(d feed.Digest, sent bool, later time.Duration) error {
				err := p.Memory.Settle(bg, d, sent, later)
				p.meddle(func(_ feed.Name, l *list) { l.items[0].Mail = feed.ToMail; l.mailAt = time.Now() })
				return err
			}
		}},
		{"all digests are claimed", "F11/digests are claimed", func(p *planted, _ *Site) {
			p.due = func(_ int, claim time.Duration) ([]feed.Digest, error) { return p.Memory.Due(bg, 100, claim) }
		}},
		{"claims do not last", "F11/nobody else", func(p *planted, _ *Site) {
			p.due = func(most int, _ time.Duration) ([]feed.Digest, error) { return p.Memory.Due(bg, most, 0) }
		}},
		{"random keys", "F11/a digest whose claim", claimed(func(_ *planted, d *feed.Digest) { n++; d.Key = fmt.Sprint(n) })},
		{"one key", "F11/an item is in one", claimed(func(_ *planted, d *feed.Digest) { d.Key = "1" })},
		{"a repeated digest is fresh", "F11/a digest whose claim", func(p *planted, _ *Site) {
			p.due = func(most int, claim time.Duration) ([]feed.Digest, error) {
				p.meddle(func(_ feed.Name, l *list) { l.mailing = 0 })
				return p.Memory.Due(bg, most, claim)
			}
		}},
		{"a digest that was not sent is fresh", "F11/a digest that was not sent", settled(func(_ *planted, d *feed.Digest, _ *bool, _ *time.Duration) { d.Key = "" })},
		{"a digest that nobody was handed is the same", "F11/a digest that nobody", settled(func(_ *planted, d *feed.Digest, _ *bool, _ *time.Duration) { d.Key = "x" })},
		{"put off for no time", "F11/a digest that was not sent", settled(func(_ *planted, _ *feed.Digest, _ *bool, later *time.Duration) { *later = 0 })},
		{"how long it was put off is forgotten", "F11/a digest that was not sent", claimed(func(_ *planted, d *feed.Digest) { d.Waited = 0 })},
		{"a digest of which all was read is the last one", "F11/a digest of which", func(p *planted, _ *Site) {
			p.due = func(most int, claim time.Duration) ([]feed.Digest, error) {
				for _, l := range p.feeds {
					if l.mailing > 0 && len(l.toMail()) == 0 {
						return nil, nil
					}
				}
				return p.Memory.Due(bg, most, claim)
			}
		}},
		{"items are settled by their place", "F11/an item that moved", settled(func(_ *planted, d *feed.Digest, _ *bool, _ *time.Duration) { d.Items = nil })},
		{"any claim settles", "F11/only the latest", settled(func(p *planted, d *feed.Digest, _ *bool, _ *time.Duration) {
			if l := p.feeds[feed.Inbox(d.User)]; l != nil {
				d.Claim = l.claim
			}
		})},
		{"a digest is a revision", "F11/a digest changes", func(p *planted, _ *Site) {
			p.settle = func(d feed.Digest, sent bool, later time.Duration) error {
				p.meddle(func(_ feed.Name, l *list) { l.rev++ })
				return p.Memory.Settle(bg, d, sent, later)
			}
		}},
	})
}

// options changes the options of a relay.
func options(change func(o *feed.RelayOptions)) func(*planted, *Site) {
	return func(p *planted, _ *Site) {
		p.relay = func(o feed.RelayOptions) (feed.Relayed, error) { change(&o); return p.Memory.Relay(bg, o) }
	}
}

// beforeRelay changes what is kept before a relay.
func beforeRelay(change func(p *planted)) func(*planted, *Site) {
	return func(p *planted, _ *Site) {
		p.relay = func(o feed.RelayOptions) (feed.Relayed, error) { change(p); return p.Memory.Relay(bg, o) }
	}
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func TestMutantsOfTrimming(t *testing.T) {
	trimmed := func(before func(p *planted, o *feed.TrimOptions), after func(l *list)) func(*planted, *Site) {
		return func(p *planted, _ *Site) {
			p.trim = func(o feed.TrimOptions) (int, error) {
				if before != nil {
					before(p, &o)
				}
				n, err := p.Memory.Trim(bg, o)
				if after != nil {
					p.meddle(func(_ feed.Name, l *list) { after(l) })
				}
				return n, err
			}
		}
	}
	catchMutants(t, []mutant{
		{"unread items go", "F12/the oldest of too many", trimmed(func(p *planted, _ *feed.TrimOptions) {
			p.meddle(func(_ feed.Name, l *list) {
				for i := range l.items {
					l.items[i].State = feed.Read
				}
			})
		}, nil)},
		{"the newest go", "F12/the oldest of too many", trimmed(func(p *planted, _ *feed.TrimOptions) {
			p.meddle(func(_ feed.Name, l *list) { slices.Reverse(l.items) })
		},
			func(l *list) { slices.Reverse(l.items) })},
		{"any number of items", "F12/the oldest of too many", trimmed(func(_ *planted, o *feed.TrimOptions) { o.Most = 1_000 }, nil)},
		{"unread items stay for ever", "F12/items go after", trimmed(func(_ *planted, o *feed.TrimOptions) { o.Keep *= 10 }, nil)},
		{"items go early", "F12/items go after", trimmed(func(_ *planted, o *feed.TrimOptions) { o.Keep = o.Archived }, nil)},
		{"archived items stay", "F12/archived and removed", trimmed(func(_ *planted, o *feed.TrimOptions) { o.Archived = o.Keep }, nil)},
		{"archived items go at once", "F12/a feed without old", trimmed(func(_ *planted, o *feed.TrimOptions) { o.Archived = 0 }, nil)},
		{"each trim is a revision", "F12/a feed without old", trimmed(nil, func(l *list) { l.rev++ })},
		{"no floor", "F12/archived and removed", trimmed(nil, func(l *list) { l.floor = 0 })},
		{"no floor for those behind", "F8/a revision before rows", trimmed(nil, func(l *list) { l.floor = 0 })},
		{"no revision", "F12/a feed goes on", trimmed(nil, func(l *list) { l.rev--; l.floor = l.rev })},
		{"any number of rows", "F12/a step", trimmed(func(_ *planted, o *feed.TrimOptions) { o.Rows = 1_000 }, nil)},
		{"a feed begins again", "F12/a feed goes on", trimmed(nil, func(l *list) { l.pos = 0 })},
		{"no inbox is full", "F12/an inbox that is full", options(func(o *feed.RelayOptions) { o.Most = 0 })},
		{"all items make an inbox full", "F12/archived items do not", func(p *planted, _ *Site) {
			p.relay = func(o feed.RelayOptions) (feed.Relayed, error) {
				if l := p.feeds[alice]; l != nil {
					o.Most -= len(l.items)
				}
				if o.Most == 0 {
					p.outbox = nil
				}
				return p.Memory.Relay(bg, o)
			}
		}},
	})
}

func TestMutantsOfRaces(t *testing.T) {
	catchMutants(t, []mutant{
		{"a mark writes what it read", "F6/senders", func(p *planted, _ *Site) {
			p.mark = func(n feed.Name, m feed.Mark) (feed.Head, error) {
				var before []feed.Item
				p.mu.Lock()
				if l := p.feeds[n]; l != nil {
					before = slices.Clone(l.items)
				}
				p.mu.Unlock()
				time.Sleep(2 * time.Millisecond)
				p.meddle(func(name feed.Name, l *list) {
					if name == n {
						l.items = before
					}
				})
				return p.Memory.Mark(bg, n, m)
			}
		}},
		{"a page is read in two steps", "F6/senders", func(p *planted, _ *Site) {
			p.page = func(n feed.Name, before int64, limit int) (feed.Head, []feed.Item, bool, error) {
				h, _, _, err := p.Memory.Page(bg, n, before, limit)
				if err != nil {
					return h, nil, false, err
				}
				time.Sleep(3 * time.Millisecond)
				_, items, more, err := p.Memory.Page(bg, n, before, limit)
				return h, items, more, err
			}
		}},
		{"claims are for all", "F6/digests", func(p *planted, _ *Site) {
			mu := make(chan struct{}, 1)
			asked := 0
			p.due = func(most int, claim time.Duration) ([]feed.Digest, error) {
				mu <- struct{}{}
				defer func() { <-mu }()
				if asked++; asked%2 == 1 {
					p.meddle(func(_ feed.Name, l *list) { l.mailAt = time.Now().Add(-time.Second) })
				}
				if asked > 20 {
					return nil, nil
				}
				return p.Memory.Due(bg, most, claim)
			}
		}},
	})
}
