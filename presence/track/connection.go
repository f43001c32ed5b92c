package track

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"time"

	"github.com/rollcall-go/rollcall/presence"
)

// A Connection is one live stream: it holds its user online in its topics, and reads the events there.
// Whoever opens a Connection must close it.
//
// Events, Bytes, OnlySignals, Heartbeats, Cursor, Subscribe, Unsubscribe and WantState are for one goroutine
// at a time. The other methods may be called concurrently.
type Connection struct {
	holder
	env          *connectionEnv
	watches      func(presence.Topic) bool // ConnectOptions.Observed
	limit        int
	window       Window
	from         string      // ConnectOptions.From
	pullStanding bool        // ConnectOptions.PullStanding
	hidden       atomic.Bool // see Hide
	woken        bool        // is in its group's list of woken connections; Group.mu guards it

	// The goroutine that reads the connection owns these fields.
	everJoined  bool // the leases of its device were made
	unseen      bool // its readers are in the set called unseen
	onlySignals bool // see OnlySignals

	mu      connectionMutex
	group   *wakeSet // woken when there is something to read
	joining *wakeSet // also woken, while the connection waits for its own join
	end     connectionEnd
}

// A connectionEnd says how a connection ended.
type connectionEnd struct {
	err  error         // nil while the connection is open
	done chan struct{} // closed once the connection has ended; nil: Done was not called
	over bool          // the leases are released, and done, if there is one, is closed
	lost time.Time     // when the client that vanished last proved that it was alive; zero: it did not vanish
}

// reads reports whether the connection reads a topic.
func (c *Connection) reads(topic presence.Topic) bool {
	return slices.ContainsFunc(c.topics(), func(s *reader) bool { return s.topic() == topic })
}

// Has reports whether the connection has a topic. With ConnectOptions.Partial it may lack some.
func (c *Connection) Has(topic presence.Topic) bool { return c.reads(topic) }

// Done returns a channel that is closed when the server ended the connection; Err says why.
func (c *Connection) Done() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.end.done == nil {
		c.end.done = make(chan struct{})
		if c.end.over {
			close(c.end.done)
		}
	}
	return c.end.done
}

// Err returns nil while the connection is open. Then it returns [presence.ErrSignedOut],
// [presence.ErrClosed], [presence.ErrStale], or, after Close or Drop, context.Canceled.
func (c *Connection) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.end.err
}

// Beat renews the leases, because the page is alive. It returns false if the connection
// has ended: its page connects again.
func (c *Connection) Beat() bool {
	c.env.attention.proved(&c.holder)
	alive := c.env.leases.renew(&c.holder)
	if alive && c.holds() {
		c.env.stats.beatsByStream.Add(1)
	}
	return alive
}

// Close releases the leases: the user stays for the grace. It may be called
// twice, and after the connection ended by itself.
func (c *Connection) Close() { c.finish(context.Canceled, graced) }

// Drop ends the leases at once, without the grace.
func (c *Connection) Drop() { c.finish(context.Canceled, dropped) }

// An ending says what becomes of a user when a page ends that held the user.
type ending uint8

const (
	graced  ending = iota // the user stays for the grace
	dropped               // the user leaves at once
	leaving               // so, and is seen to leave: by a sign-out, which is a proof of life
	givenUp               // the client left while the page was being opened: as graced, if the join was written
)

// endVisits tells the nodes that hold the user for the page's beats that the connection has ended: see visit. They may not have
// been able to tell that there are beats: so a page that left one out here may have visits too.
func (c *Connection) endVisits() {
	if heartbeat, _ := c.timing(); c.strays.Load() || time.Since(c.lastProof()) > heartbeat+heartbeat/2 {
		c.env.tokens.tellLeft(c.visitor.User.ID, c.id)
	}
}

// finish ends the connection, once. It returns the topics in which the connection held its user.
func (c *Connection) finish(why error, how ending) []presence.Topic {
	c.mu.Lock()
	if c.end.err != nil {
		c.mu.Unlock()
		return nil
	}
	c.end.err = why
	c.mu.Unlock()

	if c.silence != nil {
		c.silence.Stop()
	}
	topics := c.heldTopics()
	defer c.env.guests.left(&c.holder, true, errors.Is(why, presence.ErrClosed), c.enteredTopics()...)
	c.env.users.remove(&c.holder, topics)
	if len(topics) > 0 {
		c.env.attention.look(c.visitor.User.ID)
	}
	c.endsLife()
	for _, s := range c.topics() {
		s.close()
	}
	for _, topic := range topics {
		c.releaseAtEnd(topic, how)
	}
	c.endVisits()
	c.mu.Lock()
	c.end.over = true
	if c.end.done != nil {
		close(c.end.done)
	}
	c.mu.Unlock()
	c.wake()
	return topics
}
