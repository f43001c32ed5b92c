package feedtest

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/feed"
)

// Mark implements [feed.Store].
func (m *Memory) Mark(ctx context.Context, n feed.Name, mark feed.Mark) (feed.Head, error) {
	if n.Owner() == "" {
		return feed.Head{}, fmt.Errorf("%w: %q is no inbox", feed.ErrInvalidName, n)
	}
	if err := mark.Validate(); err != nil {
		return feed.Head{}, err
	}
	if err := m.begin(ctx, n); err != nil {
		return feed.Head{}, err
	}
	defer m.mu.Unlock()
	l := m.feeds[n]
	if l == nil {
		return feed.Head{}, nil
	}
	if mark.Seen {
		unseen, before := l.head().Unseen, l.seen
		l.seen = max(l.seen, min(cmp.Or(mark.UpTo, l.pos), l.pos))
		for i := range l.items {
			if item := &l.items[i]; item.Pos > before && item.Pos <= l.seen {
				item.SeenAt = m.nowLocked()
			}
		}
		if l.head().Unseen != unseen {
			l.rev++
		}
		return l.head(), nil
	}
	changed := false
	for i := range l.items {
		item := &l.items[i]
		if !chosen(mark, *item) || item.State == mark.As {
			continue
		}
		if !changed {
			changed = true
			l.rev++
		}
		item.State, item.Rev = mark.As, l.rev
		switch {
		case mark.As == feed.Unread:
			item.ReadAt = time.Time{}
		case mark.As == feed.Read && item.ReadAt.IsZero():
			item.ReadAt = m.nowLocked()
		}
	}
	return l.head(), nil
}

// chosen reports whether a mark is about an item.
func chosen(mark feed.Mark, item feed.Item) bool {
	if len(mark.Pos) > 0 {
		return slices.Contains(mark.Pos, item.Pos)
	}
	return item.State.Listed() && (mark.About == "" || item.About == mark.About) && (mark.UpTo == 0 || item.Pos <= mark.UpTo)
}

// Edit implements [feed.Store].
func (m *Memory) Edit(ctx context.Context, n feed.Name, id string, msg feed.Message) (feed.Head, error) {
	msg = feed.Message{Feed: n.Local(), Type: msg.Type, V: msg.V, Text: msg.Text, URL: msg.URL, Data: msg.Data}.WithDefaults("")
	return m.change(ctx, n, id, func(item *feed.Item) (changed bool, err error) {
		if err := msg.Validate(); err != nil {
			return false, err
		}
		if item == nil || item.State == feed.Removed {
			return false, feed.ErrNoItem
		}
		item.Type, item.V, item.Text, item.URL, item.Data = msg.Type, msg.V, msg.Text, msg.URL, slices.Clone(msg.Data)
		return true, nil
	})
}

// Remove implements [feed.Store].
func (m *Memory) Remove(ctx context.Context, n feed.Name, id string) (feed.Head, error) {
	return m.change(ctx, n, id, func(item *feed.Item) (changed bool, err error) {
		if item == nil {
			return false, feed.ErrNoItem
		}
		changed = item.State != feed.Removed
		item.State = feed.Removed
		return changed, nil
	})
}

// change changes one item of a room. edit gets nil if there is no such item.
func (m *Memory) change(ctx context.Context, n feed.Name, id string, edit func(*feed.Item) (bool, error)) (feed.Head, error) {
	if n.Owner() != "" {
		return feed.Head{}, fmt.Errorf("%w: %q is no room", feed.ErrInvalidName, n)
	}
	if err := m.begin(ctx, n); err != nil {
		return feed.Head{}, err
	}
	defer m.mu.Unlock()
	l := m.feeds[n]
	var item *feed.Item
	if l != nil {
		if i := slices.IndexFunc(l.items, func(item feed.Item) bool { return item.ID == id }); i >= 0 {
			item = &l.items[i]
		}
	}
	changed, err := edit(item)
	if err != nil {
		return feed.Head{}, err
	}
	if changed {
		l.rev++
		item.Rev = l.rev
	}
	return l.head(), nil
}

// Mute implements [feed.Store].
func (m *Memory) Mute(ctx context.Context, user presence.UserID, mute feed.Mute) error {
	if err := mute.Validate(); err != nil {
		return err
	}
	if err := m.begin(ctx, feed.Inbox(user)); err != nil {
		return err
	}
	defer m.mu.Unlock()
	mutes := m.mutes[user]
	if mutes == nil {
		mutes = make(map[string]feed.Mute)
		m.mutes[user] = mutes
	}
	now := m.nowLocked()
	for scope, old := range mutes {
		if !holds(old, now) {
			delete(mutes, scope)
		}
	}
	if _, had := mutes[mute.Scope]; !had && mute.How != feed.MuteNothing && len(mutes) >= feed.MaxMutes {
		return feed.ErrTooManyMutes
	}
	if mute.How == feed.MuteNothing {
		delete(mutes, mute.Scope)
		return nil
	}
	if !mute.Until.IsZero() {
		mute.Until = mute.Until.UTC().Truncate(time.Millisecond)
	}
	mutes[mute.Scope] = mute
	return nil
}

// Mutes implements [feed.Store].
func (m *Memory) Mutes(ctx context.Context, user presence.UserID) ([]feed.Mute, error) {
	if err := m.begin(ctx, feed.Inbox(user)); err != nil {
		return nil, err
	}
	defer m.mu.Unlock()
	var all []feed.Mute
	for _, mute := range m.mutes[user] {
		if holds(mute, m.nowLocked()) {
			all = append(all, mute)
		}
	}
	slices.SortFunc(all, func(a, b feed.Mute) int { return strings.Compare(a.Scope, b.Scope) })
	return all, nil
}

func holds(mute feed.Mute, now time.Time) bool { return mute.Until.IsZero() || mute.Until.After(now) }

// muteLocked returns the strictest of a user's mutes that apply to a message.
func (m *Memory) muteLocked(user presence.UserID, msg feed.Message, now time.Time) (how feed.How) {
	for _, scope := range msg.Scopes() {
		if mute, ok := m.mutes[user][scope]; ok && holds(mute, now) {
			how = max(how, mute.How)
		}
	}
	return how
}
