package handlers

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/rollcall-go/rollcall/internal/gate"
	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
)

// recentJSON is the JSON of a page of recently active users.
type recentJSON struct {
	Topic presence.Topic    `json:"topic"`
	Total int               `json:"total"`
	Users recentUsers       `json:"users"`
	Order []presence.UserID `json:"order"` // the order of Users, since JSON objects have none
	Next  string            `json:"next,omitempty"`
	Names *bool             `json:"names,omitempty"` // false: the topic is count-only; otherwise left out
}

// recent answers with the users who were active lately, the latest first. It costs one round
// trip to the store, and up to maxRecentLooks with a group.
func (e *rosterEndpoints) recent(w http.ResponseWriter, r *http.Request, v presence.Visitor) error {
	q := e.site.query(r, v)
	topic, limit, within, group := q.topic(), q.limit(), q.within(), q.group()
	if q.err != nil {
		return q.err
	}
	ctx, cancel := storeContext(r)
	defer cancel()
	if !v.SignedIn() {
		limit = min(limit, e.site.cfg.Limit)
	}
	page, err := e.recentPage(ctx, recentQuery{topic, group, q.Get("after"), within, limit})
	if errors.Is(err, presence.ErrInvalidQuery) {
		return badPage()
	}
	if err != nil {
		return err
	}
	answer := recentJSON{Topic: topic.Local(), Total: page.Total, Users: page.Users, Order: make([]presence.UserID, len(page.Users)), Next: page.Next}
	for i, u := range page.Users {
		answer.Order[i] = u.ID.Local()
	}
	config := e.tracker.Config()
	if config.Kind(topic).CountOnly {
		answer.Names = new(bool)
	}
	return writeFresh(w, answer)
}

// A recentQuery says which page of recent users a request asks for.
type recentQuery struct {
	topic  presence.Topic
	group  string // empty: all users
	after  string // empty: the first page
	within time.Duration
	limit  int
}

// recentPage returns a page, and the visitor pays for the users who are encoded. A first page is kept for a short time.
func (e *rosterEndpoints) recentPage(ctx context.Context, q recentQuery) (backend.RecentPage, error) {
	if page, ok := e.recents.Get(q); ok {
		if !gate.Pays(ctx, len(page.Users)*gate.Item) {
			return page, errTooManyRequests()
		}
		return page, nil
	}
	asked := time.Now()
	page, whole, err := e.recentOf(ctx, q.group, q.topic, backend.RecentQuery{Within: q.within, After: q.after, Limit: q.limit})
	if err == nil && whole && q.after == "" {
		q.group = strings.Clone(q.group)
		e.recents.Set(q, page, asked)
	}
	gate.Owes(ctx, len(page.Users)*gate.Item) // a third of what the store's answer cost, at most
	return page, err
}

// maxRecentLooks is how often one request for a group asks the store, unless the request has looked at as many
// users before as a page may have. Otherwise a rare group would make a request far more expensive than others.
// So a page of a group may have fewer users than the limit, and still name a next one.
const maxRecentLooks = 10

// recentOf returns a page of the users of one group; empty: of all users. Before each question to the store the visitor
// pays for the users whom the store looks at. If nothing is left for a further question, the page ends there, and is not
// whole.
func (e *rosterEndpoints) recentOf(ctx context.Context, group string, topic presence.Topic, q backend.RecentQuery) (page backend.RecentPage, whole bool, err error) {
	var users []backend.RecentUser
	most, looked := q.Limit, 0
	for look := 1; ; look++ {
		q.Limit = most - len(users)
		if !gate.Pays(ctx, max(q.Limit*gate.Name, gate.Token/2)) {
			if page.Users = users; look == 1 {
				err = errTooManyRequests()
			}
			return page, false, err
		}
		if page, err = e.tracker.Recent(ctx, topic, q); err != nil || group == "" {
			return page, true, err
		}
		for _, u := range page.Users {
			if u.Group == group {
				users = append(users, u)
			}
		}
		looked += len(page.Users)
		if page.Next == "" || len(users) == most || look == maxRecentLooks || looked >= maxLimit {
			page.Users = users
			return page, true, nil
		}
		q.After = page.Next
	}
}

// recentUsers is encoded as one JSON object with the users by id, in the order of the slice.
type recentUsers []backend.RecentUser

// recentUserJSON is the JSON of one recent user.
type recentUserJSON struct {
	presence.Profile
	LastSeen string          `json:"last_seen"`
	Online   bool            `json:"online"`
	Status   presence.Status `json:"status,omitempty"` // of a user who is online
}

// MarshalJSON implements [json.Marshaler].
func (us recentUsers) MarshalJSON() ([]byte, error) {
	return objectOf(len(us), func(i int) (presence.UserID, []byte, error) {
		u := us[i]
		one := recentUserJSON{Profile: u.Profile(), LastSeen: u.Active.UTC().Format(timeLayout), Online: u.Online}
		one.Name = u.DisplayName()
		if u.Online {
			one.Status = u.Status.Shown()
		}
		value, err := json.Marshal(one)
		return u.ID, value, err
	})
}

// within returns how far back the request asks: 0 for the current and the old period.
func (q *query) within() time.Duration {
	switch q.Get("within") {
	case "", "age":
	case "24h":
		return backend.MaxWithin
	default:
		q.bad("The parameter within is age or 24h.")
	}
	return 0
}

// group returns the group that the request asks for; empty: all users.
func (q *query) group() string {
	group := q.Get("group")
	if q.Has("group") && !presence.ValidGroup(group) {
		q.bad("The parameter group is 1 to 32 of a-z 0-9 and -.")
	}
	return group
}
