package feedtest

import (
	"slices"
	"testing"
	"time"

	"github.com/rollcall-go/rollcall/presence/feed"
)

func TestMutantsOfMarks(t *testing.T) {
	catchMutants(t, []mutant{
		{"a mark is of all", "F7/a mark changes the items", asked(func(_ *planted, _ feed.Name, m *feed.Mark) {
			if len(m.Pos) > 0 {
				m.Pos, m.UpTo = nil, 99
			}
		})},
		{"About takes no bound", "F7/About with UpTo", asked(func(_ *planted, _ feed.Name, m *feed.Mark) {
			if m.About != "" {
				m.UpTo = 0
			}
		})},
		{"About is not asked where there is a bound", "F7/About with UpTo", asked(func(_ *planted, _ feed.Name, m *feed.Mark) {
			if m.UpTo > 0 {
				m.About = ""
			}
		})},
		{"a bound brings archived items back", "F7/what is off the list", asked(func(p *planted, n feed.Name, m *feed.Mark) {
			if m.UpTo > 0 {
				m.Pos = []int64{1, 2, 3, 4, 5}
				m.UpTo = 0
			}
		})},
		{"archived items do not come back", "F7/what is off the list", asked(func(p *planted, n feed.Name, m *feed.Mark) {
			for _, item := range p.feeds[n].items {
				if item.State == feed.Archived {
					m.Pos = slices.DeleteFunc(m.Pos, func(pos int64) bool { return pos == item.Pos })
				}
			}
			if len(m.Pos) == 0 && m.UpTo == 0 && m.About == "" {
				m.UpTo = 1
			}
		})},
		{"each mark changes something", "F7/marking is idempotent", marked(func(l *list, _ []feed.Item, _ feed.Mark) { l.rev++ })},
		{"a place without an item is the next one", "F7/nothing is said", asked(func(p *planted, n feed.Name, m *feed.Mark) {
			for i := range m.Pos {
				m.Pos[i] = max(1, min(m.Pos[i], p.feeds[n].pos))
			}
		})},
		{"a place is where the item was first", "F7/an item that moved", asked(func(p *planted, n feed.Name, m *feed.Mark) {
			for i := range m.Pos {
				m.Pos[i] += int64(p.feeds[n].items[0].Count) - 1
			}
		})},
		{"seen is always to the top", "F7/an item that moved", asked(func(_ *planted, _ feed.Name, m *feed.Mark) {
			if m.Seen {
				m.UpTo = 0
			}
		})},
		{"seen is beyond the top", "F7/seen hides", marked(func(l *list, _ []feed.Item, m feed.Mark) { l.seen = max(l.seen, m.UpTo) })},
		{"seen goes back", "F7/seen never", marked(func(l *list, _ []feed.Item, m feed.Mark) { l.seen = m.UpTo })},
		{"seen stays where nothing is unseen", "F7/seen moves on", asked(func(p *planted, n feed.Name, m *feed.Mark) {
			if m.Seen && p.feeds[n].head().Unseen == 0 {
				*m = feed.Mark{As: feed.Read, Pos: []int64{0}}
			}
		})},
		{"an item was seen at the latest mark", "F7/an item keeps when", marked(func(l *list, _ []feed.Item, m feed.Mark) {
			for i := range l.items {
				if m.Seen && l.items[i].Pos <= l.seen {
					l.items[i].SeenAt = time.Now()
				}
			}
		})},
		{"only unread items are seen", "F7/an item keeps when", marked(func(l *list, before []feed.Item, m feed.Mark) {
			for i := range before {
				if m.Seen && before[i].State == feed.Read {
					l.items[i].SeenAt = before[i].SeenAt
				}
			}
		})},
		{"to be seen is a change of the item", "F7/an item keeps when", marked(func(l *list, before []feed.Item, m feed.Mark) {
			for i := range before {
				if !l.items[i].SeenAt.Equal(before[i].SeenAt) {
					l.items[i].Rev = l.rev
				}
			}
		})},
		{"what is marked as unread was read", "F7/an item keeps when", marked(func(l *list, before []feed.Item, _ feed.Mark) {
			for i := range before {
				if l.items[i].ReadAt.IsZero() {
					l.items[i].ReadAt = before[i].ReadAt
				}
			}
		})},
		{"an item was read at the latest mark", "F7/an item keeps when", marked(func(l *list, before []feed.Item, m feed.Mark) {
			for i := range before {
				if m.As == feed.Read && l.items[i].State != before[i].State {
					l.items[i].ReadAt = time.Now()
				}
			}
		})},
		{"an item that others join was seen", "F7/a message that joins an item clears", relayed(func(p *planted, _ *feed.Relayed) {
			p.meddle(func(_ feed.Name, l *list) {
				for i := range l.items {
					if l.items[i].Count > 1 && l.items[i].SeenAt.IsZero() {
						l.items[i].SeenAt = l.items[i].At
					}
				}
			})
		})},
		{"a mark is of all whose names begin alike", "F7/a mark changes the feed", func(p *planted, _ *Site) {
			p.mark = func(n feed.Name, m feed.Mark) (feed.Head, error) {
				if _, err := p.Memory.Mark(bg, n+"2", m); err != nil {
					return feed.Head{}, err
				}
				return p.Memory.Mark(bg, n, m)
			}
		}},
		{"marks are not checked", "F7/marks that are wrong", func(p *planted, _ *Site) {
			p.mark = func(n feed.Name, m feed.Mark) (feed.Head, error) { h, _ := p.Memory.Mark(bg, n, m); return h, nil }
		}},
		{"a page is of users in lower case", "F7/users whose names", func(p *planted, _ *Site) {
			p.named = func(n feed.Name) feed.Name {
				if n == "inbox:Alice" {
					return alice
				}
				return n
			}
		}},
		{"rooms end at a colon", "F7/rooms whose names", func(p *planted, _ *Site) {
			p.named = func(n feed.Name) feed.Name {
				if n == "thread:1:" {
					return "thread:1"
				}
				return n
			}
		}},
		{"names are not checked", "F13/names that are wrong", func(p *planted, _ *Site) {
			p.named = func(n feed.Name) feed.Name {
				if n.Validate() != nil {
					return alice
				}
				return n
			}
		}},
	})
}
