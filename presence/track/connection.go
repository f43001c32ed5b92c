package track

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
)

// ConnectOptions say whose connection it is, and what it reads.
type ConnectOptions struct {
	Visitor presence.Visitor // a user is held online in the topics; a guest is counted
	Topics  []presence.Topic // at least one; a repeated topic counts once
	// Identified is when the visitor's identity was read, see [presence.IdentifiedAt]: who signed out
	// since is refused. Default: when Connect is called.
	Identified time.Time
	Cursor     presence.Cursor // the versions that the reader has; empty: it wants states
	Observe    bool            // the visitor is neither held online nor counted
	// Observed reports whether the visitor only watches a topic, and is neither held online
	// nor counted there: the visitor may see the topic and not enter it. It is asked once
	// for each topic of the connection, also for one that is subscribed later. It must not
	// block. nil: the visitor enters every topic.
	Observed func(presence.Topic) bool
	Beat     bool // only calls of Beat renew the leases, not the open connection itself
	Idle     bool // nobody is at the page: see [Page]
	Limit    int  // users in a state. Default: 100

	// From says where the client is, such as its address. While many topics are kept here, one
	// place cannot take most of the room: see [Config].MaxTopics. Empty: it is not known.
	From string

	// Partial opens the connection without the topics for which this node has no room, unless
	// that is all of them: see [Connection.Has].
	Partial bool

	// PullStanding keeps the signals that stand when a topic is opened out of Events: the reader
	// asks for them with [Connection.Standing].
	PullStanding bool

	// People and Contacts are whom the connection watches, if Topics has "people" and the
	// site has a [Config.Directory]: these users, and with Contacts those whom the visitor
	// lists. Together at most MaxWatched.
	People   []presence.UserID
	Contacts bool
}

// A Connection is one live stream: it holds its user online in its topics, and reads what
// happens there. Whoever opens one closes it.
//
// Events, Bytes, OnlySignals, Heartbeats, Cursor, Subscribe, Unsubscribe and WantState are for one
// goroutine at a time. The other methods may be called concurrently.
type Connection struct {
	id           presence.Holder
	tracker      *Tracker
	visitor      presence.Visitor
	observe      bool                      // the visitor enters no topic
	watches      func(presence.Topic) bool // ConnectOptions.Observed
	beat         atomic.Bool               // calls of Beat alone renew the leases
	limit        int
	from         string       // ConnectOptions.From
	pullStanding bool         // ConnectOptions.PullStanding
	idle         atomic.Bool  // nobody is at its page
	watched      *watchWanted // whom it is to watch, until PeopleTopic is opened
	beaten       atomic.Int64 // when the page of a connection with beat last proved that it is alive, in Unix nanoseconds

	// The slice is replaced with mu held, and never changed. The content of a reader is for
	// the goroutine that reads the connection.
	readers atomic.Pointer[[]*reader]

	identified time.Time // when its visitor was, or the page that joined last; users.mu guards it
	opened     time.Time // when the leases were made, zero until then; users.mu guards it
	leased     bool      // the operations that make leases were given to the writer; users.mu guards it
	saidIdle   bool      // what the leases say of the page: see attention; users.mu guards it
	saidAt     moment    // when that was written; zero: it is to be written again; users.mu guards it
	turn       uint32    // when its leases are renewed: see turnOf
	woken      bool      // is in its group's list of woken connections; Group.mu guards it

	// For the goroutine that reads the connection.
	everJoined  bool // its device is held
	onlySignals bool // see OnlySignals

	mu      connectionMutex
	group   *Group // woken when there is something to read
	joining *Group // woken too, while the connection waits for its own join
	end     connectionEnd

	guestSignedIn bool // since the connection was opened: it no longer counts the guest
}

// A connectionEnd says how a connection ended.
type connectionEnd struct {
	err  error         // nil while the connection is open
	done chan struct{} // closed once the connection has ended; nil: nobody asked for it
	over bool          // the leases are released: done is, or would be, closed
	lost time.Time     // when the client that vanished last proved that it was alive; zero: it did not vanish
}

// topics returns the readers, one a topic.
func (c *Connection) topics() []*reader { return *c.readers.Load() }

// reads reports whether the connection has a topic.
func (c *Connection) reads(topic presence.Topic) bool {
	return slices.ContainsFunc(c.topics(), func(s *reader) bool { return s.topic() == topic })
}

// Has reports whether the connection has a topic: with ConnectOptions.Partial it may lack some.
func (c *Connection) Has(topic presence.Topic) bool { return c.reads(topic) }

