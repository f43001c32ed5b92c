package webhook

import (
	"encoding/json"
	"math"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/deliver"
)

// The body of a post.
type (
	message struct {
		Type      string `json:"type"`
		Timestamp string `json:"timestamp"`
		Data      data   `json:"data"`
	}
	data struct {
		Tenant   string         `json:"tenant,omitempty"`
		Topic    presence.Topic `json:"topic"`
		User     *user          `json:"user,omitempty"`
		Since    string         `json:"since,omitempty"`
		LastSeen string         `json:"last_seen,omitempty"`
		Seconds  *float64       `json:"seconds,omitempty"`
	}
	user struct {
		ID   presence.UserID `json:"id"`
		Name string          `json:"name"`
	}
)

// encode returns the body for an event. Every try has the same body.
func encode(d deliver.Event) ([]byte, error) {
	m := message{Type: "presence." + string(d.Type), Timestamp: moment(d.At), Data: data{Tenant: d.Topic.Tenant(), Topic: d.Topic.Local()}}
	if d.Type != deliver.Gap {
		m.Data.User = &user{d.User.ID.Local(), d.User.DisplayName()}
		m.Data.Since = moment(d.Since)
	}
	if !d.LastSeen.IsZero() { // only a leave has one, unless the user hides it
		m.Data.LastSeen = moment(d.LastSeen)
		seconds := seconds(whole(d.LastSeen).Sub(whole(d.Since)))
		m.Data.Seconds = &seconds
	}
	return json.Marshal(m)
}

func moment(t time.Time) string { return whole(t).Format(time.RFC3339Nano) }

// whole returns a moment as bodies have it, in whole milliseconds. Durations are computed from these, so that
// a receiver gets the same result.
func whole(t time.Time) time.Time { return t.UTC().Truncate(time.Millisecond) }

// seconds returns a duration in whole seconds, or with milliseconds if rounding would be off by more than half
// a percent.
func seconds(d time.Duration) float64 {
	s := d.Seconds()
	if s >= 100 {
		return math.Round(s)
	}
	return math.Round(s*1000) / 1000
}
