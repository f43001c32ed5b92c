package presence

// Ready receives when Events may have something. It may receive once too often.
func (c *Connection) Ready() <-chan struct{} { return c.ready }

// wake never blocks.
func (c *Connection) wake() {
	select {
	case c.ready <- struct{}{}:
	default:
	}
}

// Events appends to buf all that the reader has not got yet, and returns it. It
// never blocks. At first that is, for each topic, the one diff since the cursor
// that the reader came with, or a state where none is known or the log does not
// reach back; then each diff; and a state again for a reader who was too slow.
// Where only guests or recent changed, it is a heartbeat.
func (c *Connection) Events(buf []Event) []Event {
	readers := c.topics()
	for i, s := range readers {
		c.frames = s.next(c.frames[:0], c.limit)
		for _, f := range c.frames {
			ev := f.Event
			ev.ID = joined(readers, i, ev.Cursor)
			buf = append(buf, ev)
		}
		clear(c.frames)
	}
	return buf
}

// Heartbeats appends a heartbeat event for each topic to buf, with the totals
// of now. Call it after Events, when it was silent for Config.Heartbeat.
func (c *Connection) Heartbeats(buf []Event) []Event {
	readers := c.topics()
	for i, s := range readers {
		if !s.started {
			continue
		}
		view := s.replica.view.Load()
		data := view.heartbeatData()
		if view.Cursor != s.cursor { // a diff came this moment: it goes first
			continue
		}
		buf = append(buf, Event{Type: EventHeartbeat, Topic: view.Topic, Cursor: s.cursor, ID: joined(readers, i, s.cursor), Data: data})
	}
	return buf
}

// Cursor returns the connection's cursor after the latest Events: of all its
// topics.
func (c *Connection) Cursor() Cursor { return joined(c.topics(), -1, "") }

// joined is the cursor of all readers, with that of one replaced.
func joined(readers []*reader, i int, with Cursor) Cursor {
	if len(readers) == 1 && i == 0 {
		return with
	}
	all := make([]Cursor, 0, len(readers))
	for j, s := range readers {
		if j == i {
			all = append(all, with)
		} else {
			all = append(all, s.cursor)
		}
	}
	return JoinCursors(all...)
}

// Snapshot makes the next Events begin a topic with a state. For a topic that is
// not of the connection it does nothing.
func (c *Connection) Snapshot(topic Topic) {
	for _, s := range c.topics() {
		if s.replica.topic == topic {
			s.started, s.from = false, ""
			c.wake()
		}
	}
}
