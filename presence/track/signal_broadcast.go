package track

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
)

// Signals between nodes are encoded as "!1" and a JSON object. A node ignores encodings and fields that it
// does not know. No field ever changes its meaning.
const signalsForm = "!1"

type signalsWire struct {
	Signals []signalWire `json:"signals"`
	Node    string       `json:"node,omitempty"`
	Sent    int64        `json:"sent,omitempty"` // by the clock of that node, Unix ms: see broadcastAges
}

// A heardBroadcast is a decoded broadcast.
type heardBroadcast struct {
	signals []presence.Signal // the valid ones
	node    string            // the node that sent it
	sent    time.Time         // zero: unknown
}

type signalWire struct {
	Type string          `json:"type"`
	V    int             `json:"v"`
	From presence.UserID `json:"from,omitempty"` // the name inside
	For  float64         `json:"for,omitempty"`  // seconds; negative: ended
	Data json.RawMessage `json:"data,omitempty"`
}

// maxBroadcastSignals bounds the signals in one broadcast that is read.
const maxBroadcastSignals = 100

// appendBroadcasts appends a topic's signals, encoded in as few broadcasts as the bound allows. A node sends
// them at a moment.
func appendBroadcasts(all []backend.Broadcast, topic presence.Topic, signals []presence.Signal, node string, sent time.Time) []backend.Broadcast {
	const head = signalsForm + `{"signals":[`
	name, _ := json.Marshal(node) // a string
	tail := fmt.Sprintf(`],"node":%s,"sent":%d}`, name, sent.UnixMilli())
	data := []byte(head)
	n := 0
	end := func() {
		if n > 0 {
			all = append(all, backend.Broadcast{Topic: topic, Data: append(data, tail...)})
			data, n = []byte(head), 0
		}
	}
	for _, s := range signals {
		one := encodeSignalWire(s)
		if n == maxBroadcastSignals || len(data)+1+len(one)+len(tail) > backend.MaxBroadcast {
			end()
		}
		if n++; n > 1 {
			data = append(data, ',')
		}
		data = append(data, one...)
	}
	end()
	return all
}

// encodeSignalWire returns a signal in the encoding between nodes. It does not escape for HTML: an escape
// takes six bytes, and the data would exceed their bound.
func encodeSignalWire(s presence.Signal) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(signalWire{s.Type, s.V, s.From, seconds(s.For), s.Data}) // validated before
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

// seconds returns a Signal.For as a number of seconds, for others to see.
func seconds(d time.Duration) float64 {
	if d < 0 {
		return -1
	}
	return math.Ceil(d.Seconds()*10) / 10
}

var errBroadcast = errors.New("it is no broadcast of signals")

// readBroadcast decodes a broadcast. It returns the valid signals, and an error if some are not valid. It
// trusts nothing, because anyone who can write to the store can forge a broadcast.
func readBroadcast(data []byte) (b heardBroadcast, err error) {
	if len(data) > backend.MaxBroadcast || len(data) < len(signalsForm) || string(data[:len(signalsForm)]) != signalsForm {
		return b, errBroadcast
	}
	var wire signalsWire
	if err := json.Unmarshal(data[len(signalsForm):], &wire); err != nil || len(wire.Signals) > maxBroadcastSignals {
		return b, errBroadcast
	}
	if b.node = wire.Node; wire.Sent != 0 {
		b.sent = time.UnixMilli(wire.Sent)
	}
	for _, w := range wire.Signals {
		s := presence.Signal{Type: w.Type, V: cmp.Or(w.V, 1), From: w.From, For: standsFor(w.For), Data: w.Data}
		if invalid := s.Validate(); invalid != nil {
			err = invalid
			continue
		}
		b.signals = append(b.signals, s)
	}
	return b, err
}

// standsFor returns the Signal.For for a number of seconds. For a number out of bounds it returns one that no
// signal may have.
func standsFor(seconds float64) time.Duration {
	switch {
	case seconds < 0:
		return -1
	case seconds > presence.MaxSignalFor.Seconds():
		return presence.MaxSignalFor + 1
	}
	return time.Duration(seconds * float64(time.Second))
}
