package feedtest

import (
	"slices"
	"testing"
	"time"

	"github.com/rollcall-go/rollcall/presence/feed"
)

// marked changes what is kept after a mark. before is the list as it was.
func marked(change func(l *list, before []feed.Item, m feed.Mark)) func(*planted, *Site) {
	return func(p *planted, _ *Site) {
		p.mark = func(n feed.Name, m feed.Mark) (feed.Head, error) {
			var before []feed.Item
			if l := p.feeds[n]; l != nil {
				before = slices.Clone(l.items)
			}
			h, err := p.Memory.Mark(bg, n, m)
			if l := p.feeds[n]; l != nil && err == nil {
				change(l, before, m)
				h = l.head()
			}
			return h, err
		}
	}
}

// asked changes a mark on its way in.
func asked(change func(p *planted, n feed.Name, m *feed.Mark)) func(*planted, *Site) {
	return func(p *planted, _ *Site) {
		p.mark = func(n feed.Name, m feed.Mark) (feed.Head, error) {
			change(p, n, &m)
			return p.Memory.Mark(bg, n, m)
		}
	}
}

// heads changes all heads on their way out.
func heads(change func(*feed.Head)) func(*planted, *Site) {
	return func(p *planted, _ *Site) {
		p.head = func(_ feed.Name, h feed.Head) feed.Head { change(&h); return h }
	}
}

// caughtUp changes the changes of one feed on their way out.
func caughtUp(change func(p *planted, s feed.Since, c *feed.Change)) func(*planted, *Site) {
	return func(p *planted, _ *Site) {
		p.changes = func(since []feed.Since) ([]feed.Change, error) {
			all, err := p.Memory.Changes(bg, since...)
			for i := range all {
				change(p, since[i], &all[i])
			}
			return all, err
		}
	}
}

// since asks for changes since other revisions.
func since(change func(p *planted, s *feed.Since)) func(*planted, *Site) {
	return func(p *planted, _ *Site) {
		p.changes = func(since []feed.Since) ([]feed.Change, error) {
			since = slices.Clone(since)
			for i := range since {
				change(p, &since[i])
			}
			return p.Memory.Changes(bg, since...)
		}
	}
}

func TestMutantsOfRevisions(t *testing.T) {
	catchMutants(t, []mutant{
		{"a revision an item", "F2/a batch is one revision", relayed(func(p *planted, r *feed.Relayed) {
			p.meddle(func(_ feed.Name, l *list) { l.rev += int64(r.Moved) - 1 })
		})},
		{"revisions with gaps", "F2/each change is the next", relayed(func(p *planted, _ *feed.Relayed) {
			p.meddle(func(_ feed.Name, l *list) { l.rev++ })
		})},
		{"each mark is a revision", "F2/each change is the next", marked(func(l *list, _ []feed.Item, _ feed.Mark) { l.rev++ })},
		{"seen is no revision", "F2/each change is the next", marked(func(l *list, _ []feed.Item, m feed.Mark) {
			if m.Seen {
				l.rev = 2
			}
		})},
		{"marked items keep their revision", "F2/changes since any", marked(func(l *list, before []feed.Item, _ feed.Mark) {
			for i := range before {
				l.items[i].Rev = before[i].Rev
			}
		})},
		{"archived items are in no changes", "F2/changes since any", caughtUp(func(_ *planted, _ feed.Since, c *feed.Change) {
			c.Items = slices.DeleteFunc(c.Items, func(i feed.Item) bool { return i.State == feed.Archived })
		})},
		{"removed items are in no changes", "F2/a removed item", caughtUp(func(_ *planted, _ feed.Since, c *feed.Change) {
			c.Items = slices.DeleteFunc(c.Items, func(i feed.Item) bool { return i.State == feed.Removed })
		})},
		{"a joined item stays where it was", "F2/an item that a message joins", shows(func(i *feed.Item) { i.Pos -= int64(i.Count) - 1 })},
		{"old hints", "F2/a batch is one", relayed(func(_ *planted, r *feed.Relayed) {
			for i := range r.Changed {
				r.Changed[i].Rev--
			}
		})},
		{"hints of all feeds", "F2/a relay that changes nothing", relayed(func(p *planted, r *feed.Relayed) { r.Changed = []feed.Hint{{Name: alice, Rev: 1}} })},
		{"a feed begins when it is asked for", "F2/a feed begins", func(p *planted, _ *Site) {
			p.head = func(_ feed.Name, h feed.Head) feed.Head {
				if h.Rev == 0 {
					h.Born = time.Now()
				}
				return h
			}
		}},
		{"an edit is no revision", "F2/an edit changes", func(p *planted, _ *Site) {
			p.edit = func(n feed.Name, id string, m feed.Message) (feed.Head, error) {
				_, err := p.Memory.Edit(bg, n, id, m)
				p.meddle(func(_ feed.Name, l *list) { l.rev = 1; l.items[0].Rev = 1 })
				return p.feeds[n].head(), err
			}
		}},
		{"an edit takes what is empty as no change", "F2/an edit changes", func(p *planted, _ *Site) {
			p.edit = func(n feed.Name, id string, m feed.Message) (feed.Head, error) {
				if m.URL == "" {
					m.URL = "/1"
				}
				return p.Memory.Edit(bg, n, id, m)
			}
		}},
		{"a removed item can be edited", "F2/a removed item", func(p *planted, _ *Site) {
			p.edit = func(n feed.Name, id string, m feed.Message) (feed.Head, error) {
				p.meddle(func(_ feed.Name, l *list) { l.items[0].State = feed.Read })
				return p.Memory.Edit(bg, n, id, m)
			}
		}},
		{"each removal is a revision", "F2/a removed item", func(p *planted, _ *Site) {
			p.remove = func(n feed.Name, id string) (feed.Head, error) {
				p.meddle(func(_ feed.Name, l *list) { l.items[0].State = feed.Read })
				return p.Memory.Remove(bg, n, id)
			}
		}},
		{"items of inboxes are edited", "F2/edits that are wrong", func(p *planted, _ *Site) {
			p.edit = func(n feed.Name, id string, m feed.Message) (feed.Head, error) {
				if n.Owner() != "" {
					return feed.Head{}, nil
				}
				return p.Memory.Edit(bg, n, id, m)
			}
		}},
	})
}