// Connect opens a connection. Before it returns, the user's leases are made and seen in
// the rosters here, so that the first state holds the user. Connect waits for that as long
// as the store needs, two seconds at most, and then goes on without it.
//
// It returns [presence.ErrInvalidTopic] without a topic, [presence.ErrTooManyTopics],
// [presence.ErrTooManyTopicsHere], [presence.ErrTooManyConnections], [presence.ErrBarred], [presence.ErrSignedOut] if the user signed out since ConnectOptions.Identified, an error that is [presence.ErrInvalidUser],
// [presence.ErrGuest] or [presence.ErrTooManyPeople] for [presence.PeopleTopic], [presence.ErrStoreOut] if nothing is known of a topic, or if
// so much waits for the store that it takes no more of the user, [presence.ErrClosed], or the error of ctx. Then
// nothing was recorded, except if ctx ended while the leases were being made: then the
// user stays for the grace.
func (t *Tracker) Connect(ctx context.Context, o ConnectOptions) (*Connection, error) {
	topics := slices.Compact(slices.Sorted(slices.Values(o.Topics)))
	if len(topics) == 0 {
		return nil, fmt.Errorf("%w: there is none", presence.ErrInvalidTopic)
	}
	if len(topics) > t.cfg.MaxTopicsPerConnection {
		return nil, presence.ErrTooManyTopics
	}
	if o.Visitor.SignedIn() {
		if err := o.Visitor.User.ValidateInside(); err != nil {
			return nil, err
		}
		if t.acts.bars(o.Visitor.User.ID) {
			return nil, presence.ErrBarred
		}
	}
	if !o.Observe && t.hasNoRoomFor(o.Visitor.User) {
		return nil, presence.ErrStoreOut
	}
	o.Visitor.User, o.Visitor.Guest = o.Visitor.User.Clone(), strings.Clone(o.Visitor.Guest)
	o.Visitor.Browser = knownBrowser(o.Visitor.Browser)
	o.Visitor.Device = t.devices.held(o.Visitor.User.ID, o.Visitor.Device, t.users.admitDevice)
	c := &Connection{
		id: newHolder(t.process), tracker: t, visitor: o.Visitor,
		observe: o.Observe || o.Visitor.User.Hidden, watches: o.Observed, limit: o.Limit, from: o.From, pullStanding: o.PullStanding,
		group: newSolo(),
	}
	c.turn = turnOf(c.id, topics)
	if t.directory.on() {
		c.watched = &watchWanted{o.People, o.Contacts}
	}
	c.idle.Store(o.Idle)
	c.beat.Store(o.Beat)
	c.beaten.Store(time.Now().UnixNano())
	if c.limit <= 0 {
		c.limit = 100
	}
	if c.identified = o.Identified; c.identified.IsZero() {
		c.identified = time.Now()
	}
	wait, cancel := context.WithTimeout(ctx, connectWait)
	defer cancel()
	readers, opened := make([]*reader, 0, len(topics)), false
	defer func() {
		c.watched = nil
		for _, s := range readers {
			if !opened {
				endSource(s.from)
			}
		}
	}()
	var full error
	for _, topic := range topics {
		from, err := t.sources.open(wait, topic, c, o.Cursor)
		if o.Partial && errors.Is(err, presence.ErrTooManyTopicsHere) {
			full = err
			continue
		}
		if err != nil {
			return nil, err
		}
		readers = append(readers, newReader(c, from, o.Cursor))
	}
	if len(readers) == 0 {
		return nil, full
	}
	c.readers.Store(&readers)
	if err := t.seal.await(wait, t.life.ctx); err != nil { // without the secret there is no token
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		t.stats.aborted.Add(1)
		return nil, err
	}
	ofUser, err := t.users.open(c)
	if err != nil {
		if errors.Is(err, presence.ErrTooManyConnections) {
			t.stats.refused.Add(1)
		}
		if t.acts.bars(c.visitor.User.ID) { // which also signed the user out
			err = presence.ErrBarred
		}
		return nil, err
	}
	opened = true                       // finish ends the sources
	if t.acts.bars(c.visitor.User.ID) { // since a moment ago: the sign-out did not find the connection
		c.finish(presence.ErrBarred, backend.OpDrop)
		return nil, presence.ErrBarred
	}
	if ofUser > 0 {
		t.stats.sessions.observe(int64(ofUser))
	}
	t.attention.opened(c)
	joining := time.Now()
	c.join(wait, c.topics()...)
	t.users.setOpened(c)
	if time.Since(joining) > c.TTL()/10 { // its page counts from now until its first beat
		c.renew(backend.OpHeartbeat)
	}
	if err := ctx.Err(); err != nil {
		t.stats.aborted.Add(1)
		c.finish(context.Canceled, opGiveUp)
		return nil, err
	}
	c.wake()
	return c, nil
}

// hasNoRoomFor reports whether so much waits for the store that a user opens no more connections,
// until it is back: what they leave has to be kept.
func (t *Tracker) hasNoRoomFor(user presence.User) bool {
	return user.ID != "" && (t.writer.full(user.ID) || user.Status == "" && t.choices.full(user.ID))
}

