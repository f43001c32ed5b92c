package feedtest

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rollcall-go/rollcall/presence/feed"
)

// TestMutantsOfModel has the random games find bugs that show only in some order of moves.
func TestMutantsOfModel(t *testing.T) {
	for _, m := range []struct {
		bug    string
		faulty bool // found only where calls are repeated
		plant  func(*planted, *Site)
	}{
		{"a batch forgets its IDs", true, relayed(func(p *planted, _ *feed.Relayed) {
			p.meddle(func(_ feed.Name, l *list) { clear(l.ids) })
		})},
		{"a repeated send has new IDs", true, func(p *planted, _ *Site) {
			had := make(map[string]bool)
			p.send = func(ms []feed.Message) error {
				ms = slices.Clone(ms)
				for i := range ms {
					if had[ms[i].Text] {
						ms[i].ID += "-again"
					}
					had[ms[i].Text] = true
				}
				return p.Memory.Send(bg, ms...)
			}
		}},
		{"each mark is a revision", false, marked(func(l *list, _ []feed.Item, _ feed.Mark) { l.rev++ })},
		{"a mark of what was archived", false, marked(func(l *list, before []feed.Item, m feed.Mark) {
			for i := range before {
				if before[i].State == feed.Archived && l.items[i].State == feed.Unread {
					l.items[i].State = feed.Read
				}
			}
		})},
		{"the oldest group is joined", false, func(p *planted, _ *Site) {
			p.relay = func(o feed.RelayOptions) (feed.Relayed, error) {
				p.meddle(func(_ feed.Name, l *list) {
					open := make(map[string]int)
					for i := len(l.items) - 1; i >= 0; i-- {
						if item := l.items[i]; item.State == feed.Unread && item.Group != "" {
							if newer, ok := open[item.Group+item.About]; ok {
								l.items[newer].Group = "" // is no longer found
							}
							open[item.Group+item.About] = i
						}
					}
				})
				return p.Memory.Relay(bg, o)
			}
		}},
		{"trimming too many also takes the young", false, func(p *planted, _ *Site) {
			p.trim = func(o feed.TrimOptions) (int, error) { o.Most = max(1, o.Most-1); return p.Memory.Trim(bg, o) }
		}},
		{"a trim keeps the counters", false, func(p *planted, _ *Site) {
			var more int
			p.trim = func(o feed.TrimOptions) (int, error) {
				was := p.feeds[alice].head().Unread
				n, err := p.Memory.Trim(bg, o)
				more += was - p.feeds[alice].head().Unread
				return n, err
			}
			p.head = func(n feed.Name, h feed.Head) feed.Head {
				if n == alice {
					h.Unread += more
				}
				return h
			}
		}},
		{"a digest after a mark as unread", false, func(p *planted, _ *Site) {
			p.settle = func(d feed.Digest, sent bool, later time.Duration) error {
				err := p.Memory.Settle(bg, d, sent, later)
				p.meddle(func(_ feed.Name, l *list) {
					for i := range l.items {
						if l.items[i].State != feed.Unread {
							l.items[i].Mail = min(l.items[i].Mail, feed.ToMail)
						}
					}
				})
				return err
			}
		}},
	} {
		t.Run(strings.ReplaceAll(m.bug, " ", "_"), func(t *testing.T) {
			for seed := range uint64(8) {
				p := &planted{Memory: NewMemory()}
				site := p.Site()
				site.Store = p
				m.plant(p, &site)
				g := newGame(t, site, seed, m.faulty)
				for range 2 * gameMoves {
					if g.move() != nil {
						return
					}
				}
			}
			t.Error("no game found it")
		})
	}
}
