package track

import "slices"

// A Group is a set of connections that one goroutine reads. It reports which of them
// may have something, whichever topics changed, with one wake-up for all of them. A
// connection belongs to one Group at a time; until [Group.Add] it has one of its own.
// The methods may be called concurrently, but for Add.
type Group struct{ wakes *wakeSet }

// NewGroup returns a Group without connections.
func NewGroup() *Group { return &Group{newWakeSet(false)} }

// Ready receives when Woken has something. It may receive once too often.
func (g *Group) Ready() <-chan struct{} { return g.wakes.ready }

// Add moves a connection into the group, and wakes it. A connection is added to one
// group, once. As with Events, the goroutine that reads the connection calls it.
func (g *Group) Add(c *Connection) {
	for _, s := range c.enterGroup(g.wakes) {
		s.from.outlet().move(s, g.wakes)
	}
	c.wake() // for what came before the move
}

// enterGroup has the group woken from now on, and returns the readers that are to be moved there.
func (c *Connection) enterGroup(g *wakeSet) []*reader {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.group = g
	return c.topics()
}

// Woken appends to buf the connections of the group that may have something to
// read, or that have ended, since the call before. A connection may be in it twice.
func (g *Group) Woken(buf []*Connection) []*Connection {
	g.wakes.take(func(ready []*reader) {
		all := slices.Grow(buf, len(ready))
		for _, s := range ready {
			all = append(all, s.owner.(*Connection))
		}
		buf = all
	}, func(awake []subscriber) {
		for _, s := range awake {
			buf = append(buf, s.(*Connection))
		}
	})
	return buf
}

// Written notes that what was read has been written to the readers, for
// [Stats].ScreenLag. It counts once, however many connections were written to, and costs
// nothing if no change was read since the call before. The goroutine that reads the group
// calls it.
func (g *Group) Written() { g.wakes.written() }

// Written is [Group.Written] for a connection in no group.
func (c *Connection) Written() {
	c.mu.Lock()
	g := c.group
	c.mu.Unlock()
	if g.solo {
		g.written()
	}
}

// wake has the connection looked at by the goroutine that reads it. It never blocks.
func (c *Connection) wake() {
	c.mu.Lock()
	g, joining := c.group, c.joining
	c.mu.Unlock()
	if joining != nil {
		joining.ready.Wake()
	}
	g.wake(c)
}

// setWoken implements subscriber.
func (c *Connection) setWoken(is bool) (was bool) {
	was, c.woken = c.woken, is
	return was
}
