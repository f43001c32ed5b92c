package track

import "github.com/rollcall-go/rollcall/presence"

// Ready returns a channel that receives when Events or Bytes may return something. It receives once until one
// of them is called, so a burst of events wakes a reader once. It may receive although there is nothing. For
// a connection in a [Group] it is the group's channel.
func (c *Connection) Ready() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.group.ready
}

// Events appends to buf the events that the connection has not read yet, and returns it. It never blocks. For
// each topic, the first call returns one diff since the cursor with which the connection was opened, or a
// state if the log does not reach back to it. Later calls return each diff, or a state if the connection fell
// behind the log, or a heartbeat if only guests or recent changed. A connection far behind gets about 64 KB
// of a topic at once, and Ready receives again.
func (c *Connection) Events(buf []presence.Event) []presence.Event {
	if c.quiet() {
		return buf
	}
	readers := c.topics()
	for i, s := range readers {
		d := c.next(s, nil)
		for _, f := range d.all() {
			if f.Type != presence.EventSignal {
				f.ID = joined(readers, i, f.Cursor)
			}
			buf = append(buf, f.Event)
		}
	}
	return buf
}

// Bytes returns the encoding of what Events would return, in a form, and the number of events. Connections at
// the same cursor share the bytes, which are encoded once: do not change them. It works only for a connection
// with one topic. For any other, alone is false and nothing was read: call Events instead.
func (c *Connection) Bytes(form *Form) (b []byte, events int, alone bool) {
	readers := c.topics()
	if len(readers) != 1 {
		return nil, 0, false
	}
	if c.quiet() {
		return nil, 0, true
	}
	d := c.next(readers[0], form)
	c.onlySignals = d.onlySignals
	if d.single != nil {
		return d.single.encodedAs(form), 1, true
	}
	for _, f := range d.frames { // the form is a variant, so nothing is encoded yet
		b = form.Append(b, f.Event)
	}
	if len(d.frames) > 0 {
		return b, len(d.frames), true
	}
	return d.bytes, d.n, true
}

// OnlySignals reports whether the latest Bytes returned signals and no other events. A page that does not
// know signals sees nothing then, and still needs heartbeats.
func (c *Connection) OnlySignals() bool { return c.onlySignals }

// next returns what a reader gets now. If there is more, it wakes the connection again.
func (c *Connection) next(s *reader, form *Form) chunk {
	d, more := s.next(c.limit, form)
	if more {
		c.wake()
	}
	return d
}

// Heartbeats appends a heartbeat event for each topic to buf, with the current totals,
// and returns it. Call it after Events returned nothing for Config.Heartbeat.
func (c *Connection) Heartbeats(buf []presence.Event) []presence.Event {
	readers := c.topics()
	for i, s := range readers {
		if !s.started {
			continue
		}
		view := s.from.latest()
		if c.unseen {
			ev := s.heartbeatAt(view)
			ev.ID = joined(readers, i, s.cursor)
			buf = append(buf, ev)
			continue
		}
		if w, ok := view.(waiter); ok && s.waits {
			ev := w.waitingEvent().Event
			ev.ID = joined(readers, i, s.cursor)
			buf = append(buf, ev)
			continue
		}
		if v, ok := view.(*windowView); ok && v.turn != s.turn || !ok && view.cursor() != s.cursor { // a diff has just come, and must be sent before
			continue
		}
		ev := s.heartbeat(view).Event
		ev.ID = joined(readers, i, s.cursor)
		buf = append(buf, ev)
	}
	return buf
}

// Standing appends to buf a signal event for each topic in which signals stand, and returns it.
func (c *Connection) Standing(buf []presence.Event) []presence.Event {
	for _, s := range c.topics() {
		from, ok := s.from.(stander)
		if !ok || !s.started {
			continue
		}
		if e := s.from.outlet().standing(from); e != nil {
			buf = append(buf, e.Event)
		}
	}
	return buf
}

// Cursor returns the connection's cursor after the latest Events, for all its topics.
func (c *Connection) Cursor() presence.Cursor { return joined(c.topics(), -1, "") }

// joined is the cursor of all readers, with the one of reader i replaced.
func joined(readers []*reader, i int, with presence.Cursor) presence.Cursor {
	if len(readers) == 1 && i == 0 {
		return with
	}
	all := make([]presence.Cursor, 0, len(readers))
	for j, s := range readers {
		if j == i {
			all = append(all, with)
		} else {
			all = append(all, s.cursor)
		}
	}
	return presence.JoinCursors(all...)
}

// WantState makes the next Events begin with a state of a topic. It is a no-op if the
// connection does not have the topic.
func (c *Connection) WantState(topic presence.Topic) {
	for _, s := range c.topics() {
		if s.topic() == topic {
			s.started, s.resume = false, ""
			c.wake()
		}
	}
}
