package track

import (
	"context"
	"slices"

	"github.com/rollcall-go/rollcall/presence"
)

// Subscribe adds a topic to an open connection, as if it had been opened with the topic and
// that cursor. It is a no-op for a topic that the connection has. It returns
// [presence.ErrTooManyTopics], [presence.ErrTooManyTopicsHere], [presence.ErrStoreOut], [presence.ErrClosed], or why the
// connection has ended; then nothing was recorded. It waits as Connect does.
func (c *Connection) Subscribe(ctx context.Context, topic presence.Topic, from presence.Cursor) error {
	had := c.topics()
	if c.reads(topic) {
		return nil
	}
	if len(had) >= c.env.cfg.MaxTopicsPerConnection {
		return presence.ErrTooManyTopics
	}
	if !c.observe && c.env.hasNoRoomFor(c.visitor.User) {
		return presence.ErrStoreOut
	}
	wait, cancel := context.WithTimeout(ctx, connectWait)
	defer cancel()
	opened, err := c.env.sources.open(wait, topic, opening{visitor: c.visitor, from: c.from, window: c.window}, from)
	if err != nil {
		return err
	}
	s, err := c.addReader(opened, from)
	if err != nil {
		return err
	}
	c.env.attention.proved(&c.holder) // the page asked for it
	c.env.leases.renew(&c.holder)
	c.join(wait, s)
	c.wake()
	return nil
}

// addReader makes the connection read one more source, from a cursor on. It returns an error if the
// connection has ended.
func (c *Connection) addReader(from source, resume presence.Cursor) (*reader, error) {
	s := c.newReader(from, resume)
	c.mu.Lock()
	if c.end.err != nil {
		c.mu.Unlock()
		endSource(from)
		return nil, c.Err()
	}
	now := append(slices.Clip(c.topics()), s)
	c.readers.Store(&now)
	g := c.group
	c.mu.Unlock()
	from.outlet().attach(s, g)
	if err := c.Err(); err != nil { // it may have ended before the reader was attached
		s.close()
		return nil, err
	}
	return s, nil
}

// newReader returns a reader of a source for the connection. Only in rosters does the connection hold its
// user, or count its guest.
func (c *Connection) newReader(from source, resume presence.Cursor) *reader {
	s := newReader(c, from, resume)
	s.pulls = c.pullStanding
	s.enters = rosterOf(s) != nil && !c.observe && (c.watches == nil || !c.watches(s.topic()))
	return s
}

// rosterOf returns the replica that a reader reads, nil for a source of another kind.
func rosterOf(s *reader) *replica {
	switch from := s.from.(type) {
	case *replica:
		return from
	case *windowSource:
		return from.in.of.(*replica)
	}
	return nil
}

// Unsubscribe removes a topic from the connection, and holds its user there for the grace.
// It is a no-op for a topic that the connection does not have.
func (c *Connection) Unsubscribe(topic presence.Topic) {
	c.mu.Lock()
	readers := c.topics()
	i := slices.IndexFunc(readers, func(s *reader) bool { return s.topic() == topic })
	if i < 0 || c.end.err != nil {
		c.mu.Unlock()
		return
	}
	s := readers[i]
	readers = slices.Delete(slices.Clone(readers), i, i+1)
	c.readers.Store(&readers)
	c.mu.Unlock()
	switch {
	case c.visitor.SignedIn() && s.enters:
		c.env.leases.release(&c.holder, topic, graced, c.env.cfg.grace(topic))
		c.env.users.release(&c.holder, topic)
	case s.enters:
		c.env.guests.left(&c.holder, false, false, topic)
	}
	s.close()
}
