package feedtest

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/feed"
)

func TestMutantsOfOnce(t *testing.T) {
	forget := func(which func(l *list, id string) bool) func(*planted, *Site) {
		return relayed(func(p *planted, _ *feed.Relayed) {
			p.meddle(func(_ feed.Name, l *list) {
				for id := range l.ids {
					if which(l, id) {
						delete(l.ids, id)
					}
				}
			})
		})
	}
	has := func(l *list, is func(feed.Item) bool) bool { return slices.ContainsFunc(l.items, is) }
	n := 0
	catchMutants(t, []mutant{
		{"IDs are forgotten at once", "F4/the same ID counts once$", forget(func(*list, string) bool { return true })},
		{"IDs are of rows", "F4/the same ID counts once in another row", func(p *planted, s *Site) {
			s.Insert = func(_, id, message string) error {
				n++
				return p.Insert(id, strings.ReplaceAll(message, "m-1", "m-"+string(rune('a'+n))))
			}
		}},
		{"IDs of items only", "F4/the same ID counts once inside", forget(func(l *list, id string) bool { return !has(l, func(i feed.Item) bool { return i.ID == id }) })},
		{"IDs of unread items only", "F4/the same ID counts once after", func(p *planted, _ *Site) {
			p.mark = func(n feed.Name, m feed.Mark) (feed.Head, error) {
				h, err := p.Memory.Mark(bg, n, m)
				p.meddle(func(_ feed.Name, l *list) { clear(l.ids) })
				return h, err
			}
		}},
		{"IDs are trimmed early", "F4/the same ID counts once while", func(p *planted, _ *Site) {
			p.trim = func(o feed.TrimOptions) (int, error) {
				p.meddle(func(_ feed.Name, l *list) { clear(l.ids) })
				return p.Memory.Trim(bg, o)
			}
		}},
		{"the ID of an item is trimmed before it", "F4/the ID of an item is kept", func(p *planted, _ *Site) {
			p.trim = func(o feed.TrimOptions) (int, error) {
				p.meddle(func(_ feed.Name, l *list) {
					for id, at := range l.ids {
						if time.Since(at) > o.Keep {
							delete(l.ids, id)
						}
					}
				})
				return p.Memory.Trim(bg, o)
			}
		}},
		{"IDs of all feeds", "F4/the same ID in two feeds", func(p *planted, _ *Site) {
			had := make(map[string]bool)
			p.send = func(ms []feed.Message) error {
				ms = slices.DeleteFunc(slices.Clone(ms), func(m feed.Message) bool { was := had[m.ID]; had[m.ID] = true; return was })
				return p.Memory.Send(bg, ms...)
			}
		}},
		{"IDs in lower case", "F4/IDs that differ", each(func(m *feed.Message) { m.ID = strings.ToLower(m.ID) })},
		{"IDs without spaces", "F4/IDs that differ", each(func(m *feed.Message) { m.ID = strings.TrimSpace(m.ID) })},
		{"the default ID is the text", "F4/messages without an ID", each(func(m *feed.Message) { m.ID = m.Text })},
	})
}

func TestMutantsOfMutes(t *testing.T) {
	muted := func(change func(*feed.Mute)) func(*planted, *Site) {
		return func(p *planted, _ *Site) {
			p.mute = func(user presence.UserID, m feed.Mute) error { change(&m); return p.Memory.Mute(bg, user, m) }
		}
	}
	catchMutants(t, []mutant{
		{"own messages", "F5/nobody gets a message from themselves$", each(func(m *feed.Message) { m.From = "" })},
		{"own messages in groups", "F5/nobody gets a message from themselves in a group", each(func(m *feed.Message) {
			if m.Group != "" {
				m.From = ""
			}
		})},
		{"own posts are dropped", "F5/a room has what", each(func(m *feed.Message) {
			if m.Feed != "" {
				m.To, m.Feed = to(m.From), ""
			}
		})},
		{"must does nothing", "F5/a mute holds back", each(func(m *feed.Message) { m.Must = false })},
		{"must passes all", "F5/a mute holds back", each(func(m *feed.Message) {
			if m.Must {
				m.About = ""
			}
		})},
		{"types of one beginning", "F5/a mute holds back", muted(func(m *feed.Mute) {
			if strings.HasPrefix("type:reply", m.Scope) {
				m.Scope = "type:reply"
			}
		})},
		{"a mute is everybody's", "F5/a mute holds back", func(p *planted, _ *Site) {
			p.mute = func(user presence.UserID, m feed.Mute) error {
				for _, scope := range []string{"*", "type:reply", "about:thread:1", "type:rep", "about:thread:11", "type:message"} {
					if err := p.Memory.Mute(bg, presence.UserID("user of "+scope), m); err != nil {
						return err
					}
				}
				return p.Memory.Mute(bg, user, m)
			}
		}},
		{"mutes hold as of the send", "F5/mutes hold as of", func(p *planted, _ *Site) {
			p.mute = func(user presence.UserID, m feed.Mute) error {
				if _, err := p.Memory.Relay(bg, feed.RelayOptions{}); err != nil {
					return err
				}
				return p.Memory.Mute(bg, user, m)
			}
		}},
		{"a mute never ends", "F5/a mute ends", muted(func(m *feed.Mute) { m.Until = time.Time{} })},
		{"a mute of mail is of all", "F5/a mute of mail", muted(func(m *feed.Mute) { m.How = min(2*m.How, feed.MuteAll) })},
		{"a mute of mail is none", "F5/a mute of mail", muted(func(m *feed.Mute) { m.How = m.How &^ 1 })},
		{"the mildest mute holds", "F5/of several mutes", func(p *planted, _ *Site) {
			p.relay = func(o feed.RelayOptions) (feed.Relayed, error) {
				for _, mutes := range p.Memory.mutes {
					for scope, m := range mutes {
						m.How = feed.MuteMail
						mutes[scope] = m
					}
				}
				return p.Memory.Relay(bg, o)
			}
		}},
		{"mutes in any order", "F5/mutes are listed", func(p *planted, _ *Site) {
			p.mutes = func(user presence.UserID) ([]feed.Mute, error) {
				all, err := p.Memory.Mutes(bg, user)
				slices.Reverse(all)
				return all, err
			}
		}},
		{"mutes are not replaced", "F5/mutes are listed", func(p *planted, _ *Site) {
			p.mute = func(user presence.UserID, m feed.Mute) error {
				if _, had := p.Memory.mutes[user][m.Scope]; had && m.How != feed.MuteNothing {
					return nil
				}
				return p.Memory.Mute(bg, user, m)
			}
		}},
		{"mutes are not checked", "F5/mutes that are wrong", func(p *planted, _ *Site) {
			p.mute = func(user presence.UserID, m feed.Mute) error { _ = p.Memory.Mute(bg, user, m); return nil }
		}},
		{"any number of mutes", "F5/a user has a bounded", func(p *planted, _ *Site) {
			p.mute = func(user presence.UserID, m feed.Mute) error {
				if err := p.Memory.Mute(bg, user, m); !errors.Is(err, feed.ErrTooManyMutes) {
					return err
				}
				return nil
			}
		}},
		{"a full list cannot be changed", "F5/a user has a bounded", func(p *planted, _ *Site) {
			p.mute = func(user presence.UserID, m feed.Mute) error {
				if len(p.Memory.mutes[user]) >= feed.MaxMutes {
					return feed.ErrTooManyMutes
				}
				return p.Memory.Mute(bg, user, m)
			}
		}},
	})
}