func TestMutantsOfCounters(t *testing.T) {
	// counted has counters that may be wrong.
	counted := func(recount func(wrong map[feed.Name]feed.Head, most int) int) func(*planted, *Site) {
		return func(p *planted, s *Site) {
			wrong := make(map[feed.Name]feed.Head)
			p.head = func(n feed.Name, h feed.Head) feed.Head {
				if w, ok := wrong[n]; ok {
					h.Unread, h.Unseen = w.Unread, w.Unseen
				}
				return h
			}
			s.Miscount = func(n feed.Name, unread, unseen int) error {
				wrong[n] = feed.Head{Unread: unread, Unseen: unseen}
				return nil
			}
			p.recount = func(most int) (int, error) { return recount(wrong, most), nil }
		}
	}
	right := counted(func(wrong map[feed.Name]feed.Head, most int) (n int) {
		for name := range wrong {
			if n < most {
				delete(wrong, name)
				n++
			}
		}
		return n
	})
	for _, c := range counterCases() {
		p := &planted{Memory: NewMemory()}
		site := p.Site()
		site.Store = p
		right(p, &site)
		if r := record(t, func(t testing.TB) { c.run(t, site) }); r.failed {
			t.Errorf("case %q over a right recount: %q", c.name(), r.said)
		}
	}
	catchMutants(t, []mutant{
		{"all unread are unseen", "F3/the counters follow", heads(func(h *feed.Head) { h.Unseen = h.Unread })},
		{"nothing is unseen", "F3/the counters follow", heads(func(h *feed.Head) { h.Unseen = 0 })},
		{"unread stops", "F3/the counters follow", heads(func(h *feed.Head) { h.Unread = min(h.Unread, 2) })},
		{"a mark returns old counters", "F3/the counters follow", func(p *planted, _ *Site) {
			p.mark = func(n feed.Name, m feed.Mark) (feed.Head, error) {
				before := p.feeds[n].head()
				h, err := p.Memory.Mark(bg, n, m)
				h.Unread = before.Unread
				return h, err
			}
		}},
		{"posts are unread", "F3/rooms have no", shows(func(i *feed.Item) { i.State = feed.Unread })},
		{"posts are mailed", "F3/rooms have no", shows(func(i *feed.Item) { i.Mail = feed.ToMail })},
		{"a recount mends nothing", "F3/a recount mends", counted(func(wrong map[feed.Name]feed.Head, _ int) int { return len(wrong) })},
		{"a recount says nothing", "F3/a recount mends", counted(func(wrong map[feed.Name]feed.Head, _ int) int { clear(wrong); return 0 })},
		{"recounts of the same feeds", "F3/recounts of a few", counted(func(wrong map[feed.Name]feed.Head, most int) (n int) {
			for _, user := range manyUsers(most) {
				if _, ok := wrong[feed.Inbox(user)]; ok {
					delete(wrong, feed.Inbox(user))
					n++
				}
			}
			return n
		})},
	})
}

