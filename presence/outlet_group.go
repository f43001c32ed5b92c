package presence

import "sync"

// A Group is connections that one goroutine reads: it learns which of them may
// have something, whichever topics changed, and is woken once for all of them. A
// connection belongs to one Group; [Connection.Ready] is a Group's for that
// connection alone. The methods may be called concurrently.
type Group struct {
	ready chan struct{}
	solo  bool // of one connection: nobody asks which

	mu      sync.Mutex
	changed []*audience // since the latest Woken, each once
	woken   []*Connection
	spare   struct { // the lists of the Woken before, for the next
		changed []*audience
		woken   []*Connection
	}
}

// An audience is those of a group's connections that read one topic.
type audience struct {
	group   *Group
	replica *replica

	// The replica's mutex guards these.
	readers []*reader
	place   int // among the replica's listening; negative: it was woken and has not looked since
}

// NewGroup returns a Group without connections.
func NewGroup() *Group { return &Group{ready: make(chan struct{}, 1)} }

// Ready receives when Woken has something. It may receive once too often.
func (g *Group) Ready() <-chan struct{} { return g.ready }

// newSolo returns the group of one connection.
func newSolo() *Group { return &Group{ready: make(chan struct{}, 1), solo: true} }

// Add moves a connection into the group, once, and wakes it. Like Events it is for
// the goroutine that reads the connection.
func (g *Group) Add(c *Connection) {
	c.mu.Lock()
	c.group = g
	readers := c.topics()
	c.mu.Unlock()
	for _, s := range readers {
		s.replica.move(s, g)
	}
	c.wake() // for what came before the move
}

// Woken appends to buf the connections of the group that may have something to
// read, or that have ended, since the call before. One may be in it twice.
func (g *Group) Woken(buf []*Connection) []*Connection {
	g.mu.Lock()
	changed, woken := g.changed, g.woken
	g.changed, g.woken = g.spare.changed, g.spare.woken
	g.spare.changed, g.spare.woken = nil, nil
	for _, c := range woken {
		c.woken = false
	}
	g.mu.Unlock()
	buf = append(buf, woken...)
	for _, a := range changed {
		a.replica.mu.Lock()
		a.replica.listen(a)
		for _, s := range a.readers {
			buf = append(buf, s.conn)
		}
		a.replica.mu.Unlock()
	}
	clear(changed)
	clear(woken)
	g.mu.Lock()
	g.spare.changed, g.spare.woken = changed[:0], woken[:0]
	g.mu.Unlock()
	return buf
}

// ring wakes whoever reads the group. It never blocks.
func (g *Group) ring() {
	select {
	case g.ready <- struct{}{}:
	default:
	}
}

// wake tells whoever reads the connection to look at it. It never blocks.
func (c *Connection) wake() {
	c.mu.Lock()
	g, joining := c.group, c.joining
	c.mu.Unlock()
	if joining != nil {
		joining.ring()
	}
	if !g.solo {
		g.mu.Lock()
		if !c.woken {
			c.woken = true
			g.woken = append(g.woken, c)
		}
		g.mu.Unlock()
	}
	g.ring()
}

// wake tells each group that listens that the topic changed. Whoever was told and
// has not looked yet is passed over, so that a burst costs no more than who keeps
// up with it. The caller holds the replica's mutex.
func (r *replica) wake() {
	for _, a := range r.listening {
		a.place = -1
		if !a.group.solo {
			a.group.mu.Lock()
			a.group.changed = append(a.group.changed, a)
			a.group.mu.Unlock()
		}
		a.group.ring()
	}
	clear(r.listening)
	r.listening = r.listening[:0]
}

// listen lets the next change wake an audience. The caller holds the replica's
// mutex, and looks at the topic after.
func (r *replica) listen(a *audience) {
	if a.place < 0 && len(a.readers) > 0 {
		a.place = len(r.listening)
		r.listening = append(r.listening, a)
	}
}

// ignore undoes listen.
func (r *replica) ignore(a *audience) {
	if a.place < 0 {
		return
	}
	last := len(r.listening) - 1
	r.listening[a.place] = r.listening[last]
	r.listening[a.place].place = a.place
	r.listening[last] = nil
	r.listening = r.listening[:last]
	a.place = -1
}

// attach makes a reader one of a group's that hear of the topic.
func (r *replica) attach(s *reader, g *Group) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.sit(s, g)
}

// detach undoes attach.
func (r *replica) detach(s *reader) {
	r.touch()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.rise(s)
}

// move takes a reader to another group, unless it was detached.
func (r *replica) move(s *reader, g *Group) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if s.audience != nil {
		r.rise(s)
		r.sit(s, g)
	}
}

func (r *replica) sit(s *reader, g *Group) {
	a := r.audiences[g]
	if a == nil {
		a = &audience{group: g, replica: r, place: -1}
		r.audiences[g] = a
	}
	s.audience, s.seat = a, len(a.readers)
	if a.readers = append(a.readers, s); s.seat == 0 {
		r.listen(a)
	}
}

func (r *replica) rise(s *reader) {
	a := s.audience
	if a == nil {
		return
	}
	last := len(a.readers) - 1
	a.readers[s.seat] = a.readers[last]
	a.readers[s.seat].seat = s.seat
	a.readers[last] = nil
	a.readers = a.readers[:last]
	if last == 0 {
		delete(r.audiences, a.group)
		r.ignore(a)
	}
	s.audience = nil
}
