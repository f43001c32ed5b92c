package handlers

import (
	"time"

	"github.com/rollcall-go/rollcall/presence"
)

// silence is the topics of a stream, and when each last had an event.
type silence []topicSilence

type topicSilence struct {
	topic presence.Topic
	since time.Time
}

func newSilence(topics []presence.Topic, now time.Time) silence {
	s := make(silence, len(topics))
	for i, t := range topics {
		s[i] = topicSilence{t, now}
	}
	return s
}

// topics returns the topics.
func (s silence) topics() []presence.Topic {
	topics := make([]presence.Topic, len(s))
	for i, t := range s {
		topics[i] = t.topic
	}
	return topics
}

// broken notes that each topic had an event.
func (s silence) broken(now time.Time) {
	for i := range s {
		s[i].since = now
	}
}

// brokenIn notes that a topic had an event. Topics are few, so a search will do.
func (s silence) brokenIn(topic presence.Topic, now time.Time) {
	for i := range s {
		if s[i].topic == topic {
			s[i].since = now
		}
	}
}

// brokenSince notes that each topic that was silent since due had an event.
func (s silence) brokenSince(due, now time.Time) {
	for i := range s {
		if !s[i].since.After(due) {
			s[i].since = now
		}
	}
}

// since returns when a topic last had an event.
func (s silence) since(topic presence.Topic) time.Time {
	for _, t := range s {
		if t.topic == topic {
			return t.since
		}
	}
	return time.Time{}
}

// longest returns when the longest silence began: now, where there is no topic.
func (s silence) longest(now time.Time) time.Time {
	first := now
	for _, t := range s {
		if t.since.Before(first) {
			first = t.since
		}
	}
	return first
}
