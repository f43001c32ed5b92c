package handlers

import (
	"time"

	"github.com/rollcall-go/rollcall/presence"
)

// snapshotPace is the least time between two states of a topic that a client asks for
// over a WebSocket: a state of 1,000 users is thousands of times as large as the request.
const snapshotPace = time.Second

// snapshots are the states that a client has asked for lately.
type snapshots struct {
	sent map[presence.Topic]time.Time // when each state was sent, within the last snapshotPace
	owed map[presence.Topic]bool      // topics whose state was asked for again since
}

// snapshot makes a state the next event of a topic: at once, or as soon as the pace
// allows. Requests until then are answered by that state too.
func (s *stream) snapshot(topic presence.Topic, now time.Time) {
	if s.snapshots == nil {
		s.snapshots = &snapshots{make(map[presence.Topic]time.Time), make(map[presence.Topic]bool)}
	}
	if sent, ok := s.snapshots.sent[topic]; ok && now.Sub(sent) < snapshotPace {
		if s.snapshots.owed[topic] {
			s.streams.counters.snapshots.Add(1)
		}
		s.snapshots.owed[topic] = true
		return
	}
	s.snapshots.sent[topic] = now
	s.conn.WantState(topic)
}

// sendDueSnapshots makes the owed states that may be sent now the next events.
func (s *stream) sendDueSnapshots(now time.Time) {
	for topic, sent := range s.snapshots.sent {
		if now.Sub(sent) < snapshotPace {
			continue
		}
		delete(s.snapshots.sent, topic)
		if s.snapshots.owed[topic] && s.lastEvents.has(topic) {
			s.snapshots.sent[topic] = now
			s.conn.WantState(topic)
		}
		delete(s.snapshots.owed, topic)
	}
	if len(s.snapshots.sent) == 0 {
		s.snapshots = nil
	}
}

// next returns when the next state is due, but not after before.
func (a *snapshots) next(before time.Time) time.Time {
	for _, sent := range a.sent {
		if due := sent.Add(snapshotPace); due.Before(before) {
			before = due
		}
	}
	return before
}
