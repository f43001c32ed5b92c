package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/rollcall-go/rollcall/presence"
)

// Signals are messages in a topic that nobody stores. They move no cursor. Each connection begins with the
// signals that still stand, such as that a user is typing.
type Signals struct {
	Topic   presence.Topic
	Signals []Signal // the latest of each type and sender
}

// Signal is one of [Signals]. A signal that stands ends after its For, when a later one of the same Type and
// From comes, or when From leaves the topic.
type Signal struct {
	presence.Signal        // a negative For: the signal has ended
	Name            string // the name of From, as shown
}

func (Signals) event() {}

// maxSignals bounds the signals of one event.
const maxSignals = 1000

type signalsJSON struct {
	Topic   presence.Topic    `json:"topic"`
	Signals []json.RawMessage `json:"signals"`
}

type signalJSON struct {
	Type string          `json:"type"`
	V    int             `json:"v"`
	From presence.UserID `json:"from"`
	Name string          `json:"name"`
	For  float64         `json:"for"` // seconds
	Data json.RawMessage `json:"data"`
}

// signals yields an event of signals. It skips signals that this version cannot read. A lost signal does no
// lasting harm, so there is no need to reconnect.
func (c *connection) signals(data []byte) error {
	var w signalsJSON
	if json.Unmarshal(data, &w) != nil || len(w.Signals) > maxSignals {
		return nil
	}
	if _, ok := c.cursors[w.Topic]; !ok {
		return nil
	}
	said := Signals{Topic: w.Topic}
	for _, one := range w.Signals {
		if s, ok := readSignal(one); ok {
			said.Signals = append(said.Signals, s)
		}
	}
	c.tries = 0
	if len(said.Signals) > 0 && !c.yield(said) {
		return errEnough
	}
	return nil
}

// readSignal returns false for a signal of a form that this version does not know.
func readSignal(data []byte) (s Signal, ok bool) {
	var w signalJSON
	if json.Unmarshal(data, &w) != nil {
		return s, false
	}
	s = Signal{presence.Signal{Type: w.Type, V: max(w.V, 1), From: w.From, For: signalFor(w.For), Data: slices.Clone(w.Data)}, w.Name}
	if w.From != "" && (presence.User{ID: w.From, Name: w.Name}).Validate() != nil {
		return s, false
	}
	rest := s.Signal
	rest.For = 0 // the server sends the time that is left, which may be shorter than a new signal's
	return s, rest.Validate() == nil
}

// signalFor converts seconds to a Signal.For.
func signalFor(seconds float64) time.Duration {
	if seconds < 0 {
		return -time.Second
	}
	return time.Duration(min(seconds, presence.MaxSignalFor.Seconds()) * float64(time.Second))
}

// Whisper sends a signal into a topic, as the user whom Options.Header signs in: see [track.Tracker.Whisper].
// site is the URL as for [Follow]. The sender must be visible in the topic: a Follow with Options.Hold is
// enough. From of the signal is not sent.
//
// The error is a [*StatusError] if the site refuses the signal, [presence.ErrInvalidSignal], or an error of
// the connection. Whisper does not retry. It costs a request.
func Whisper(ctx context.Context, site string, topic presence.Topic, s presence.Signal, o Options) error {
	u, err := parseSite(site)
	if err != nil {
		return err
	}
	if err := s.Validate(); err != nil {
		return err
	}
	o = o.withDefaults()
	body, err := json.Marshal(struct {
		Topic presence.Topic  `json:"topic"`
		Type  string          `json:"type"`
		V     int             `json:"v,omitempty"`
		For   float64         `json:"for,omitempty"`
		Data  json.RawMessage `json:"data,omitempty"`
	}{topic, s.Type, s.V, s.For.Seconds(), s.Data})
	if err != nil {
		return err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, u.JoinPath("signal").String(), bytes.NewReader(body))
	if err != nil {
		return err
	}
	r.Header.Set("Content-Type", "application/json")
	for name, value := range o.Header {
		r.Header.Set(name, value)
	}
	resp, err := o.HTTP.Do(r)
	if failed := (*url.Error)(nil); errors.As(err, &failed) {
		return failed.Err // without the URL, which may contain a secret
	}
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode == http.StatusNoContent {
		_, _ = io.Copy(io.Discard, io.LimitReader(resp.Body, maxProblem)) // so that the connection is used again
		return nil
	}
	kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	return answerError(resp, kind)
}
