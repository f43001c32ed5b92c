package presence

// Ready receives when Events or Bytes may have something, and then not again
// before one of them was called, so that a burst costs a reader one waking. It may
// receive once too often. Of a connection in a [Group] it is the group's.
func (c *Connection) Ready() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.group.ready
}

// Events appends to buf what the reader has not got yet, and returns it. It
// never blocks. At first that is, for each topic, the one diff since the cursor
// that the reader came with, or a state where none is known or the log does not
// reach back; then each diff; and a state again for a reader who was too slow.
// Where only guests or recent changed, it is a heartbeat. A reader far behind
// gets about 64 KB of a topic, and Ready receives again.
func (c *Connection) Events(buf []Event) []Event {
	readers := c.topics()
	for i, s := range readers {
		piece := c.next(s, 0, nil)
		for _, f := range piece.all() {
			f.ID = joined(readers, i, f.Cursor)
			buf = append(buf, f.Event)
		}
	}
	return buf
}

// Bytes returns what Events would, as a transport sends it: of each event what
// put appends, and how many events that is. All who stand at the same place get
// the same bytes, made once, so they must not be changed; form, 0 or 1, stands for
// the transport in the whole program. That works for a connection of one topic:
// one of several has ids of its own, alone is false, and Events has its events.
func (c *Connection) Bytes(form int, put Framer) (b []byte, events int, alone bool) {
	readers := c.topics()
	if len(readers) != 1 {
		return nil, 0, false
	}
	p := c.next(readers[0], form, put)
	if p.beside != nil {
		return p.beside.form(form, put), 1, true
	}
	return p.bytes, p.n, true
}

// next returns what comes next of a topic.
func (c *Connection) next(s *reader, form int, put Framer) piece {
	p, more := s.next(c.limit, form, put)
	if more {
		c.wake()
	}
	return p
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
		if view.Cursor != s.cursor { // a diff came this moment: it goes first
			continue
		}
		ev := view.heartbeatEvent().Event
		ev.ID = joined(readers, i, s.cursor)
		buf = append(buf, ev)
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
