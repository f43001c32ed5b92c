package feedtest

import (
	"context"
	"slices"

	"github.com/rollcall-go/rollcall/presence/feed"
)

// head returns the head of a list. A nil list has the zero head.
func (l *list) head() feed.Head {
	if l == nil {
		return feed.Head{}
	}
	h := feed.Head{Rev: l.rev, Pos: l.pos, Floor: l.floor, Born: l.born}
	for _, item := range l.items {
		if item.State == feed.Unread {
			h.Unread++
			if item.Pos > l.seen {
				h.Unseen++
			}
		}
	}
	return h
}

// Heads implements [feed.Store].
func (m *Memory) Heads(ctx context.Context, names ...feed.Name) ([]feed.Head, error) {
	if err := m.begin(ctx, names...); err != nil {
		return nil, err
	}
	defer m.mu.Unlock()
	heads := make([]feed.Head, len(names))
	for i, name := range names {
		heads[i] = m.feeds[name].head()
	}
	return heads, nil
}

// Page implements [feed.Store].
func (m *Memory) Page(ctx context.Context, n feed.Name, before int64, limit int) (feed.Head, []feed.Item, bool, error) {
	if err := m.begin(ctx, n); err != nil {
		return feed.Head{}, nil, false, err
	}
	defer m.mu.Unlock()
	l := m.feeds[n]
	if l == nil {
		return feed.Head{}, nil, false, nil
	}
	var page []feed.Item
	for _, item := range slices.Backward(l.items) {
		if !item.State.Listed() || before > 0 && item.Pos >= before {
			continue
		}
		if len(page) == limit {
			return l.head(), page, true, nil
		}
		page = append(page, clone(item))
	}
	return l.head(), page, false, nil
}

// Changes implements [feed.Store].
func (m *Memory) Changes(ctx context.Context, since ...feed.Since) ([]feed.Change, error) {
	names := make([]feed.Name, len(since))
	for i, s := range since {
		names[i] = s.Name
	}
	if err := m.begin(ctx, names...); err != nil {
		return nil, err
	}
	defer m.mu.Unlock()
	changes := make([]feed.Change, len(since))
	for i, s := range since {
		changes[i] = m.feeds[s.Name].changes(s)
	}
	return changes, nil
}

func (l *list) changes(s feed.Since) feed.Change {
	c := feed.Change{Head: l.head()}
	begun := s.Rev > 0 || !s.Born.IsZero() // otherwise the reader had an empty feed
	if begun && !s.Born.Equal(c.Head.Born) || s.Rev > c.Head.Rev || s.Rev < c.Head.Floor {
		c.Gap = true
		return c
	}
	if l == nil {
		return c
	}
	for _, item := range slices.Backward(l.items) {
		if item.Rev > s.Rev {
			c.Items = append(c.Items, clone(item))
		}
	}
	if len(c.Items) > feed.MaxBehind {
		c.Gap, c.Items = true, nil
	}
	return c
}

// clone returns an item that shares nothing with the list.
func clone(item feed.Item) feed.Item {
	item.Actors, item.Data = slices.Clone(item.Actors), slices.Clone(item.Data)
	return item
}
