package handlers

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/gobwas/ws"

	"github.com/rollcall-go/rollcall/presence"
)

// A message is what a client says on a stream that it can speak on.
type message struct {
	Type   string          `json:"type"`
	Topic  string          `json:"topic"`
	Cursor presence.Cursor `json:"cursor"`
	Status string          `json:"status"`
}

// eventError answers a message that was not obeyed.
const eventError presence.EventType = "error"

// An errand is what waits for the store or the site to obey a message. It may
// run anywhere; meanwhile the stream's connection is not read. What it returns is
// for the driver.
type errand func() (after func())

// hear takes what the client sent, and obeys it, up to an errand. When that is
// done, call hear again, with nothing, for what came behind. An error ends the
// stream.
func (s *stream) hear(p []byte, now time.Time) (errand, error) {
	if s.unread != nil {
		p, s.unread = append(s.unread, p...), nil
	}
	for len(p) > 0 {
		text, answer, rest, err := s.take(p, now)
		if c, ok := asClosing(err); ok && c.code == ws.StatusPolicyViolation {
			s.h.counters.limited.Add(1)
		} else if ok && c.code == ws.StatusMessageTooBig {
			s.h.counters.tooLarge.Add(1)
		}
		if err != nil {
			return nil, err
		}
		s.answers = append(s.answers, answer...)
		if p = rest; text == nil {
			continue
		}
		if e := s.obey(text); e != nil {
			s.unread = bytes.Clone(p)
			return e, nil
		}
	}
	return nil, nil
}

// answer says why a message was not obeyed, if it was not.
func (s *stream) answer(err error) {
	if err == nil {
		return
	}
	p := s.h.explain(err)
	s.h.count(p)
	data, _ := json.Marshal(struct { // two strings: it cannot fail
		Title  string `json:"title"`
		Detail string `json:"detail"`
	}{p.Title, p.Detail})
	_, frame := s.framer()
	s.answers = frame(s.answers, presence.Event{Type: eventError, Data: data})
}

// obey does what a message says, or returns the errand that does.
func (s *stream) obey(text []byte) errand {
	var m message
	if err := json.Unmarshal(text, &m); err != nil {
		s.answer(badRequest(`A message is JSON such as {"type":"heartbeat"}.`))
		return nil
	}
	switch m.Type {
	case "heartbeat":
		s.conn.Beat()
		return nil
	case "status":
		return s.setStatus(m.Status)
	case "subscribe", "unsubscribe", "snapshot":
	default:
		s.answer(badRequest("The type of a message is heartbeat, status, subscribe, unsubscribe or snapshot."))
		return nil
	}
	topic, err := presence.ParseTopic(m.Topic)
	switch {
	case err != nil:
		s.answer(err)
	case m.Type == "subscribe" && !s.has(topic):
		return s.subscribe(topic, m.Cursor)
	case m.Type == "unsubscribe":
		before := s.token()
		s.conn.Unsubscribe(topic)
		s.silence = slices.DeleteFunc(s.silence, func(t topicSilence) bool { return t.topic == topic })
		s.renewed(before)
	case m.Type == "snapshot" && s.has(topic):
		s.snapshot(topic, time.Now())
	case m.Type == "snapshot":
		s.answer(notFound("This connection is not subscribed to that topic."))
	}
	return nil
}

func (s *stream) setStatus(status string) errand {
	return func() func() {
		ctx, cancel := context.WithTimeout(s.visit.context(), storeWait)
		defer cancel()
		err := s.h.setStatus(ctx, presence.VisitorFromContext(ctx), status)
		return func() { s.answer(err) }
	}
}

func (s *stream) subscribe(topic presence.Topic, from presence.Cursor) errand {
	return func() func() {
		before := s.token()
		var err error
		if !s.h.rights.allowed(s.visit, topic) {
			err = errForbidden()
		} else {
			ctx, cancel := context.WithTimeout(s.visit.context(), storeWait)
			defer cancel()
			err = s.conn.Subscribe(ctx, topic, from)
		}
		return func() {
			if s.answer(err); err == nil {
				s.silence = append(s.silence, topicSilence{topic, time.Now()})
				s.renewed(before)
			}
		}
	}
}

// eventToken gives a page that beats the new token of its connection, whose topics
// have changed: a beat that reaches another node renews the topics of the token.
const eventToken presence.EventType = "token"

// token returns the connection's token, of a page that beats.
func (s *stream) token() presence.Token {
	if !s.beats {
		return ""
	}
	return s.conn.Token()
}

// renewed sends the token if it has changed.
func (s *stream) renewed(before presence.Token) {
	token := s.token()
	if token == before {
		return
	}
	data, _ := json.Marshal(struct { // a string: it cannot fail
		Connection presence.Token `json:"connection"`
	}{token})
	_, frame := s.framer()
	s.answers = frame(s.answers, presence.Event{Type: eventToken, Data: data})
}

// has reports whether a topic is one of the stream's.
func (s *stream) has(topic presence.Topic) bool {
	return slices.ContainsFunc(s.silence, func(t topicSilence) bool { return t.topic == topic })
}
