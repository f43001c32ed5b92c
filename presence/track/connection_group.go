package track

import "slices"

// A Group is a set of connections that one goroutine reads. One channel wakes the goroutine for all of them,
// and [Group.Woken] lists the connections that may have something to read. A connection belongs to one Group
// at a time, and to one of its own until [Group.Add]. The methods may be called concurrently, except for Add.
type Group struct{ wakes *wakeSet }

// NewGroup returns a Group without connections.
func NewGroup() *Group { return &Group{newWakeSet(false)} }

// Ready returns a channel that receives when Woken may return something.
func (g *Group) Ready() <-chan struct{} { return g.wakes.ready }

// Add moves a connection into the group, and wakes it. A connection may be added to one group, once. Call it
// in the goroutine that reads the connection.
func (g *Group) Add(c *Connection) {
	for _, s := range c.enterGroup(g.wakes) {
		s.from.outlet().move(s, g.wakes)
	}
	c.wake() // events may have come before the move
}

// enterGroup makes events wake the group from now on, and returns the readers that must be moved into it.
func (c *Connection) enterGroup(g *wakeSet) []*reader {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.group = g
	return c.topics()
}

// Woken appends to buf the connections of the group that may have something to read, or have ended, since the
// previous call. A connection may be in it twice.
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

// wake makes the goroutine that reads the connection look at it. It never blocks.
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
