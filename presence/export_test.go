package presence

// ID returns the name of the connection among all nodes.
func (c *Connection) ID() Holder { return c.id }
