package handlers

import (
	"slices"
	"time"

	"github.com/rollcall-go/rollcall/presence"
)

// lastEvents has the time of each topic's last event. Signals do not count: a page that does not know signals
// would take a stream that has only signals for dead. Topics are few, so it is searched from the beginning.
type lastEvents []lastEvent

type lastEvent struct {
	topic presence.Topic
	at    time.Time
}

// newLastEvents returns lastEvents with now as the time of each topic's last event.
func newLastEvents(topics []presence.Topic, now time.Time) lastEvents {
	l := make(lastEvents, len(topics))
	for i, t := range topics {
		l[i] = lastEvent{t, now}
	}
	return l
}

// topics returns the topics.
func (l lastEvents) topics() []presence.Topic {
	topics := make([]presence.Topic, len(l))
	for i, t := range l {
		topics[i] = t.topic
	}
	return topics
}

// has reports whether a topic is one of the stream's.
func (l lastEvents) has(topic presence.Topic) bool {
	return slices.ContainsFunc(l, func(t lastEvent) bool { return t.topic == topic })
}

// setAll notes an event of each topic.
func (l lastEvents) setAll(now time.Time) {
	for i := range l {
		l[i].at = now
	}
}

// set notes an event of one topic.
func (l lastEvents) set(topic presence.Topic, now time.Time) {
	for i := range l {
		if l[i].topic == topic {
			l[i].at = now
		}
	}
}

// setQuiet notes an event of each topic whose last event was at limit or before.
func (l lastEvents) setQuiet(limit, now time.Time) {
	for i := range l {
		if !l[i].at.After(limit) {
			l[i].at = now
		}
	}
}

// of returns when a topic last had an event.
func (l lastEvents) of(topic presence.Topic) time.Time {
	for _, t := range l {
		if t.topic == topic {
			return t.at
		}
	}
	return time.Time{}
}

// oldest returns the earliest time, or now for a stream without topics.
func (l lastEvents) oldest(now time.Time) time.Time {
	first := now
	for _, t := range l {
		first = earliest(first, t.at)
	}
	return first
}
