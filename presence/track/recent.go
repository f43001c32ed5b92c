package track

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
)

// latelyActive is [Tracker.LatelyActive].
func (r *recent) latelyActive(ctx context.Context, topic presence.Topic, within time.Duration, limit int) (backend.RecentPage, error) {
	q := backend.RecentQuery{Within: within, Limit: min(limit, latelyKept)}
	if err := validateRecent(q); err != nil {
		return backend.RecentPage{}, err
	}
	topic = presence.Topic(strings.Clone(string(topic))) // cloned because it may be a part of a request
	page, err := r.lately.get(ctx, latelyKey{topic, within})
	if err != nil {
		return backend.RecentPage{}, err
	}
	here := r.topics.viewHere(topic)
	users := make([]backend.RecentUser, 0, min(len(page.Users), q.Limit))
	for _, u := range page.Users {
		if here != nil {
			e := here.find(u.ID)
			if u.Online = e != nil; u.Online {
				u.Status, u.Idle = e.Status, e.Idle
			}
		}
		chosen := r.users.chosen(u.ID)
		u.Online = u.Online && (here != nil || chosen.Base() != presence.Invisible)
		if !u.Online {
			u.Idle, u.Status = false, "" // like the store's answer for an offline user
		}
		switch {
		case !u.Online && chosen.Unseen():
			page.Total--
		case len(users) < q.Limit:
			users = append(users, u)
		}
	}
	page.Users = users
	return page, nil
}

// recent implements [Tracker.Recent] from the store, and [Tracker.LatelyActive] from memory.
type recent struct {
	cfg       *Config
	life      *lifetime
	store     backend.Store
	seal      *seal
	users     *users
	topics    *topics
	directory *directoryCalls
	lately    *answers[latelyKey, backend.RecentPage]
	totals    *answers[latelyKey, int] // of topics that do not fit on a page, on a site with a Directory
}

type latelyKey struct {
	topic  presence.Topic
	within time.Duration
}

// Bounds of what is asked for and remembered.
const (
	maxRecentPage = 1_000 // users on a page
	latelyKept    = 100   // users of a topic that are kept for pages
	latelyEvery   = 2 * time.Second
	totalEvery    = 5 * time.Second
	latelyIdle    = time.Minute
	maxLately     = 1_000 // topics; a topic with 100 users takes about 40 KB
)

// begin completes a recent whose fields for other parts are set.
func (r *recent) begin() *recent {
	r.lately = &answers[latelyKey, backend.RecentPage]{
		life: r.life, every: latelyEvery, idle: latelyIdle, max: maxLately,
		ask: func(ctx context.Context, key latelyKey, _ backend.RecentPage) (backend.RecentPage, error) {
			page, err := r.ask(ctx, key.topic, backend.RecentQuery{Within: key.within, Limit: latelyKept})
			if err == nil {
				err = r.setTotal(ctx, &page, key, "")
			}
			page.Next = ""
			return page, err
		},
	}
	r.totals = &answers[latelyKey, int]{life: r.life, every: totalEvery, idle: latelyIdle, max: maxLately, ask: r.count}
	return r
}

// setTotal sets the total of a page that begins after a position. The store's total includes the users whom
// leaveOut leaves out. So with a Directory the total is the number of users on all pages, as anybody could
// count them.
func (r *recent) setTotal(ctx context.Context, page *backend.RecentPage, key latelyKey, after string) (err error) {
	switch {
	case !r.names(key.topic) || !r.directory.on():
	case after == "" && page.Next == "":
		page.Total = len(page.Users)
	default:
		page.Total, err = r.totals.get(ctx, key)
	}
	return err
}

// count returns the number of users on all pages.
func (r *recent) count(ctx context.Context, key latelyKey, _ int) (total int, err error) {
	q := backend.RecentQuery{Within: key.within, Limit: maxRecentPage}
	for first := true; first || q.After != ""; first = false {
		page, err := r.ask(ctx, key.topic, q)
		if err != nil {
			return 0, err
		}
		total, q.After = total+len(page.Users), page.Next
	}
	return total, nil
}

// names reports whether a topic shows the names of recent users.
func (r *recent) names(topic presence.Topic) bool {
	kind := r.cfg.Kind(topic)
	return kind.Recent != 0 && !kind.CountOnly
}

// ask returns the store's answer, without the users if the topic's kind shows no names.
func (r *recent) ask(ctx context.Context, topic presence.Topic, q backend.RecentQuery) (backend.RecentPage, error) {
	page, err := r.store.Recent(ctx, topic, q)
	if err != nil {
		return backend.RecentPage{}, storeOut(err)
	}
	if !r.names(topic) {
		page.Users, page.Next = nil, ""
	}
	for i := range page.Users {
		if u := &page.Users[i]; u.Online && !r.stillShows(topic, u.ID) {
			u.Online, u.Idle, u.Status = false, false, ""
		}
	}
	return r.directory.leaveOut(ctx, page), nil
}

// stillShows reports whether a user who is online in the store may be shown as online: the user has not
// hidden, and is in this node's roster, if that is complete.
func (r *recent) stillShows(topic presence.Topic, user presence.UserID) bool {
	if r.users.chosen(user).Base() == presence.Invisible {
		return false
	}
	view := r.topics.viewHere(topic)
	return view == nil || view.find(user) != nil
}

// validateRecent returns nil, or an error that is [presence.ErrInvalidQuery].
func validateRecent(q backend.RecentQuery) error {
	switch {
	case q.Within < 0 || q.Within > backend.MaxWithin:
		return fmt.Errorf("%w: Within must be 0 to %v", presence.ErrInvalidQuery, backend.MaxWithin)
	case len(q.Users) > 0:
		return fmt.Errorf("%w: Users must be empty", presence.ErrInvalidQuery)
	case q.Limit < 1 || q.Limit > maxRecentPage:
		return fmt.Errorf("%w: Limit must be 1 to %d", presence.ErrInvalidQuery, maxRecentPage)
	}
	return nil
}

// sightings is [Tracker.Sightings].
func (r *recent) sightings(ctx context.Context, topic presence.Topic, users ...presence.UserID) ([]backend.Sighting, error) {
	if r.cfg.Kind(topic).CountOnly {
		return make([]backend.Sighting, len(users)), nil
	}
	s, err := r.store.Sightings(ctx, topic, users...)
	if err != nil {
		return nil, storeOut(err)
	}
	for i, user := range users {
		if s[i].Online && !r.stillShows(topic, user) {
			chosen := r.users.choiceOf(user)
			s[i] = backend.Sighting{}
			if chosen.Base() == presence.Invisible && !chosen.Unseen() {
				s[i].LastSeen = chosen.at
			}
		}
	}
	r.directory.blank(ctx, users, s)
	return s, nil
}
