package handlers

import (
	"errors"
	"net/http"
	"strconv"
	"strings"

	"github.com/rollcall-go/rollcall/internal/problem"
	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
)

// maxUsers is how many users one request may ask for.
const maxUsers = 100

// userJSON is the JSON of one user.
type userJSON struct {
	Online   bool            `json:"online"`
	Status   presence.Status `json:"status,omitempty"`
	LastSeen string          `json:"last_seen,omitempty"`
}

// users answers whether each of up to 100 users is online. It finds those who are in memory, and asks the
// store about the others. While the store is unreachable, the answer is what this node knew last, and has
// "stale":true. If the node knows nothing of any of the users, the answer is 503.
func (e *rosterEndpoints) users(w http.ResponseWriter, r *http.Request, v presence.Visitor) error {
	q := e.site.query(r, v)
	topic := q.topic()
	if q.err != nil {
		return q.err
	}
	ids, err := userIDs(v, q.Values["id"], maxUsers)
	if err != nil {
		return err
	}
	ctx, cancel := storeContext(r)
	defer cancel()
	view, err := e.tracker.View(ctx, topic)
	if err != nil {
		return err
	}
	stale := view.Stale
	users := make(map[presence.UserID]userJSON, len(ids))
	var absent []presence.UserID
	for _, id := range ids {
		if m, ok := view.Member(id); ok {
			users[id.Local()] = userJSON{Online: true, Status: m.Status.Shown()}
		} else {
			users[id.Local()] = userJSON{}
			absent = append(absent, id)
		}
	}
	if !view.Names {
		absent = nil // nobody has a name in such a topic, or a time when last seen
	}
	sightings, err := e.sightings.get(ctx, e.tracker, topic, absent)
	if refused := (*problem.Problem)(nil); errors.As(err, &refused) {
		return err
	}
	for i, s := range sightings {
		users[absent[i].Local()] = newUserJSON(s)
	}
	if stale = stale || err != nil; !stale {
		return writeFresh(w, map[string]any{"users": users})
	}
	for _, u := range users {
		if u != (userJSON{}) {
			return writeFresh(w, map[string]any{"users": users, "stale": true})
		}
	}
	return presence.ErrStoreOut
}

// timeLayout is RFC 3339 in milliseconds, as in events.
const timeLayout = "2006-01-02T15:04:05.000Z07:00"

func newUserJSON(s backend.Sighting) userJSON {
	if s.Online {
		return userJSON{Online: true, Status: s.Status.Shown()}
	}
	if s.LastSeen.IsZero() {
		return userJSON{}
	}
	return userJSON{LastSeen: s.LastSeen.UTC().Format(timeLayout)}
}

// userIDs returns the ids that a request names, 1 to most, each once.
func userIDs(v presence.Visitor, params []string, most int) ([]presence.UserID, error) {
	ids, err := distinctIDs(v, params, most)
	if len(ids) == 0 && err == nil || errors.Is(err, presence.ErrTooManyPeople) {
		return nil, badRequest("Name 1 to " + strconv.Itoa(most) + " users: id=alice&id=bob")
	}
	return ids, err
}

// distinctIDs returns the ids that a visitor names, each once and in their order. They are copies, so that the
// request's memory is freed. It returns [presence.ErrTooManyPeople] if there are more than most.
func distinctIDs[T ~string](v presence.Visitor, names []T, most int) ([]presence.UserID, error) {
	known := make(map[T]struct{}, min(len(names), most))
	ids := make([]presence.UserID, 0, min(len(names), most))
	for _, name := range names {
		if _, ok := known[name]; ok {
			continue
		}
		id := presence.UserID(name)
		if err := (presence.User{ID: id}).Validate(); err != nil {
			return nil, err
		}
		if len(ids) == most {
			return nil, presence.ErrTooManyPeople
		}
		known[name] = struct{}{}
		ids = append(ids, presence.UserID(strings.Clone(string(id))))
	}
	return insideIDs(v, ids), nil
}
