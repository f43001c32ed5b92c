package track

import (
	"context"
	"encoding/json"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
)

// unseen is the set of readers whose pages nobody can see. Events do not wake them.
var unseen = &wakeSet{quiet: true}

// Hide says whether the page is hidden, such as a tab behind others. While it is, Events returns nothing, and
// no event wakes the connection. The first Events after that has one diff for each topic, with all changes
// that were missed, as for a connection that resumes from its cursor. Signals are lost meanwhile, except
// standing ones. The user stays online.
func (c *Connection) Hide(hidden bool) {
	if c.hidden.Swap(hidden) != hidden {
		c.wake()
	}
}

// Hidden returns the latest argument of Hide.
func (c *Connection) Hidden() bool { return c.hidden.Load() }

// quiet applies the latest Hide, and reports whether there is nothing to read. The goroutine that reads the
// connection calls it.
func (c *Connection) quiet() bool {
	hidden := c.hidden.Load()
	switch {
	case hidden:
		for _, s := range c.topics() { // also in topics that were added since
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

// resumeHere makes the reader resume from its cursor as if it had just connected.
func (s *reader) resumeHere() {
	if _, pulls := s.from.(puller); s.started && !s.waits && !pulls {
		s.started, s.resume = false, s.cursor
	}
}

// heartbeatAt returns a heartbeat at the reader's cursor, although its source has later versions.
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

// A hiding is the payload of a NoticeHidden: it is sent by a node that does not have the page's connection.
type hiding struct {
	Connection presence.Holder `json:"connection"`
	Hidden     bool            `json:"hidden"`
}

// hideElsewhere tells the node that has a claim's connection whether the page is hidden.
func (t *tokens) hideElsewhere(ctx context.Context, c claim, hidden bool) error {
	payload, _ := json.Marshal(hiding{c.id, hidden}) // strings and a bool: it cannot fail
	return t.notices.publish(ctx, backend.Notice{Kind: backend.NoticeHidden, User: c.user, Payload: string(payload)})
}

// hearHidden applies a notice of hideElsewhere.
func (t *tokens) hearHidden(n backend.Notice) {
	var said hiding
	if json.Unmarshal([]byte(n.Payload), &said) != nil {
		return
	}
	if c := t.users.connection(said.Connection); c != nil && c.visitor.User.ID == n.User {
		c.conn.Hide(said.Hidden)
	}
}
