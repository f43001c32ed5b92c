package presence

// A reader is where one connection stands in one topic. Its connection's
// mutex guards it.
type reader struct {
	replica *replica
	from    Cursor // where it comes from; read once
	started bool
	pos     uint64 // in the ring
	cursor  Cursor // what the connection has of the topic
	told    figures
}

// figures are what a heartbeat tells beside the total.
type figures struct {
	guests, recent int
	stale          bool
}

func (v *View) figures() figures { return figures{v.Guests, v.Recent, v.Stale} }

// newReader returns a reader that comes from a cursor. Until it has read, its
// version of the topic is the one that it came with.
func newReader(r *replica, from Cursor) *reader {
	s := &reader{replica: r, from: from}
	if id, ok := from.diffID(r.topic); ok {
		s.cursor = newCursor(r.topic, id)
	}
	return s
}

// next appends what the reader has not got yet. It never blocks on anything
// but memory. A reader gets, at first, the diff since its cursor or a state;
// then each frame; and a state when it fell out of the ring.
func (s *reader) next(buf []frame, limit int) []frame {
	r := s.replica
	r.mu.Lock()
	begin := len(buf)
	fresh := !s.started
	switch {
	case fresh && r.resume(s):
		buf = r.appendResumed(buf, s)
	case !fresh && r.ring.holds(s.pos):
		buf = append(buf, r.ring.after(s.pos)...)
	default:
		buf = append(buf, frame{Event: Event{Type: EventState, Topic: r.topic}})
		if !fresh {
			r.stats.resyncs.Add(1)
		}
	}
	s.started, s.pos, s.cursor = true, r.ring.end(), r.cursor
	view := r.view.Load()
	r.mu.Unlock()

	if len(buf) == begin && s.told != view.figures() {
		buf = append(buf, frame{Event: Event{Type: EventHeartbeat, Topic: r.topic, Cursor: s.cursor, Data: view.heartbeatData()}})
	}
	if len(buf) > begin && buf[begin].Type == EventState {
		buf[begin].Cursor, buf[begin].Data = view.Cursor, view.State(limit)
		buf[begin].view = view
	}
	if len(buf) > begin && buf[len(buf)-1].Type != EventDiff {
		s.told = view.figures()
	}
	return buf
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

// appendResumed appends the one diff that a reader missed, if it missed any; or
// the totals, where those are all that is told.
// All who come back from the same version share its encoding.
func (r *replica) appendResumed(buf []frame, s *reader) []frame {
	id, _ := s.from.diffID(r.topic)
	from := newCursor(r.topic, id)
	if from == r.cursor {
		return buf
	}
	if r.counting {
		return append(buf, r.countFrame(net{}))
	}
	pos, _ := r.history.position(id)
	f, ok := r.resumed[pos]
	if !ok {
		f = r.diffFrame(from, r.missedSince(pos))
		if r.resumed == nil {
			r.resumed = make(map[int]frame)
		}
		r.resumed[pos] = f
	}
	return append(buf, f)
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