func TestMutantsOfReading(t *testing.T) {
	catchMutants(t, []mutant{
		{"the last item of a page comes twice", "F8/pages lead", func(p *planted, _ *Site) {
			p.page = func(n feed.Name, before int64, limit int) (feed.Head, []feed.Item, bool, error) {
				if before > 0 {
					before++
				}
				return p.Memory.Page(bg, n, before, limit)
			}
		}},
		{"a full page says that there are more", "F8/pages lead", func(p *planted, _ *Site) {
			p.page = func(n feed.Name, before int64, limit int) (feed.Head, []feed.Item, bool, error) {
				h, items, _, err := p.Memory.Page(bg, n, before, limit)
				return h, items, len(items) == limit, err
			}
		}},
		{"the first page is all", "F8/pages lead", func(p *planted, _ *Site) {
			p.page = func(n feed.Name, before int64, limit int) (feed.Head, []feed.Item, bool, error) {
				h, items, _, err := p.Memory.Page(bg, n, before, limit)
				return h, items, false, err
			}
		}},
		{"changes in the order of names", "F8/changes of many", func(p *planted, _ *Site) {
			p.changes = func(since []feed.Since) ([]feed.Change, error) {
				since = slices.SortedFunc(slices.Values(since), func(a, b feed.Since) int {
					if a.Name < b.Name {
						return -1
					}
					return 1
				})
				return p.Memory.Changes(bg, since...)
			}
		}},
		{"one change a name", "F8/changes of many", func(p *planted, _ *Site) {
			p.changes = func(since []feed.Since) ([]feed.Change, error) {
				last := make(map[feed.Name]feed.Since)
				for _, s := range since {
					last[s.Name] = s
				}
				all := slices.Clone(since)
				for i := range all {
					all[i] = last[all[i].Name]
				}
				return p.Memory.Changes(bg, all...)
			}
		}},
		{"at most 500 feeds", "F8/a thousand feeds", func(p *planted, _ *Site) {
			p.changes = func(since []feed.Since) ([]feed.Change, error) {
				all, err := p.Memory.Changes(bg, since[:min(len(since), 500)]...)
				return append(all, make([]feed.Change, len(since)-len(all))...), err
			}
		}},
		{"the revision itself changes too", "F2/changes since any", since(func(_ *planted, s *feed.Since) { s.Rev = max(0, s.Rev-1) })},
		{"the future is nothing new", "F8/a revision of another", since(func(p *planted, s *feed.Since) {
			if l := p.feeds[s.Name]; l != nil {
				s.Rev = min(s.Rev, l.rev)
			}
		})},
		{"any birth", "F8/a revision of another", since(func(p *planted, s *feed.Since) {
			if l := p.feeds[s.Name]; l != nil {
				s.Born = l.born
			}
		})},
		{"the first item is a gap", "F8/the first item", caughtUp(func(_ *planted, s feed.Since, c *feed.Change) {
			if s.Born.IsZero() && c.Head.Rev > 0 {
				c.Gap, c.Items = true, nil
			}
		})},
		{"always a gap", "F2/changes since any", caughtUp(func(_ *planted, _ feed.Since, c *feed.Change) { c.Gap, c.Items = true, nil })},
		{"changes are cut off", "F8/too many", caughtUp(func(p *planted, s feed.Since, c *feed.Change) {
			if c.Gap && s.Rev == 0 {
				_, c.Items, _, _ = p.Memory.Page(bg, s.Name, 0, feed.MaxBehind)
				c.Gap = false
			}
		})},
		{"one change too few", "F8/too many", caughtUp(func(_ *planted, _ feed.Since, c *feed.Change) {
			if len(c.Items) == feed.MaxBehind {
				c.Gap, c.Items = true, nil
			}
		})},
		{"deleted rows are no gap", "F8/a revision before", since(func(p *planted, s *feed.Since) {
			if l := p.feeds[s.Name]; l != nil {
				s.Rev = max(s.Rev, l.floor)
			}
		})},
		{"the floor is a gap", "F8/a revision before", caughtUp(func(_ *planted, s feed.Since, c *feed.Change) {
			if s.Rev > 0 && s.Rev == c.Head.Floor {
				c.Gap, c.Items = true, nil
			}
		})},
		{"an old head beside items", "F8/pages lead", func(p *planted, _ *Site) {
			p.page = func(n feed.Name, before int64, limit int) (feed.Head, []feed.Item, bool, error) {
				h, items, more, err := p.Memory.Page(bg, n, before, limit)
				h.Rev = max(1, h.Rev-1)
				return h, items, more, err
			}
		}},
		{"no times", "F14/times are", shows(func(i *feed.Item) { i.At = time.Time{} })},
		{"times of another zone", "F14/times are", shows(func(i *feed.Item) { i.At = i.At.Add(time.Hour) })},
		{"seconds for milliseconds", "F14/times are", shows(func(i *feed.Item) { i.At = time.Unix(i.At.UnixMilli(), 0) })},
		{"a joined item keeps its time", "F14/times are", relayed(func(p *planted, _ *feed.Relayed) {
			p.meddle(func(_ feed.Name, l *list) {
				for i := range l.items {
					if l.items[i].Count > 1 {
						l.items[i].At = l.born.Add(-time.Hour)
					}
				}
			})
		})},
	})
}
