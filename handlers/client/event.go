package client

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
)

// An Event is a [Welcome], [State], [Diff], [Count], [Heartbeat] or [Lost]. The caller of
// [Follow] may keep it. Later versions may have more types: ignore unknown ones.
type Event interface{ event() }

// Welcome opens a connection.
type Welcome struct {
	Connection presence.Token
	Heartbeat  time.Duration // an event arrives at least this often
	Grace      time.Duration
}

// Totals are a topic's figures.
type Totals struct {
	Topic  presence.Topic
	Cursor presence.Cursor // the topic's version
	Total  int             // visible users online
	Guests int
	Recent int
	Stale  bool // the site's store or database is unreachable: these are the last known figures
}

// State is a topic's whole roster, or, if Truncated, its newest users. Users who are
// missing from a whole roster have left.
type State struct {
	Totals
	Users     []presence.Member // the newest first
	Truncated bool              // the roster has more users than Users
}

// Diff is the changes since the previous event.
type Diff struct {
	Topic  presence.Topic
	Cursor presence.Cursor
	Total  int
	Joins  []presence.Member // users who came or have a new profile, the newest first
	Leaves []backend.Departure
}

// Count is the only event of a topic with very many users. Its roster is unknown until the
// next State.
type Count struct{ Totals }

// Heartbeat says that no event was missed, and has the present figures.
type Heartbeat struct{ Totals }

// Lost says that the connection has ended and that another one follows.
type Lost struct {
	Err  error         // io.EOF if the server ended the connection, as it does about every 15 minutes
	Wait time.Duration // the wait before the next try
}

func (Welcome) event()   {}
func (State) event()     {}
func (Diff) event()      {}
func (Count) event()     {}
func (Heartbeat) event() {}
func (Lost) event()      {}

// eventJSON is the data of any event.
type eventJSON struct {
	Connection presence.Token `json:"connection"`
	Heartbeat  float64        `json:"heartbeat"` // seconds
	Grace      float64        `json:"grace"`

	Topic     presence.Topic  `json:"topic"`
	Cursor    presence.Cursor `json:"cursor"`
	Prev      presence.Cursor `json:"prev"`
	Total     int             `json:"total"`
	Guests    int             `json:"guests"`
	Recent    int             `json:"recent"`
	Stale     bool            `json:"stale"`
	Truncated bool            `json:"truncated"`

	Users  map[presence.UserID]userJSON  `json:"users"`
	Joins  map[presence.UserID]userJSON  `json:"joins"`
	Leaves map[presence.UserID]leaveJSON `json:"leaves"`
}

type userJSON struct {
	presence.Profile
	Status presence.Status `json:"status"`
	Since  time.Time       `json:"since"`
}

type leaveJSON struct {
	LastSeen time.Time `json:"last_seen"`
}

// decode decodes the data of an event, and refuses values that a server never sends.
func decode(data []byte) (eventJSON, error) {
	var w eventJSON
	if err := json.Unmarshal(data, &w); err != nil {
		return w, fmt.Errorf("%w: %w", ErrMalformed, err)
	}
	for _, users := range []map[presence.UserID]userJSON{w.Users, w.Joins} {
		for id, u := range users {
			if err := u.User(id).Validate(); err != nil { // the status may come from a later version
				return w, fmt.Errorf("%w: %w", ErrMalformed, err)
			}
		}
	}
	if w.Total < 0 || w.Guests < 0 || w.Recent < 0 || len(w.Cursor) > presence.MaxCursorLen {
		return w, fmt.Errorf("%w: a figure or a cursor is impossible", ErrMalformed)
	}
	return w, nil
}

func (w eventJSON) totals() Totals {
	return Totals{Topic: w.Topic, Cursor: w.Cursor, Total: w.Total, Guests: w.Guests, Recent: w.Recent, Stale: w.Stale}
}

func members(users map[presence.UserID]userJSON) []presence.Member {
	all := make([]presence.Member, 0, len(users))
	for id, u := range users {
		m := presence.Member{User: u.User(id), Since: u.Since}
		m.Status = u.Status
		all = append(all, m)
	}
	slices.SortFunc(all, presence.NewestFirst)
	return all
}

func departures(leaves map[presence.UserID]leaveJSON) []backend.Departure {
	all := make([]backend.Departure, 0, len(leaves))
	for _, id := range slices.Sorted(maps.Keys(leaves)) {
		all = append(all, backend.Departure{ID: id, LastSeen: leaves[id].LastSeen})
	}
	return all
}
