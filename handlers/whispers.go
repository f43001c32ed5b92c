package handlers

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"time"

	"github.com/rollcall-go/rollcall/internal/gate"
	"github.com/rollcall-go/rollcall/internal/problem"
	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/track"
)

// A visitorSignal is a signal that a visitor wants to send, with the site's rules for it.
type visitorSignal struct {
	topic presence.Topic
	presence.Signal
	rules Whisper
}

// signalJSON is a signal in the body of a request, or in a message. The sender is always the visitor, whatever
// a body says (rule S6).
type signalJSON struct {
	Topic  string          `json:"topic"`
	Type   string          `json:"type"`   // in a request, the signal's type; in a message, the word signal
	Signal string          `json:"signal"` // in a message, the signal's type
	V      int             `json:"v"`
	For    float64         `json:"for"` // seconds; negative: the signal has ended
	Data   json.RawMessage `json:"data"`
}

// Bounds of what visitors send, unless [Whisper] has others.
const (
	defaultWhispers = 5 // signals a second
	maxWhispers     = 20
)

// whispers sends the signals of visitors.
type whispers struct {
	tracker *track.Tracker
	cfg     *settings
	site    *siteCode
	limits  *limits
}

// read returns the signal in a body or a message. It returns an error if the signal breaks a bound, if the
// site accepts no such signal, or if the visitor has sent too many. It reads memory only.
func (ws *whispers) read(v presence.Visitor, text []byte, inMessage bool) (s visitorSignal, err error) {
	if s, err = parseSignal(v, text, inMessage); err != nil {
		return s, err
	}
	rules, ok := ws.cfg.Whispers[s.topic.Kind()][s.Type]
	if !ok || ws.cfg.rosterless(s.topic) {
		return s, errNoSignal()
	}
	if !ws.limits.signals.TakePaced(v.User.ID, gate.NewPace(rules.rate(), 1), gate.Token, time.Now()) {
		return s, again(http.StatusTooManyRequests, 1, "Too many signals within one second. Leave out all but the latest.")
	}
	s.rules = rules
	s.For = min(s.For, rules.longest())
	return s, nil
}

// parseSignal parses a visitor's signal from a JSON object.
func parseSignal(v presence.Visitor, text []byte, inMessage bool) (s visitorSignal, err error) {
	var j signalJSON
	if json.Unmarshal(text, &j) != nil {
		return s, badRequest(`A signal is JSON such as {"topic":"thread:1","type":"typing","for":6}, where for is a number of seconds. In a message over a WebSocket its type is called signal.`)
	}
	if s.topic, err = parseTopic(v, j.Topic); err != nil {
		return s, err
	}
	s.Type, s.V, s.For = j.Type, j.V, signalFor(j.For)
	if inMessage {
		s.Type = j.Signal
	}
	if data := j.Data; len(data) > 0 && string(data) != "null" {
		compact := new(bytes.Buffer)
		json.Compact(compact, data) // part of valid JSON: it cannot fail
		s.Data = compact.Bytes()
	}
	if err := s.Validate(); err != nil {
		return s, badRequest("This is an " + err.Error() + ".")
	}
	return s, nil
}

// signalFor converts seconds to a [presence.Signal].For. A number over the bound stays over it, and any
// negative number ends the signal.
func signalFor(seconds float64) time.Duration {
	switch {
	case seconds < 0:
		return -time.Second
	case seconds > presence.MaxSignalFor.Seconds():
		return presence.MaxSignalFor + 1
	}
	return time.Duration(seconds * float64(time.Second))
}

// longest returns how long a signal may stand.
func (w Whisper) longest() time.Duration {
	if w.For <= 0 {
		return presence.MaxSignalFor
	}
	return min(max(w.For, time.Second), presence.MaxSignalFor)
}

// rate returns how many signals a visitor may send a second. All types share one allowance: a signal uses up
// its part of a second.
func (w Whisper) rate() int {
	return min(max(cmp.Or(w.Rate, defaultWhispers), 1), maxWhispers)
}

// send sends a signal of a visitor who may follow its topic.
func (ws *whispers) send(ctx context.Context, v presence.Visitor, s visitorSignal) error {
	if err := ws.site.checkData(ctx, s); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, storeWait)
	defer cancel()
	err := ws.tracker.Whisper(ctx, v, s.topic, s.Signal)
	if errors.Is(err, presence.ErrNotThere) {
		return errNoSignal()
	}
	return err
}

// errNoSignal is the same whatever the reason, so that nobody learns which topics exist and who is in them.
func errNoSignal() error {
	return forbidden("This signal cannot be sent: there is no such topic, or you may not see it, or it takes no such signal, or you are not among those whom it shows.")
}

func errGuestSignals() error {
	return problem.New(http.StatusUnauthorized, "Sign in first: only a user can send signals.")
}

// signal handles a message that is a signal. If the stream has the topic, the site was asked about it lately.
// Then a signal without data needs no errand.
func (s *stream) signal(text []byte) errand {
	v := s.request.visitor()
	if !v.SignedIn() {
		s.reply(errGuestSignals())
		return nil
	}
	said, err := s.streams.signals.read(v, text, true)
	if err != nil {
		s.reply(err)
		return nil
	}
	follows := s.lastEvents.has(said.topic)
	send := func() func() {
		err := errNoSignal()
		if follows || s.streams.rights.allowed(s.request, said.topic) {
			err = s.streams.signals.send(s.request.context(), v, said)
		}
		return func() { s.reply(err) }
	}
	if follows && said.Data == nil {
		send()()
		return nil
	}
	return send
}