// newProcess names a process of a node. A node that starts again under its name is another
// process, on which the connections of the earlier one do not hang (rule 23).
func newProcess(node string) string {
	var id [3]byte
	rand.Read(id[:])
	return node + "." + base64.RawURLEncoding.EncodeToString(id[:])
}

// newHolder names a connection: by its process, and by 96 random bits, so that nobody can
// guess the name of another's.
func newHolder(process string) presence.Holder {
	var id [12]byte
	rand.Read(id[:])
	return presence.Holder(process + "." + base64.RawURLEncoding.EncodeToString(id[:]))
}

// Done is closed when the connection was ended from our side; Err says why.
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

// Err returns nil while the connection is open, and then [presence.ErrSignedOut], [presence.ErrClosed],
// [presence.ErrStale], or context.Canceled after Close or Drop.
func (c *Connection) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.end.err
}

// Beat renews the leases, because the page is alive. It returns false if the connection
// has ended: its page connects again.
func (c *Connection) Beat() bool {
	alive := c.renew(backend.OpHeartbeat)
	c.proved()
	if alive && c.holds() {
		c.tracker.stats.beatsByStream.Add(1)
	}
	return alive
}

// proved notes that the page is alive. After a silence it counts again, with what it said of
// itself before.
func (c *Connection) proved() {
	now := time.Now()
	last := time.Unix(0, c.beaten.Swap(now.UnixNano()))
	if c.beat.Load() && now.Sub(last) >= c.TTL() {
		c.tracker.attention.look(c.visitor.User.ID)
	}
}

// reassert renews the leases, each for as long as the latest proof of life says, or a quarter
// of the TTL longer: a store takes heartbeats of one length together. After an outage in which
// leases may have expired, a user who is still shown here keeps the lease of a page that has been
// silent for longer: it may beat at other nodes, and sends a beat that failed again only after
// ten seconds.
func (c *Connection) reassert() {
	if c.Err() != nil {
		return
	}
	doubt := c.tracker.outage.leasesMayHaveExpired()
	for _, topic := range c.heldTopics() {
		ttl := c.tracker.cfg.ttl(topic)
		left := ttl
		if c.beat.Load() {
			left -= time.Since(time.Unix(0, c.beaten.Load())).Truncate(ttl / 4)
		}
		if left <= 0 && doubt && c.tracker.topics.shown(topic, c.member(topic)) != "" {
			left = ttl
		}
		if left > 0 {
			c.tracker.writer.add(topic, backend.Op{Kind: backend.OpHeartbeat, User: presence.User{ID: c.member(topic)}, Holder: c.id, For: left})
		}
	}
}

// renew applies OpHeartbeat or OpFollow to each of the connection's leases.
func (c *Connection) renew(kind backend.OpKind) bool {
	if c.Err() != nil {
		return false
	}
	topics := c.heldTopics()
	if kind == backend.OpFollow && len(topics) > 0 {
		c.tracker.users.joinedHere(c)
	}
	for _, topic := range topics {
		c.tracker.writer.add(topic, backend.Op{Kind: kind, User: presence.User{ID: c.member(topic)}, Holder: c.id, For: c.tracker.cfg.ttl(topic)})
	}
	return true
}

// Close releases the leases: the user stays for the grace. It may be called
// twice, and after the connection ended by itself.
func (c *Connection) Close() { c.finish(context.Canceled, backend.OpRelease) }

// Drop ends the leases at once, without the grace.
func (c *Connection) Drop() { c.finish(context.Canceled, backend.OpDrop) }

// opGiveUp ends a connection whose client left while it opened: a join that still waits
// is removed, and one that may have been written is released.
const opGiveUp backend.OpKind = 0

// opLeave ends a connection whose user left by a sign-out: at once, and as a proof of life.
const opLeave = ^backend.OpKind(0)

// finish ends the connection, once, and returns the topics in which it held its user until
// now.
func (c *Connection) finish(why error, kind backend.OpKind) []presence.Topic {
	c.mu.Lock()
	if c.end.err != nil {
		c.mu.Unlock()
		return nil
	}
	c.end.err = why
	c.mu.Unlock()

	topics := c.heldTopics()
	c.tracker.users.remove(c, topics, cmp.Or(kind, backend.OpRelease))
	if len(topics) > 0 {
		c.tracker.attention.look(c.visitor.User.ID)
	}
	c.tracker.lastSeen.closed(c)
	for _, s := range c.topics() {
		s.close()
	}
	for _, topic := range topics {
		c.releaseAtEnd(topic, kind)
	}
	c.mu.Lock()
	c.end.over = true
	if c.end.done != nil {
		close(c.end.done)
	}
	c.mu.Unlock()
	c.wake()
	return topics
}
