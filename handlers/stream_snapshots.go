package handlers

import (
	"time"

	"github.com/rollcall-go/rollcall/internal/gate"
	"github.com/rollcall-go/rollcall/presence"
)

// snapshotPace is the least time between two states of a topic that a client asks for over a WebSocket, by a
// message snapshot or by subscribing again: a state of 1,000 users is thousands of times as large as the request.
const snapshotPace = time.Second

// snapshots are the states that a client has asked for lately.
type snapshots struct {
	sent map[presence.Topic]time.Time // when each state was sent or put off, within the last snapshotPace
	owed map[presence.Topic]bool      // topics whose state was asked for again since
}

// snapshot makes a state the next event of a topic: at once, or as soon as the pace and the visitor's account
// allow. Requests until then are answered by that state too.
func (s *stream) snapshot(topic presence.Topic, now time.Time) {
	if s.stateIn(topic, now) == 0 && s.pays(gate.Token) {
		s.noteState(topic, now)
		s.conn.WantState(topic)
		return
	}
	if s.stateIn(topic, now) == 0 {
		s.noteState(topic, now) // it is tried again a pace later
	}
	if s.snapshots.owed[topic] {
		s.streams.counters.snapshots.Add(1)
	}
	s.snapshots.owed[topic] = true
}

// stateIn returns how long the next state of a topic must wait.
func (s *stream) stateIn(topic presence.Topic, now time.Time) time.Duration {
	if s.snapshots == nil {
		return 0
	}
	return max(0, s.snapshots.sent[topic].Add(snapshotPace).Sub(now))
}

// noteState notes that a state of a topic is sent now.
func (s *stream) noteState(topic presence.Topic, now time.Time) {
	if s.snapshots == nil {
		s.snapshots = &snapshots{make(map[presence.Topic]time.Time), make(map[presence.Topic]bool)}
	}
	s.snapshots.sent[topic], s.unpaid = now, true
}

// sendDueSnapshots makes the owed states that may be sent now the next events.
func (s *stream) sendDueSnapshots(now time.Time) {
	due := s.snapshots
	for topic := range due.sent {
		if s.stateIn(topic, now) > 0 {
			continue
		}
		owed := due.owed[topic] && s.lastEvents.has(topic)
		delete(due.sent, topic)
		delete(due.owed, topic)
		if owed {
			s.snapshot(topic, now)
		}
	}
	if len(due.sent) == 0 {
		s.snapshots = nil
	}
}

// next returns when the next state is due, but not after before.
func (a *snapshots) next(before time.Time) time.Time {
	for _, sent := range a.sent {
		before = earliest(before, sent.Add(snapshotPace))
	}
	return before
}
