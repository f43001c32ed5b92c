package presence

import (
	"context"
	"fmt"
	"strings"
	"time"
)

// Recent returns a page of the users who were active in a topic lately, the latest active
// first. It costs one round trip to the store. Where the topic's [Kind] remembers no names,
// or is count-only, the page has the right Total and no users.
//
// It returns [ErrStoreOut], or an error that is [ErrInvalidQuery].
func (t *Tracker) Recent(ctx context.Context, topic Topic, q RecentQuery) (RecentPage, error) {
	if err := q.validate(); err != nil {
		return RecentPage{}, err
	}
	return t.recent.ask(ctx, topic, q)
}

// LatelyActive returns the users who were active in a topic lately, the latest active first,
// from memory: for a page of the site. It returns up to limit users, 100 at most, and an
// empty Next. Within is as in [RecentQuery]. The memory is at most about 2 s old while
// somebody asks, and Online is as the topic's roster here has it. Who turns invisible by
// [Tracker.SetStatus] is not in it from then on. The first call for a topic waits for the
// store as [Tracker.View] does.
//
// It returns [ErrStoreOut] if nothing is known, [ErrClosed], or an error that is
// [ErrInvalidQuery].
func (t *Tracker) LatelyActive(ctx context.Context, topic Topic, within time.Duration, limit int) (RecentPage, error) {
	q := RecentQuery{Within: within, Limit: min(limit, latelyKept)}
	if err := q.validate(); err != nil {
		return RecentPage{}, err
	}
	topic = Topic(strings.Clone(string(topic))) // it may be cut out of a request, and the memory keeps it
	page, err := t.recent.lately.get(ctx, latelyKey{topic, within})
	if err != nil {
		return RecentPage{}, err
	}
	var here *View
	if r := t.topics.peek(topic); r != nil {
		here = r.view.Load()
	}
	users := make([]RecentUser, 0, min(len(page.Users), q.Limit))
	for _, u := range page.Users {
		if here != nil {
			u.Online = here.roster.get(u.ID) != nil
		}
		if t.Status(u.ID) == Invisible && (here == nil || !u.Online) {
			page.Total-- // as the store will say
		} else if len(users) < q.Limit {
			users = append(users, u)
		}
	}
	page.Users = users
	return page, nil
}

// recent answers who was active lately.
type recent struct {
	cfg    *Config
	store  Store
	lately *answers[latelyKey, RecentPage]
}

type latelyKey struct {
	topic  Topic
	within time.Duration
}

// Bounds of what is asked and remembered.
const (
	maxRecentPage = 1_000 // users on a page
	latelyKept    = 100   // users of a topic that are remembered for pages
	latelyEvery   = 2 * time.Second
	latelyIdle    = time.Minute
	maxLately     = 1_000 // topics; a topic with 100 users takes about 40 KB
)

func newRecent(n *node) *recent {
	r := &recent{cfg: &n.cfg, store: n.store}
	r.lately = &answers[latelyKey, RecentPage]{
		life: n.life, every: latelyEvery, idle: latelyIdle, max: maxLately,
		ask: func(ctx context.Context, key latelyKey, _ RecentPage) (RecentPage, error) {
			page, err := r.ask(ctx, key.topic, RecentQuery{Within: key.within, Limit: latelyKept})
			page.Next = ""
			return page, err
		},
	}
	return r
}

// ask returns the store's answer, without what the topic's kind keeps to itself.
func (r *recent) ask(ctx context.Context, topic Topic, q RecentQuery) (RecentPage, error) {
	page, err := r.store.Recent(ctx, topic, q)
	if err != nil {
		return RecentPage{}, storeOut(err)
	}
	if kind := r.cfg.Kind(topic); kind.Recent == 0 || kind.CountOnly {
		page.Users, page.Next = nil, ""
	}
	return page, nil
}

// validate returns nil, or an error that is [ErrInvalidQuery].
func (q RecentQuery) validate() error {
	switch {
	case q.Within < 0 || q.Within > MaxWithin:
		return fmt.Errorf("%w: Within must be 0 to %v", ErrInvalidQuery, MaxWithin)
	case q.Limit < 1 || q.Limit > maxRecentPage:
		return fmt.Errorf("%w: Limit must be 1 to %d", ErrInvalidQuery, maxRecentPage)
	}
	return nil
}
