package deliver

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/internal/wire"
)

// The entries of a consumer's record. Values are JSON.
//
//	steps           the number of the latest step: its time in Unix us, and larger than the step before
//	p/<topic>       a position
//	p/<kind>:*      whether a kind that has begun is crowded
//	t/<topic>/<id>  a toldUser
//	e/<number>      a keptEvent
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
	At     presence.DiffID `json:"at"`
	Latest time.Time       `json:"latest,omitzero"` // by the store's clock: when the latest event was that was told
	Gap    time.Time       `json:"gap,omitzero"`    // when a gap was told; zero: the log leads on from At
}

// A toldUser is a user whose join was told.
type toldUser struct {
	Name  string    `json:"name"`
	Since time.Time `json:"since"`
}

// A keptEvent is an event that waits, as the record has it.
type keptEvent struct {
	Event
	User presence.UserID // in place of Event.User, in JSON too
	Name string
}

func (e keptEvent) event() Event {
	e.Event.User = presence.User{ID: e.User, Name: e.Name}
	return e.Event
}

func (p *parcel) encode() string { return encode(keptEvent{p.Event, p.User.ID, p.User.Name}) }

// encode returns the text of an entry. decode returns false if the text is of something else.
func encode(v any) string {
	text, _ := json.Marshal(v) // no error: strings and times alone
	return string(text)
}

func decode(text string, v any) bool { return json.Unmarshal([]byte(text), v) == nil }

// eventID returns the ID of an event of one session in a topic. source names the diff or the list that the event
// comes from. So the ID is the same if a node that takes over reads the diff again, and no two events have one ID.
func eventID(consumer string, e Event, source string) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s\n%s\n%s\n%s\n%d\n%s", consumer, e.Type, e.Topic, e.User.ID, e.Since.UnixMicro(), source))
	return "evt_" + hex.EncodeToString(sum[:16])
}
