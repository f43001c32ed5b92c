package track

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
)

// Recent returns a page of the users who were active in a topic lately, the latest active
// first. It costs a round trip to the store, or some where it leaves users out. If the topic's [presence.Kind] has no Recent, or is
// count-only, the page has a Total and no users.
//
// With a [Config.Directory] it costs a query too, and leaves out users who are away and whose
// settings do not let everybody know when they were last seen. The Total counts them: if it did
// not, it would tell on which page they are missing. While the Directory is out it leaves out all
// who are away.
//
// Its errors are [presence.ErrStoreOut] and [presence.ErrInvalidQuery].
func (t *Tracker) Recent(ctx context.Context, topic presence.Topic, q backend.RecentQuery) (backend.RecentPage, error) {
	if err := validateRecent(q); err != nil {
		return backend.RecentPage{}, err
	}
	return t.recent.readOn(ctx, topic, q)
}

// LatelyActive is [Tracker.Recent] for a page of the site: it answers from memory. It
// returns the first users alone, up to limit and at most 100, and an empty Next. Within is
// as in [backend.RecentQuery]. The answer is up to 2 s old, but Online is that of the topic's
// roster, if this node keeps the topic current. Whoever turns invisible by [Tracker.SetStatus]
// or [Tracker.ChangeSettings] is not online from then on, and whoever hides by the settings is
// left out. The first call for a
// topic waits for the store as [Tracker.View] does. An answer that nobody asks for in a
// minute is forgotten.
//
// Its errors are [presence.ErrStoreOut] if nothing is known yet, [presence.ErrClosed] and [presence.ErrInvalidQuery].
func (t *Tracker) LatelyActive(ctx context.Context, topic presence.Topic, within time.Duration, limit int) (backend.RecentPage, error) {
	q := backend.RecentQuery{Within: within, Limit: min(limit, latelyKept)}
	if err := validateRecent(q); err != nil {
		return backend.RecentPage{}, err
	}
	topic = presence.Topic(strings.Clone(string(topic))) // it may be cut out of a request, and the memory keeps it
	page, err := t.recent.lately.get(ctx, latelyKey{topic, within})
	if err != nil {
		return backend.RecentPage{}, err
	}
	var here *View
	if r := t.topics.peek(topic); r != nil {
		here = r.view.Load()
	}
	users := make([]backend.RecentUser, 0, min(len(page.Users), q.Limit))
	for _, u := range page.Users {
		if here != nil {
			if e, known := here.find(u.ID); known {
				u.Online = e != nil
				if e != nil {
					u.Status, u.Idle = e.Status, e.Idle
				}
			}
		}
		chosen := t.users.chosen(u.ID)
		u.Online = u.Online && (here != nil || chosen.Base() != presence.Invisible)
		if !u.Online {
			u.Idle, u.Status = false, "" // as the store will say
		}
		if len(users) < q.Limit && (u.Online || !chosen.Unseen()) {
			users = append(users, u)
		}
	}
	page.Users = users
	return page, nil
}

// recent answers [Tracker.Recent] from the store, and [Tracker.LatelyActive] from memory.
type recent struct {
	cfg       *Config
	life      *lifetime
	store     backend.Store
	seal      *seal
	users     *users
	topics    *topics
	directory *directoryCalls
	lately    *answers[latelyKey, backend.RecentPage]
}

type latelyKey struct {
	topic  presence.Topic
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

// begin makes a recent that knows its parts usable.
func (r *recent) begin() *recent {
	r.lately = &answers[latelyKey, backend.RecentPage]{
		life: r.life, every: latelyEvery, idle: latelyIdle, max: maxLately,
		ask: func(ctx context.Context, key latelyKey, _ backend.RecentPage) (backend.RecentPage, error) {
			page, err := r.ask(ctx, key.topic, backend.RecentQuery{Within: key.within, Limit: latelyKept})
			page.Next = ""
			return page, err
		},
	}
	return r
}

// ask returns the store's answer, without the users if the topic's kind shows no names.
func (r *recent) ask(ctx context.Context, topic presence.Topic, q backend.RecentQuery) (backend.RecentPage, error) {
	page, err := r.store.Recent(ctx, topic, q)
	if err != nil {
		return backend.RecentPage{}, storeOut(err)
	}
	if kind := r.cfg.Kind(topic); kind.Recent == 0 || kind.CountOnly {
		page.Users, page.Next = nil, ""
	}
	for i := range page.Users {
		if u := &page.Users[i]; u.Online && !r.stillShows(topic, u.ID) {
			u.Online, u.Idle, u.Status = false, false, ""
		}
	}
	return r.directory.leaveOut(ctx, page), nil
}

// stillShows reports whether a user who is online in the store may be shown so: the user has not
// hidden, and this node's roster has the user, if it has all users.
func (r *recent) stillShows(topic presence.Topic, user presence.UserID) bool {
	if r.users.chosen(user).Base() == presence.Invisible {
		return false
	}
	kept := r.topics.peek(topic)
	if kept == nil {
		return true
	}
	view := kept.view.Load()
	if view == nil {
		return true
	}
	e, known := view.find(user)
	return e != nil || !known
}

// validateRecent returns nil, or an error that is [presence.ErrInvalidQuery].
func validateRecent(q backend.RecentQuery) error {
	switch {
	case q.Within < 0 || q.Within > backend.MaxWithin:
		return fmt.Errorf("%w: Within must be 0 to %v", presence.ErrInvalidQuery, backend.MaxWithin)
	case q.Limit < 1 || q.Limit > maxRecentPage:
		return fmt.Errorf("%w: Limit must be 1 to %d", presence.ErrInvalidQuery, maxRecentPage)
	}
	return nil
}
