package handlers

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"time"

	"github.com/rollcall-go/rollcall/internal/gate"
	"github.com/rollcall-go/rollcall/internal/wait"
	"github.com/rollcall-go/rollcall/presence"
)

// A message is what a client sends over a WebSocket.
type message struct {
	Type   string          `json:"type"`
	Topic  string          `json:"topic"`
	Cursor presence.Cursor `json:"cursor"`
	statusRequest
	Users  *[]presence.UserID `json:"users"`  // in a message of type watch
	Hidden flag               `json:"hidden"` // in a message of type hidden
}

// eventError answers a message that failed.
const eventError presence.EventType = "error"

// An errand is the part of a message's work that waits for the store or the site. It may run in any goroutine.
// The stream handles no input until the errand has returned. Then the driver calls after.
type errand func() (after func())

// run returns nil if the errand panics.
func (e errand) run(f *faults) (after func()) {
	defer f.recoverStream()
	return e()
}

// receive handles input up to the first errand. After the errand, call receive with no input: it handles the
// rest. An error ends the stream.
func (s *stream) receive(p []byte, now time.Time) (errand, error) {
	if len(p) > 0 {
		s.hear(now)
	}
	if s.unhandled != nil {
		p, s.unhandled = append(s.unhandled, p...), nil
	}
	for len(p) > 0 {
		text, answer, rest, err := s.nextMessage(p, now)
		switch {
		case errors.Is(err, errFlood):
			s.streams.counters.limited.Add(1)
		case errors.Is(err, errLarge):
			s.streams.counters.tooLarge.Add(1)
		}
		if err != nil {
			return nil, err
		}
		s.owed = append(s.owed, answer...)
		if p = rest; text == nil {
			continue
		}
		if e := s.handle(text, now); e != nil {
			s.unhandled = bytes.Clone(p)
			return e, nil
		}
	}
	return nil, nil
}

// reply tells the client why its message failed. If err is nil, it does nothing.
func (s *stream) reply(err error) {
	if err == nil {
		return
	}
	p := s.streams.faults.explain(err, "message", s.request.visitor())
	data, _ := json.Marshal(struct { // two strings: it cannot fail
		Title  string `json:"title"`
		Detail string `json:"detail"`
	}{p.Title, p.Detail})
	s.owed = s.form().Append(s.owed, presence.Event{Type: eventError, Data: data})
}

// handle does what a message asks for, or returns an errand for it.
func (s *stream) handle(text []byte, now time.Time) errand {
	list := isWatch(text)
	if list && s.defersWatch(text, now) {
		return nil
	}
	var m message
	if err := json.Unmarshal(text, &m); err != nil {
		s.reply(badRequest(`A message is JSON such as {"type":"heartbeat"}.`))
		return nil
	}
	switch m.Type {
	case "heartbeat":
		s.conn.Beat()
		return nil
	case "hidden":
		s.hide(m.Hidden)
		return nil
	case "status":
		return s.setStatus(m.statusRequest)
	case "signal":
		return s.signal(text)
	case "watch":
		if s.streams.cfg.people {
			if list || !s.defersWatch(text, now) {
				s.reply(s.watch(m.Users))
			}
			return nil
		}
		fallthrough
	default:
		types := "heartbeat, hidden, status, signal, subscribe, unsubscribe or snapshot"
		if s.streams.cfg.people {
			types = "heartbeat, hidden, status, signal, watch, subscribe, unsubscribe or snapshot"
		}
		s.reply(badRequest("The type of a message is " + types + "."))
		return nil
	case "subscribe", "unsubscribe", "snapshot":
	}
	topic, err := parseTopic(s.request.visitor(), m.Topic)
	if err == nil && m.Type == "subscribe" {
		err = s.streams.cfg.followable(s.request.visitor(), topic)
	}
	switch {
	case err != nil:
		s.reply(err)
	case m.Type == "subscribe" && !s.lastEvents.has(topic):
		if !s.pays(gate.Token + gate.Question) {
			s.reply(errTooManyRequests())
			return nil
		}
		return s.subscribe(topic, presence.ReadCursor(string(m.Cursor)), s.stateIn(topic, now))
	case m.Type == "unsubscribe":
		before := s.token()
		s.conn.Unsubscribe(topic)
		s.lastEvents = slices.DeleteFunc(s.lastEvents, func(t lastEvent) bool { return t.topic == topic })
		s.sendToken(before)
	case m.Type == "snapshot" && s.lastEvents.has(topic):
		s.snapshot(topic, time.Now())
	case m.Type == "snapshot":
		s.reply(notSubscribed())
	}
	return nil
}

func (s *stream) setStatus(want statusRequest) errand {
	return func() func() {
		ctx, cancel := context.WithTimeout(s.request.context(), storeWait)
		defer cancel()
		err := s.streams.choices.setStatus(ctx, s.request.visitor(), want)
		return func() { s.reply(err) }
	}
}

// subscribe adds a topic after a pause.
func (s *stream) subscribe(topic presence.Topic, from presence.Cursor, pause time.Duration) errand {
	return func() func() {
		wait.For(s.request.context(), pause)
		before := s.token()
		var err error
		if !s.streams.rights.allowed(s.request, topic) {
			err = errForbidden()
		} else {
			ctx, cancel := context.WithTimeout(s.request.context(), storeWait)
			defer cancel()
			err = s.conn.Subscribe(ctx, topic, from)
		}
		return func() {
			if s.reply(err); err == nil {
				s.lastEvents = append(s.lastEvents, lastEvent{topic, time.Now()})
				s.noteState(topic, time.Now())
				s.heartbeat, s.grace = s.conn.Timing() // they depend on the kinds of its topics
				if s.pongs != nil {
					s.pongs.ttl = s.conn.TTL()
				}
				s.sendToken(before)
			}
		}
	}
}

// eventToken gives a page that beats a new token after the topics of its connection have changed: if a beat
// reaches another node, it renews the topics that its token names.
const eventToken presence.EventType = "token"

// token returns the connection's token if the page beats.
func (s *stream) token() presence.Token {
	if !s.beats {
		return ""
	}
	return s.conn.Token()
}

// sendToken sends the token if it has changed.
func (s *stream) sendToken(before presence.Token) {
	token := s.token()
	if token == before {
		return
	}
	data, _ := json.Marshal(struct { // a string: it cannot fail
		Connection presence.Token `json:"connection"`
	}{token})
	s.owed = s.form().Append(s.owed, presence.Event{Type: eventToken, Data: data})
}
