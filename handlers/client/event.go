package client

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/rollcall-go/rollcall/presence"
)

// An Event is what [Follow] yields: [Welcome], [State], [Diff], [Count],
// [Heartbeat], or [Lost]. It is the loop's to keep.
type Event interface{ event() }

// Welcome opens a connection.
type Welcome struct {
	Connection presence.Token
	Heartbeat  time.Duration // something comes at least this often
	Grace      time.Duration
}

// Totals are a topic's figures.
type Totals struct {
	Topic  presence.Topic
	Cursor presence.Cursor // the topic's version
	Total  int             // visible users online
	Guests int
	Recent int
	Stale  bool // the site's store is out: this is the last that was known
}

// State is a topic's whole roster, or its newest users. Whoever is missing from
// one that is not truncated is gone.
type State struct {
	Totals
	Users     []presence.Member // the newest first
	Truncated bool              // there are more than Users
}

// Diff is what changed since the event before.
type Diff struct {
	Topic  presence.Topic
	Cursor presence.Cursor
	Total  int
	Joins  []presence.Member // who came, or has a new profile; the newest first
	Leaves []presence.Departure
}

// Count is all that a topic with very many users tells. Its roster is not known
// until the next State.
type Count struct{ Totals }

// Heartbeat says that nothing was missed, and the figures.
type Heartbeat struct{ Totals }

// Lost says that the connection has ended, and that there will be another.
type Lost struct {
	Err  error         // io.EOF where the server ended it, as it does every 15 minutes or so
	Wait time.Duration // until the next try
}

func (Welcome) event()   {}
func (State) event()     {}
func (Diff) event()      {}
func (Count) event()     {}
func (Heartbeat) event() {}
func (Lost) event()      {}

// wire is the data of any event.
type wire struct {
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

	Users  map[presence.UserID]wireUser  `json:"users"`
	Joins  map[presence.UserID]wireUser  `json:"joins"`
	Leaves map[presence.UserID]wireLeave `json:"leaves"`
}

type wireUser struct {
	Name   string          `json:"name"`
	Status presence.Status `json:"status"`
	Since  time.Time       `json:"since"`
	Avatar string          `json:"avatar"`
	URL    string          `json:"url"`
	Data   json.RawMessage `json:"data"`
}

type wireLeave struct {
	LastSeen time.Time `json:"last_seen"`
}

// decode reads the data of an event, and refuses what no server of ours sends.
func decode(data []byte) (wire, error) {
	var w wire
	if err := json.Unmarshal(data, &w); err != nil {
		return w, fmt.Errorf("%w: %w", ErrMalformed, err)
	}
	for _, users := range []map[presence.UserID]wireUser{w.Users, w.Joins} {
		for id, u := range users {
			user := presence.User{ID: id, Name: u.Name, Avatar: u.Avatar, URL: u.URL, Data: u.Data} // a status may be of a later version
			if err := user.Validate(); err != nil {
				return w, fmt.Errorf("%w: %w", ErrMalformed, err)
			}
		}
	}
	if w.Total < 0 || w.Guests < 0 || w.Recent < 0 || len(w.Cursor) > presence.MaxCursorLen {
		return w, fmt.Errorf("%w: a figure or a cursor is impossible", ErrMalformed)
	}
	return w, nil
}

func (w wire) totals() Totals {
	return Totals{Topic: w.Topic, Cursor: w.Cursor, Total: w.Total, Guests: w.Guests, Recent: w.Recent, Stale: w.Stale}
}

func members(users map[presence.UserID]wireUser) []presence.Member {
	all := make([]presence.Member, 0, len(users))
	for id, u := range users {
		all = append(all, presence.Member{
			User:  presence.User{ID: id, Name: u.Name, Status: u.Status, Avatar: u.Avatar, URL: u.URL, Data: u.Data},
			Since: u.Since,
		})
	}
	slices.SortFunc(all, presence.NewestFirst)
	return all
}

func departures(leaves map[presence.UserID]wireLeave) []presence.Departure {
	all := make([]presence.Departure, 0, len(leaves))
	for _, id := range slices.Sorted(maps.Keys(leaves)) {
		all = append(all, presence.Departure{ID: id, LastSeen: leaves[id].LastSeen})
	}
	return all
}
