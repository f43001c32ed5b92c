package deliver

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/internal/wire"
)

// The entries of a consumer's record. Moments are Unix nanoseconds, 0 for none.
//
//	steps           the number of the latest step: its time in Unix us, and larger than the step before
//	p/<topic>       "<diff id> <latest> <gap>": see position
//	p/<kind>:*      a kind that has begun: see followedKind
//	t/<topic>/<id>  "<since> <name>": a user whose join was told
//	e/<number>      an event that waits, in JSON
const (
	stepsKey       = "steps"
	positionPrefix = "p/"
)

func positionKey(topic presence.Topic) string { return positionPrefix + string(topic) }

func toldKey(topic presence.Topic, user presence.UserID) string {
	return wire.ToldPrefix + string(topic) + "/" + string(user)
}

func eventKey(number uint64) string { return fmt.Sprintf("%s%016x", wire.EventPrefix, number) }

// stepsOf returns the number of the latest step of a record; 0 for none.
func stepsOf(entries map[string]string) uint64 {
	n, _ := strconv.ParseUint(entries[stepsKey], 10, 64)
	return n
}

// A position says up to where the consumer was told the events of a topic.
type position struct {
	at     presence.DiffID
	latest time.Time // by the store's clock: when the latest event was that was told
	gap    time.Time // when a gap was told; zero: the log leads on from at
}

func (p position) encode() string {
	return fmt.Sprintf("%s %d %d", p.at, nanos(p.latest), nanos(p.gap))
}

func decodePosition(text string) (p position) {
	var latest, gap int64
	_, _ = fmt.Sscan(text, &p.at, &latest, &gap)
	p.latest, p.gap = fromNanos(latest), fromNanos(gap)
	return p
}

// nanos returns a moment in Unix nanoseconds; 0 for the zero time.
func nanos(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixNano()
}

func fromNanos(ns int64) time.Time {
	if ns == 0 {
		return time.Time{}
	}
	return time.Unix(0, ns)
}

// A toldUser is a user whose join was told.
type toldUser struct {
	name  string
	since time.Time
}

func (u toldUser) encode() string { return fmt.Sprintf("%d %s", u.since.UnixNano(), u.name) }

func decodeTold(text string) toldUser {
	since, name, _ := strings.Cut(text, " ")
	ns, _ := strconv.ParseInt(since, 10, 64)
	return toldUser{name: name, since: time.Unix(0, ns)}
}

// A wireEvent is an event as the store keeps it while it waits; moments are Unix nanoseconds.
type wireEvent struct {
	ID    string          `json:"id"`
	Type  EventType       `json:"type"`
	Topic presence.Topic  `json:"topic"`
	User  presence.UserID `json:"user,omitempty"`
	Name  string          `json:"name,omitempty"`
	Since int64           `json:"since,omitempty"`
	Seen  int64           `json:"seen,omitempty"`
	At    int64           `json:"at"`
}

func encodeEvent(e Event) string {
	w := wireEvent{
		ID: e.ID, Type: e.Type, Topic: e.Topic, User: e.User.ID, Name: e.User.Name,
		Since: nanos(e.Since), Seen: nanos(e.LastSeen), At: nanos(e.At),
	}
	text, _ := json.Marshal(w) // no error: strings and numbers alone
	return string(text)
}

func decodeEvent(text string) (Event, bool) {
	var w wireEvent
	if json.Unmarshal([]byte(text), &w) != nil {
		return Event{}, false
	}
	e := Event{
		ID: w.ID, Type: w.Type, Topic: w.Topic, User: presence.User{ID: w.User, Name: w.Name},
		Since: fromNanos(w.Since), At: fromNanos(w.At),
	}
	if w.Seen != 0 {
		e.leave(fromNanos(w.Seen))
	}
	return e, true
}

// leave sets when the user was last seen, but not before the join.
func (e *Event) leave(seen time.Time) {
	e.LastSeen = later(seen, e.Since)
	e.Seconds = e.LastSeen.Sub(e.Since).Seconds()
}

// eventID returns the ID of an event. source names the diff or the list that the event comes from. So the ID is
// the same if a node that takes over reads the diff again, and no two events have one ID.
func eventID(consumer string, e Event, source string) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s\n%s\n%s\n%s\n%s", consumer, e.Type, e.Topic, e.User.ID, source))
	return "evt_" + hex.EncodeToString(sum[:16])
}
