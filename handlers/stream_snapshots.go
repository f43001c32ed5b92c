package handlers

import (
	"time"

	"github.com/rollcall-go/rollcall/presence"
)

// snapshotPace is how often a client gets the state of a topic that it asks for over
// a WebSocket: a state of 1,000 users is thousands of times as large as the request.
const snapshotPace = time.Second

// snapshots are the states that a client has asked for lately.
type snapshots struct {
	sent map[presence.Topic]time.Time // when each was sent, within the pace
	owed map[presence.Topic]bool      // asked for again since
}

// snapshot has a topic begin with a state: at once, or where the last was sent a
// moment before, as soon as the pace allows. Requests until then are one.
func (s *stream) snapshot(topic presence.Topic, now time.Time) {
	if s.asked == nil {
		s.asked = &snapshots{make(map[presence.Topic]time.Time), make(map[presence.Topic]bool)}
	}
	if sent, ok := s.asked.sent[topic]; ok && now.Sub(sent) < snapshotPace {
		if s.asked.owed[topic] {
			s.h.counters.snapshots.Add(1)
		}
		s.asked.owed[topic] = true
		return
	}
	s.asked.sent[topic] = now
	s.conn.Snapshot(topic)
}

// snapshotsDue has those states sent that are owed and may be sent now.
func (s *stream) snapshotsDue(now time.Time) {
	for topic, sent := range s.asked.sent {
		if now.Sub(sent) < snapshotPace {
			continue
		}
		delete(s.asked.sent, topic)
		if s.asked.owed[topic] && s.has(topic) {
			s.asked.sent[topic] = now
			s.conn.Snapshot(topic)
		}
		delete(s.asked.owed, topic)
	}
	if len(s.asked.sent) == 0 {
		s.asked = nil
	}
}

// next returns when the next state is due, if that is before another moment.
func (a *snapshots) next(before time.Time) time.Time {
	for _, sent := range a.sent {
		if due := sent.Add(snapshotPace); due.Before(before) {
			before = due
		}
	}
	return before
}
