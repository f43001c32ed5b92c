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

// The entries of a consumer's record:
//
//	begun           the record is whole
//	steps           the number of the latest step: its time in Unix us, and larger than the step before.
//	                By this number a leader finds that the store lost steps, and a standby node that
//	                its copy is newer than the record
//	new             the record is prepared, and no node leads with it yet: see prepare. "copied":
//	                a node has a copy of the record that was lost; "1": none has said so
//	p/<topic>       "<diff id> <latest> <doubt> <loss>": see position. The moments are in Unix
//	                us, 0 for none
//	t/<topic>/<id>  "<since> <seen> <name>": a user whose join was told, with a proof of
//	                life after a loss, or 0; in Unix ns. "-" for seen: the user is unseen
//	                (rule 21 of Store)
//	e/<number>      an event that waits, in JSON
const (
	begunKey       = "begun"
	stepsKey       = "steps"
	newKey         = "new"
	newAlone       = "1"
	newCopied      = "copied"
	positionPrefix = "p/"
)

func positionKey(topic presence.Topic) string { return positionPrefix + string(topic) }

func toldKey(topic presence.Topic, user presence.UserID) string {
	return wire.ToldPrefix + string(topic) + "/" + string(user)
}

// stepsOf returns the number of the latest step of a record; 0 for none.
func stepsOf(entries map[string]string) uint64 {
	n, _ := strconv.ParseUint(entries[stepsKey], 10, 64)
	return n
}

func eventKey(number uint64) string { return fmt.Sprintf("%s%016x", wire.EventPrefix, number) }

// A position says up to where the consumer was told the events of a topic.
type position struct {
	at     presence.DiffID
	latest time.Time // by the store's clock: all events until then were told
	doubt  time.Time // since when the roster is in doubt; zero: no doubt
	loss   time.Time // the latest loss or gap since doubt began
}

func (p position) encode() string {
	return fmt.Sprintf("%s %d %d %d", p.at, micros(p.latest), micros(p.doubt), micros(p.loss))
}

func decodePosition(text string) (p position) {
	var latest, doubt, loss int64
	_, _ = fmt.Sscan(text, &p.at, &latest, &doubt, &loss)
	p.latest, p.doubt, p.loss = fromMicros(latest), fromMicros(doubt), fromMicros(loss)
	return p
}

// micros returns a moment in Unix us; 0 for the zero time.
func micros(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMicro()
}

func fromMicros(us int64) time.Time {
	if us == 0 {
		return time.Time{}
	}
	return time.UnixMicro(us)
}

// A toldUser is a user whose join was told.
type toldUser struct {
	name  string
	since time.Time
	seen  time.Time // when a node restored the user after a loss; zero: never

	unseen bool // a leave must not say when the user was last seen
}

func (u toldUser) encode() string {
	seen := "0"
	switch {
	case u.unseen:
		seen = "-"
	case !u.seen.IsZero():
		seen = strconv.FormatInt(u.seen.UnixNano(), 10)
	}
	return fmt.Sprintf("%d %s %s", u.since.UnixNano(), seen, u.name)
}

func decodeTold(text string) toldUser {
	since, rest, _ := strings.Cut(text, " ")
	seen, name, _ := strings.Cut(rest, " ")
	ns, _ := strconv.ParseInt(since, 10, 64)
	u := toldUser{name: name, since: time.Unix(0, ns), unseen: seen == "-"}
	if ns, _ := strconv.ParseInt(seen, 10, 64); ns != 0 {
		u.seen = time.Unix(0, ns)
	}
	return u
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

func encodeDelivery(d Event) string {
	w := wireEvent{ID: d.ID, Type: d.Type, Topic: d.Topic, User: d.User.ID, Name: d.User.Name, At: d.At.UnixNano()}
	if d.Type != Gap {
		w.Since = d.Since.UnixNano()
	}
	if !d.LastSeen.IsZero() {
		w.Seen = d.LastSeen.UnixNano()
	}
	text, _ := json.Marshal(w) // no error: strings and numbers alone
	return string(text)
}

func decodeDelivery(text string) (Event, bool) {
	var w wireEvent
	if json.Unmarshal([]byte(text), &w) != nil {
		return Event{}, false
	}
	d := Event{ID: w.ID, Type: w.Type, Topic: w.Topic, User: presence.User{ID: w.User, Name: w.Name}, At: time.Unix(0, w.At)}
	if w.Since != 0 {
		d.Since = time.Unix(0, w.Since)
	}
	if w.Seen != 0 {
		d.leave(time.Unix(0, w.Seen))
	}
	return d, true
}

// leave sets when the user was last seen, but not before the join.
func (d *Event) leave(seen time.Time) {
	d.LastSeen = later(seen, d.Since)
	d.Seconds = d.LastSeen.Sub(d.Since).Seconds()
}

// deliveryID returns the ID of an event. It names the session rather than the diff, since diffs are lost with
// the store's data.
func deliveryID(consumer string, d Event, session string) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s\n%s\n%s\n%s\n%s", consumer, d.Type, d.Topic, d.User.ID, session))
	return "evt_" + hex.EncodeToString(sum[:16])
}

// sessionOf names a session of a user in a topic: two sessions begin at different moments.
func sessionOf(since time.Time) string { return strconv.FormatInt(since.UnixNano(), 10) }
