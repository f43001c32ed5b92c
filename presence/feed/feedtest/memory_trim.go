package feedtest

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/rollcall-go/rollcall/presence/feed"
)

// Trim implements [feed.Store].
func (m *Memory) Trim(ctx context.Context, o feed.TrimOptions) (removed int, err error) {
	if err := m.begin(ctx); err != nil {
		return 0, err
	}
	defer m.mu.Unlock()
	now := m.nowLocked()
	for _, name := range slices.Sorted(maps.Keys(m.feeds)) {
		l := m.feeds[name]
		before := len(l.items)
		remove := func(is func(feed.Item) bool) {
			l.items = slices.DeleteFunc(l.items, func(item feed.Item) bool {
				if removed >= o.Rows || !is(item) {
					return false
				}
				removed++
				return true
			})
		}
		remove(func(item feed.Item) bool {
			age := now.Sub(item.At)
			return age > o.Keep || item.State >= feed.Archived && age > o.Archived
		})
		over := len(l.items) - o.Most
		remove(func(item feed.Item) bool {
			if over <= 0 || item.State == feed.Unread {
				return false
			}
			over--
			return true
		})
		if len(l.items) < before {
			l.rev++
			l.floor = l.rev
		}
		removed += l.forget(now.Add(-o.Keep), o.Rows-removed)
	}
	return removed, nil
}

// forget removes up to most IDs that came before a time, and whose items are gone.
func (l *list) forget(before time.Time, most int) (removed int) {
	for id, at := range l.ids {
		if removed < most && at.Before(before) && !slices.ContainsFunc(l.items, func(item feed.Item) bool { return item.ID == id }) {
			delete(l.ids, id)
			removed++
		}
	}
	return removed
}

// Recount implements [feed.Store]. It never finds an error, because the counters are counted each time.
func (m *Memory) Recount(ctx context.Context, _ int) (wrong int, err error) {
	if err := m.begin(ctx); err != nil {
		return 0, err
	}
	m.mu.Unlock()
	return 0, nil
}
