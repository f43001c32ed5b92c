package presence

import "slices"

// A reader is where one connection stands in one topic. It is for the goroutine that
// reads the connection, but for the fields that the replica's mutex guards.
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

// A piece is what a reader gets at once: what comes next in the log, or one event
// beside it. The zero value is nothing.
type piece struct {
	frames []frame // of the log, as they are
	bytes  []byte  // of the log, as a transport sends them
	n      int     // how many events bytes are
	beside *shared
}

// next returns what the reader gets now, frames if put is nil, and whether there
// is more. It never blocks on anything but memory. A reader gets, at first, the
// diff since its cursor or a state; then each frame; and a state when it fell out
// of the ring.
func (s *reader) next(limit, form int, put Framer) (p piece, more bool) {
	p, view, more := s.advance(limit, form, put)
	if p.empty() && s.told != view.figures() {
		p.beside, s.told = view.heartbeatEvent(), view.figures()
	}
	return p, more
}

// advance is next, but for the heartbeat that tells new figures alone. It also
// returns the latest View.
func (s *reader) advance(limit, form int, put Framer) (p piece, view *View, more bool) {
	r := s.replica
	r.mu.Lock()
	defer r.mu.Unlock()
	if a := s.audience; a != nil && a.group.solo {
		r.listen(a)
	}
	fresh := !s.started
	s.started = true
	resumes := fresh && r.resume(s) // this may publish
	view = r.view.Load()
	end := r.ring.end()
	last := EventHeartbeat
	bridged := false
	if resumes {
		p.beside, bridged = r.bridge(s, limit)
	}
	switch {
	case bridged:
		if p.beside != nil {
			last = p.beside.Type
		}
		s.pos, s.cursor = end, view.Cursor
	case !fresh && r.ring.holds(s.pos):
		if n := s.follow(&p, form, put); n > 0 {
			s.pos += uint64(n)
			latest := r.ring.frames[s.pos-r.ring.base-1]
			s.cursor, last = latest.Cursor, latest.Type
		}
	default:
		if !fresh {
			r.stats.resyncs.Add(1)
		}
		s.pos, s.cursor, s.told = end, view.Cursor, view.figures()
		return piece{beside: view.stateEvent(limit)}, view, false
	}
	if !p.empty() && last != EventDiff {
		s.told = view.figures()
	}
	return p, view, s.pos != end
}

// follow takes what comes next in the ring, and returns how much that is.
func (s *reader) follow(p *piece, form int, put Framer) int {
	ring := &s.replica.ring
	if put == nil {
		p.frames = slices.Clone(ring.after(s.pos))
		return len(p.frames)
	}
	p.n, p.bytes = ring.formedAfter(s.pos, form, put)
	return p.n
}

func (p *piece) empty() bool { return p.beside == nil && len(p.frames) == 0 && p.n == 0 }

// all returns the frames, of a piece that holds no bytes.
func (p *piece) all() []frame {
	if p.beside != nil {
		return []frame{p.beside.frame}
	}
	return p.frames
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

// maxBridge is the most changes, before they are merged, that a reader who comes back
// gets as a diff, if they are also more than its state would hold.
const maxBridge = 1000

// bridge returns the one diff that a reader missed, nil if it missed nothing; or the
// totals, where only those are told. It returns false where a state is the better
// answer: it is smaller, or the roster does not agree with the history. All who come
// back from the same version share the diff.
func (r *replica) bridge(s *reader, limit int) (*shared, bool) {
	id, _ := s.from.diffID(r.topic)
	from := newCursor(r.topic, id)
	if from == r.cursor {
		return nil, true
	}
	if r.counting {
		return newShared(r.countFrame(net{})), true
	}
	pos, _ := r.history.position(id)
	if diff := r.resumed[pos]; diff != nil {
		return diff, true
	}
	if r.history.size(pos, r.published) > max(maxBridge, 2*min(limit, r.roster.byID.Len())) {
		return nil, false
	}
	missed, ok := r.missedSince(pos)
	if !ok {
		r.resync(true)
		return nil, false
	}
	diff := newShared(r.diffFrame(from, missed))
	if r.resumed == nil {
		r.resumed = make(map[int]*shared)
	}
	r.resumed[pos] = diff
	return diff, true
}

// missedSince is what a reader at a position of the history missed, as the
// roster has it now. A user who left and came back meanwhile is in it, for the new
// Since. It returns false where the roster lacks a user whom the history has.
func (r *replica) missedSince(pos int) (net, bool) {
	n := r.history.between(pos, r.published)
	for i, e := range n.joins {
		if n.joins[i] = r.roster.get(e.ID); n.joins[i] == nil {
			return net{}, false
		}
	}
	for _, was := range n.stayed {
		e := r.roster.get(was.ID)
		if e == nil {
			return net{}, false
		}
		if !e.Since.Equal(was.Since) {
			n.joins = append(n.joins, e)
		}
	}
	return n, true
}
