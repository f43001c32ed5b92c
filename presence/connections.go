package presence

import "time"

// connections are this node's open connections, by id and by user. The
// tracker's mutex guards them.
type connections struct {
	byID   map[Holder]*Connection
	byUser map[UserID]map[*Connection]struct{}
}

func newConnections() connections {
	return connections{
		byID:   make(map[Holder]*Connection),
		byUser: make(map[UserID]map[*Connection]struct{}),
	}
}

func (cs *connections) add(c *Connection) {
	cs.byID[c.id] = c
	if id := c.visitor.User.ID; id != "" {
		if cs.byUser[id] == nil {
			cs.byUser[id] = make(map[*Connection]struct{})
		}
		cs.byUser[id][c] = struct{}{}
	}
}

func (cs *connections) remove(c *Connection) {
	delete(cs.byID, c.id)
	id := c.visitor.User.ID
	delete(cs.byUser[id], c)
	if len(cs.byUser[id]) == 0 {
		delete(cs.byUser, id)
	}
}

// of returns a user's connections.
func (cs *connections) of(user UserID) []*Connection {
	all := make([]*Connection, 0, len(cs.byUser[user]))
	for c := range cs.byUser[user] {
		all = append(all, c)
	}
	return all
}

// all returns every connection.
func (cs *connections) all() []*Connection {
	all := make([]*Connection, 0, len(cs.byID))
	for _, c := range cs.byID {
		all = append(all, c)
	}
	return all
}

// heldSince reports whether a connection opened at or after a moment, or being
// opened, holds the user online.
func (cs *connections) heldSince(user UserID, since time.Time) bool {
	for c := range cs.byUser[user] {
		if c.holds() && (c.opened.IsZero() || !c.opened.Before(since)) {
			return true
		}
	}
	return false
}
