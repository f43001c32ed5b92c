package presence

import (
	"context"
	"slices"
)

// Subscribe adds a topic to an open connection, as if it had been opened with the topic and
// that cursor. It is a no-op for a topic that the connection has. It returns
// [ErrTooManyTopics], [ErrTooManyTopicsHere], [ErrStoreOut], [ErrClosed], or why the
// connection has ended; then nothing was recorded. It waits as Connect does.
func (c *Connection) Subscribe(ctx context.Context, topic Topic, from Cursor) error {
	had := c.topics()
	if c.reads(topic) {
		return nil
	}
	if len(had) >= c.tracker.cfg.MaxTopicsPerConnection {
		return ErrTooManyTopics
	}
	wait, cancel := context.WithTimeout(ctx, connectWait)
	defer cancel()
	r, err := c.tracker.topics.loaded(wait, topic)
	if err != nil {
		return err
	}
	s := newReader(c, r, from)
	c.mu.Lock()
	if c.end.err != nil {
		c.mu.Unlock()
		return c.Err()
	}
	now := append(slices.Clip(had), s)
	c.readers.Store(&now)
	g := c.group
	c.mu.Unlock()
	r.attach(s, g)
	if c.Err() != nil { // it ended meanwhile, perhaps before it was attached
		r.detach(s)
		return c.Err()
	}
	c.join(wait, s)
	c.wake()
	return nil
}

// Unsubscribe removes a topic from the connection, and holds its user there for the grace.
// It is a no-op for a topic that the connection does not have.
func (c *Connection) Unsubscribe(topic Topic) {
	c.mu.Lock()
	readers := c.topics()
	i := slices.IndexFunc(readers, func(s *reader) bool { return s.replica.topic == topic })
	if i < 0 || c.end.err != nil {
		c.mu.Unlock()
		return
	}
	s := readers[i]
	readers = slices.Delete(slices.Clone(readers), i, i+1)
	c.readers.Store(&readers)
	if c.holds() {
		c.release(topic, OpRelease)
	}
	c.mu.Unlock()
	if c.holds() {
		c.tracker.people.release(c, topic)
	}
	s.replica.detach(s)
}
