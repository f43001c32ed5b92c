package handlers

import (
	"context"
	"encoding/json"
	"slices"
	"time"

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

// hear does what a message says, or answers why not.
func (s *stream) hear(ctx context.Context, text []byte) {
	ctx, cancel := context.WithTimeout(ctx, storeWait)
	defer cancel()
	err := s.obey(ctx, text)
	if err == nil {
		return
	}
	p := s.h.explain(err)
	data, _ := json.Marshal(struct { // two strings: it cannot fail
		Title  string `json:"title"`
		Detail string `json:"detail"`
	}{p.Title, p.Detail})
	s.to.write(s.to.frame(nil, eventError, "", data)) // the next turn finds out if the client has gone
}

func (s *stream) obey(ctx context.Context, text []byte) error {
	var m message
	if err := json.Unmarshal(text, &m); err != nil {
		return badRequest(`A message is JSON such as {"type":"heartbeat"}.`)
	}
	switch m.Type {
	case "heartbeat":
		s.conn.Beat()
		return nil
	case "status":
		return s.h.setStatus(ctx, presence.VisitorFromContext(s.r.Context()), m.Status)
	case "subscribe", "unsubscribe", "snapshot":
	default:
		return badRequest("The type of a message is heartbeat, status, subscribe, unsubscribe or snapshot.")
	}
	topic, err := presence.ParseTopic(m.Topic)
	if err != nil {
		return err
	}
	switch m.Type {
	case "subscribe":
		return s.subscribe(ctx, topic, m.Cursor)
	case "unsubscribe":
		s.unsubscribe(topic)
	case "snapshot":
		if !s.has(topic) {
			return notFound("This connection is not subscribed to that topic.")
		}
		s.conn.Snapshot(topic)
	}
	return nil
}

func (s *stream) subscribe(ctx context.Context, topic presence.Topic, from presence.Cursor) error {
	if s.has(topic) {
		return nil
	}
	if err := s.h.permit(s.r, topic); err != nil {
		return err
	}
	if err := s.conn.Subscribe(ctx, topic, from); err != nil {
		return err
	}
	s.silence = append(s.silence, topicSilence{topic, time.Now()})
	return nil
}

func (s *stream) unsubscribe(topic presence.Topic) {
	s.conn.Unsubscribe(topic)
	s.silence = slices.DeleteFunc(s.silence, func(t topicSilence) bool { return t.topic == topic })
}

// has reports whether a topic is one of the stream's.
func (s *stream) has(topic presence.Topic) bool {
	return slices.ContainsFunc(s.silence, func(t topicSilence) bool { return t.topic == topic })
}
