package track

import (
	"context"
	"encoding/json"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
)

// unseen is the set of readers whose pages nobody can see. No event wakes them.
var unseen = &wakeSet{quiet: true}

// Hide says whether anybody can see the page, such as a tab behind others. While nobody can, Events
// returns nothing, and the connection is woken by no event. The first Events after that has one diff a
// topic of all that was missed, as for a connection that comes back with its cursor. Signals of
// that time are lost, but for those that stand. The user stays online meanwhile.
func (c *Connection) Hide(hidden bool) {
	if c.hidden.Swap(hidden) != hidden {
		c.wake()
	}
}

// Hidden returns what Hide was called with.
func (c *Connection) Hidden() bool { return c.hidden.Load() }

// quiet settles what Hide said, and reports whether there is nothing to read. The goroutine that reads the
// connection calls it.
func (c *Connection) quiet() bool {
	hidden := c.hidden.Load()
	switch {
	case hidden:
		for _, s := range c.topics() { // also one that came since
			s.from.outlet().move(s, unseen)
		}
	case c.unseen:
		c.mu.Lock()
		group := c.group
		c.mu.Unlock()
		for _, s := range c.topics() {
			s.from.outlet().move(s, group)
			s.resumeHere()
		}
	}
	c.unseen = hidden
	return hidden
}

// resumeHere has the reader go on from its cursor as if it had come back just now.
func (s *reader) resumeHere() {
	if _, pulls := s.from.(puller); s.started && !s.waits && !pulls {
		s.started, s.resume = false, s.cursor
	}
}

// heartbeatAt returns a heartbeat for a reader that has missed what its source told since.
func (s *reader) heartbeatAt(view sourceView) presence.Event {
	if v, ok := view.(*View); ok {
		return v.eventAt(presence.EventHeartbeat, s.cursor).Event
	}
	if v, ok := view.(*windowView); ok {
		return v.heartbeatAt(s.cursor).Event
	}
	data := append(appendHead(nil, s.topic(), s.cursor), '}')
	return alone(presence.Event{Type: presence.EventHeartbeat, Topic: s.topic(), Cursor: s.cursor, Data: data})
}

// A hiding is what a page said of itself to a node that does not have its connection.
type hiding struct {
	Connection presence.Holder `json:"connection"`
	Hidden     bool            `json:"hidden"`
}

// hideElsewhere tells the node of a claim's connection whether its page can be seen.
func (t *tokens) hideElsewhere(ctx context.Context, c claim, hidden bool) error {
	payload, _ := json.Marshal(hiding{c.id, hidden}) // strings and a bool: it cannot fail
	return t.notices.publish(ctx, backend.Notice{Kind: backend.NoticeHidden, User: c.user, Payload: string(payload)})
}

// hearHidden takes what hideElsewhere told.
func (t *tokens) hearHidden(n backend.Notice) {
	var said hiding
	if json.Unmarshal([]byte(n.Payload), &said) != nil {
		return
	}
	if c := t.users.connection(said.Connection); c != nil && c.visitor.User.ID == n.User {
		c.conn.Hide(said.Hidden)
	}
}
