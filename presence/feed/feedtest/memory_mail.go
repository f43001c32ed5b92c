package feedtest

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/rollcall-go/rollcall/presence/feed"
)

// mostMailed is how many items a digest has.
const mostMailed = 100

// Due implements [feed.Store].
func (m *Memory) Due(ctx context.Context, most int, claim time.Duration) ([]feed.Digest, error) {
	if err := m.begin(ctx); err != nil {
		return nil, err
	}
	defer m.mu.Unlock()
	now := m.nowLocked()
	names := slices.Sorted(maps.Keys(m.feeds))
	slices.SortStableFunc(names, func(a, b feed.Name) int { return m.feeds[a].mailAt.Compare(m.feeds[b].mailAt) })
	names = inTurns(names, func(n feed.Name) bool { at := m.feeds[n].mailAt; return !at.IsZero() && !at.After(now) })
	var all []feed.Digest
	for _, name := range names {
		l := m.feeds[name]
		if len(all) >= most {
			break
		}
		items := l.toMail()
		if len(items) == 0 {
			l.mailing = l.pos // a claimed digest of which nothing is left is over
			items = l.toMail()
		}
		if len(items) == 0 {
			l.mailAt, l.mailing, l.waited, l.claim = time.Time{}, 0, 0, ""
			continue
		}
		if l.mailing == 0 {
			l.mailing = l.pos
		}
		m.claims++
		l.claim, l.mailAt = fmt.Sprint(m.claims), now.Add(claim)
		d := feed.Digest{Tenant: name.Tenant(), User: name.Local().Owner(), Items: items, Waited: l.waited, Claim: l.claim}
		d.Key = fmt.Sprintf("%s%x-%d", name.Tenant(), l.born.UnixMilli(), l.mailing)
		if len(items) > mostMailed {
			d.Items, d.More = items[:mostMailed], len(items)-mostMailed
		}
		all = append(all, d)
	}
	return all, nil
}

// inTurns returns the chosen names: the first one of each tenant before any second one.
func inTurns(names []feed.Name, chosen func(feed.Name) bool) (all []feed.Name) {
	nth, had := make(map[feed.Name]int), make(map[string]int)
	for _, n := range names {
		if chosen(n) {
			had[n.Tenant()]++
			nth[n] = had[n.Tenant()]
			all = append(all, n)
		}
	}
	slices.SortStableFunc(all, func(a, b feed.Name) int { return nth[a] - nth[b] })
	return all
}

// toMail returns the items of a list's next digest, the newest first.
func (l *list) toMail() (items []feed.Item) {
	for _, item := range slices.Backward(l.items) {
		if item.State == feed.Unread && item.Mail == feed.ToMail && (l.mailing == 0 || item.Pos <= l.mailing) {
			items = append(items, clone(item))
		}
	}
	return items
}

// Settle implements [feed.Store].
func (m *Memory) Settle(ctx context.Context, d feed.Digest, sent bool, later time.Duration) error {
	if err := m.begin(ctx, feed.Inbox(d.User).In(d.Tenant)); err != nil {
		return err
	}
	defer m.mu.Unlock()
	l := m.feeds[feed.Inbox(d.User).In(d.Tenant)]
	if l == nil || l.claim == "" || l.claim != d.Claim {
		return nil
	}
	for i := range l.items {
		item := &l.items[i]
		was := slices.ContainsFunc(d.Items, func(mailed feed.Item) bool { return mailed.ID == item.ID })
		if sent && item.Mail == feed.ToMail && (item.Pos <= l.mailing || was) {
			item.Mail = feed.Mailed
		}
	}
	if sent || d.Key == "" {
		l.mailing = 0
	}
	l.claim, l.waited = "", 0
	l.mailAt = m.nowLocked().Add(later)
	switch {
	case !sent:
		l.waited = later
	case len(l.toMail()) == 0:
		l.mailAt = time.Time{}
	}
	return nil
}
