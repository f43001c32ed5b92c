package presence

// A reader is where one connection stands in one topic. Its connection's
// mutex guards it.
type reader struct {
	conn    *Connection
	replica *replica
	from    Cursor // where it comes from; read once
	started bool
	pos     uint64 // in the ring
	cursor  Cursor // what the connection has of the topic
	told    figures

	// The replica's mutex guards these.
	audience *audience // nil: not attached
	seat     int       // among the audience's readers
}

// figures are what a heartbeat tells beside the total.
type figures struct {
	guests, recent int
	stale          bool
}

func (v *View) figures() figures { return figures{v.Guests, v.Recent, v.Stale} }

// newReader returns a reader that comes from a cursor. Until it has read, its
// version of the topic is the one that it came with.
func newReader(c *Connection, r *replica, from Cursor) *reader {
	s := &reader{conn: c, replica: r, from: from}
	if id, ok := from.diffID(r.topic); ok {
		s.cursor = newCursor(r.topic, id)
	}
	return s
}

// next returns what the reader gets now, nil for nothing, and whether there is
// more. It never blocks on anything but memory. A reader gets, at first, the diff
// since its cursor or a state; then each frame; and a state when it fell out of
// the ring.
func (s *reader) next(limit int) (run *Run, more bool) {
	r := s.replica
	r.mu.Lock()
	view, end := r.view.Load(), r.ring.end()
	fresh := !s.started
	s.started = true
	switch {
	case fresh && r.resume(s):
		run, view, end = r.resumedRun(s), r.view.Load(), r.ring.end() // it may have published
		s.pos, s.cursor = end, view.Cursor
	case !fresh && r.ring.holds(s.pos):
		if run = r.ring.after(s.pos); run != nil {
			s.pos, s.cursor = s.pos+uint64(run.Len()), run.last().Cursor
		}
	default:
		s.pos, s.cursor = end, view.Cursor
		if !fresh {
			r.stats.resyncs.Add(1)
		}
		r.mu.Unlock()
		s.told = view.figures()
		return view.stateRun(limit), false
	}
	r.mu.Unlock()
	if run == nil {
		if s.told == view.figures() {
			return nil, false
		}
		run = view.heartbeatRun()
	}
	if run.last().Type != EventDiff {
		s.told = view.figures()
	}
	return run, s.pos != end
}

// resume reports whether the history reaches back to where a reader comes
// from. A reader from a node that was ahead makes this one publish.
func (r *replica) resume(s *reader) bool {
	id, ok := s.from.diffID(r.topic)
	if !ok {
		return false
	}
	pos, ok := r.history.position(id)
	if !ok || r.inDoubt && !r.history.local(pos) {
		return false
	}
	if pos > r.published {
		r.cut()
	}
	s.told = figures{guests: -1} // what a page showed is not known
	return true
}

// resumedRun returns the one diff that a reader missed, nil if it missed none; or
// the totals, where those are all that is told. All who come back from the same
// version share it.
func (r *replica) resumedRun(s *reader) *Run {
	id, _ := s.from.diffID(r.topic)
	from := newCursor(r.topic, id)
	if from == r.cursor {
		return nil
	}
	if r.counting {
		return newRun(r.countFrame(net{}))
	}
	pos, _ := r.history.position(id)
	run := r.resumed[pos]
	if run == nil {
		run = newRun(r.diffFrame(from, r.missedSince(pos)))
		if r.resumed == nil {
			r.resumed = make(map[int]*Run)
		}
		r.resumed[pos] = run
	}
	return run
}

// missedSince is what a reader at a position of the history missed, as the
// roster has it now. Who left and came back meanwhile is in it, for the new
// Since.
func (r *replica) missedSince(pos int) net {
	n := r.history.between(pos, r.published)
	for i, e := range n.joins {
		n.joins[i] = r.roster.get(e.ID)
	}
	for _, was := range n.stayed {
		if e := r.roster.get(was.ID); !e.Since.Equal(was.Since) {
			n.joins = append(n.joins, e)
		}
	}
	return n
}
