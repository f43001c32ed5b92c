package presence

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// ConnectOptions say who connects to what.
type ConnectOptions struct {
	Visitor Visitor // a user is held online in the topics; a guest is counted
	Topics  []Topic // at least one; a repeated one counts once
	Cursor  Cursor  // where the reader comes from; empty: it wants states
	Observe bool    // watch without being held or counted
	Beat    bool    // only calls of Beat keep it alive, not the open connection
	Idle    bool    // nobody is at the page: see Tracker.Attend
	Limit   int     // users in a state. Default: 100
}

// A Connection is one live stream: it holds its user online in its topics, and
// reads what happens there. Events, Bytes, Heartbeats, Cursor, WantState, Subscribe and
// Unsubscribe are for one goroutine at a time; the other methods may be called
// concurrently. Whoever opens one closes it.
type Connection struct {
	id      Holder
	tracker *Tracker
	visitor Visitor
	observe bool
	beat    bool
	idle    atomic.Bool // nobody is at its page
	limit   int
	opened  time.Time // zero until the leases are made; the tracker's mutex guards it
	woken   bool      // is among its group's woken, whose mutex guards it

	// The readers are replaced, under mu, and never changed. What is in one is for the
	// goroutine that calls Events.
	readers atomic.Pointer[[]*reader]

	mu      sync.Mutex
	group   *Group // woken when there is something
	joining *Group // woken too, while the connection waits for its own join
	err     error
	ended   bool
	done    chan struct{} // closed once all of it has ended; nil: nobody asked
	over    bool
}

// topics returns the readers, one a topic.
func (c *Connection) topics() []*reader { return *c.readers.Load() }

// Connect opens a connection. A user's leases are made before it returns, and
// seen in the rosters here, so that the first state holds the user; it waits
// for that about as long as the store needs, two seconds at most, and then goes
// on without.
//
// It returns [ErrInvalidTopic] without a topic, [ErrTooManyTopics], [ErrTooManyConnections], an error that is
// [ErrInvalidUser], [ErrStoreOut] where nothing is known of a topic,
// [ErrClosed], or the error of ctx. Then nothing was recorded, unless ctx ended while
// the store was being told: then the user stays for the grace.
func (t *Tracker) Connect(ctx context.Context, o ConnectOptions) (*Connection, error) {
	topics := slices.Compact(slices.Sorted(slices.Values(o.Topics)))
	if len(topics) == 0 {
		return nil, fmt.Errorf("%w: there is none", ErrInvalidTopic)
	}
	if len(topics) > t.cfg.MaxTopicsPerConnection {
		return nil, ErrTooManyTopics
	}
	if o.Visitor.SignedIn() {
		if err := o.Visitor.User.Validate(); err != nil {
			return nil, err
		}
	}
	o.Visitor.User, o.Visitor.Guest = o.Visitor.User.clone(), strings.Clone(o.Visitor.Guest)
	c := &Connection{
		id: t.newHolder(), tracker: t, visitor: o.Visitor,
		observe: o.Observe || o.Visitor.User.Hidden, beat: o.Beat, limit: o.Limit,
		group: newSolo(),
	}
	c.idle.Store(o.Idle)
	if c.limit <= 0 {
		c.limit = 100
	}
	wait, cancel := context.WithTimeout(ctx, connectWait)
	defer cancel()
	readers := make([]*reader, 0, len(topics))
	for _, topic := range topics {
		r, err := t.replica(wait, topic)
		if err != nil {
			return nil, err
		}
		readers = append(readers, newReader(c, r, o.Cursor))
	}
	c.readers.Store(&readers)
	if err := t.awaitSecret(wait); err != nil { // or the connection could have no token
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		t.stats.aborted.Add(1)
		return nil, err
	}
	if err := t.open(c); err != nil {
		return nil, err
	}
	c.join(wait, c.topics()...)
	if c.holds() {
		t.attend(topics[0], c.visitor.User.ID, o.Idle)
	}
	t.mu.Lock()
	c.opened = time.Now()
	t.mu.Unlock()
	if err := ctx.Err(); err != nil {
		t.stats.aborted.Add(1)
		c.finish(context.Canceled, opGiveUp)
		return nil, err
	}
	c.wake()
	return c, nil
}

// awaitSecret waits until tokens can be signed: for a moment, where the node has just
// started.
func (t *Tracker) awaitSecret(ctx context.Context) error {
	select {
	case <-t.seal.known:
		return nil
	default:
	}
	select {
	case <-t.seal.known:
		return nil
	case <-ctx.Done():
		return ErrStoreOut
	case <-t.life.Done():
		return ErrClosed
	}
}

// open registers a connection.
func (t *Tracker) open(c *Connection) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return ErrClosed
	}
	most := t.cfg.MaxConnectionsPerUser
	if most > 0 && len(t.connections.byUser[c.visitor.User.ID]) >= most && c.visitor.SignedIn() {
		t.stats.refused.Add(1)
		return ErrTooManyConnections
	}
	t.connections.add(c)
	if c.visitor.SignedIn() {
		t.stats.sessions.observe(int64(len(t.connections.byUser[c.visitor.User.ID])))
	}
	for _, s := range c.topics() {
		s.from.outlet().attach(s, c.group)
	}
	return nil
}

// Done is closed when the connection was ended from our side; Err says why.
func (c *Connection) Done() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.done == nil {
		c.done = make(chan struct{})
		if c.over {
			close(c.done)
		}
	}
	return c.done
}

// Err returns nil while the connection is open, [ErrSignedOut], [ErrClosed], or
// context.Canceled after Close or Drop.
func (c *Connection) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}

// Beat proves that the page is alive. It returns false if the connection has
// ended: its page connects again.
func (c *Connection) Beat() bool { return c.renew(OpHeartbeat) }

// renew applies OpHeartbeat or OpFollow to each of the connection's leases.
func (c *Connection) renew(kind OpKind) bool {
	if c.Err() != nil {
		return false
	}
	topics := c.heldTopics()
	if kind == OpFollow && len(topics) > 0 {
		c.tracker.followed(c)
	}
	for _, topic := range topics {
		c.tracker.writer.add(topic, Op{Kind: kind, User: User{ID: c.visitor.User.ID}, Holder: c.id, For: c.tracker.cfg.TTL})
	}
	return true
}

// Close releases the leases: the user stays for the grace. It may be called
// twice, and after the connection ended by itself.
func (c *Connection) Close() { c.finish(context.Canceled, OpRelease) }

// Drop ends the leases at once, without the grace.
func (c *Connection) Drop() { c.finish(context.Canceled, OpDrop) }

// opGiveUp ends a connection whose opener has gone: a join that still waits is taken
// back, and one that may have been written is released.
const opGiveUp OpKind = 0

// finish ends the connection once, and returns the topics in which it held its
// user until now.
func (c *Connection) finish(why error, kind OpKind) []Topic {
	c.mu.Lock()
	if c.ended {
		c.mu.Unlock()
		return nil
	}
	c.ended, c.err = true, why
	c.mu.Unlock()

	t := c.tracker
	topics := c.heldTopics()
	t.mu.Lock()
	t.connections.remove(c)
	for _, topic := range topics {
		t.past.release(c, topic, cmp.Or(kind, OpRelease))
		t.past.void(c.visitor.User.ID, c.opened)
	}
	t.mu.Unlock()
	for _, s := range c.topics() {
		s.from.outlet().detach(s)
	}
	for _, topic := range topics {
		c.release(topic, kind)
	}
	c.mu.Lock()
	c.over = true
	if c.done != nil {
		close(c.done)
	}
	c.mu.Unlock()
	c.wake()
	return topics
}
