package track

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/rollcall-go/rollcall/presence"
)

// ConnectOptions say whose connection it is, and what it reads.
type ConnectOptions struct {
	Visitor presence.Visitor // a user is held online in the topics; a guest is counted
	Topics  []presence.Topic // at least one; a repeated topic counts once
	// Identified is when the visitor's identity was read: see [presence.IdentifiedAt]. A user who signed out
	// after that is refused. Default: when Connect is called.
	Identified time.Time
	Cursor     presence.Cursor // the versions that the reader has; empty: it wants states
	Observe    bool            // the visitor is neither held online nor counted
	// Observed reports whether the visitor only watches a topic, and is neither held online
	// nor counted there: the visitor may see the topic and not enter it. It is asked once
	// for each topic of the connection, also for one that is subscribed later. It must not
	// block. nil: the visitor enters every topic.
	Observed func(presence.Topic) bool
	Beat     bool   // only calls of Beat renew the leases, not the open connection itself
	Idle     bool   // nobody is at the page: see [Page]
	Limit    int    // users in a state. Default: 100
	Window   Window // the part of each roster that is read, in place of Limit. Default: the whole

	// From says where the client is, such as its address. While many topics are kept here, connections from
	// one address cannot take most of the room: see [Config].MaxTopics. Empty: unknown.
	From string

	// Partial opens the connection without those topics for which this node has no room: see
	// [Connection.Has]. If there is room for none of them, Connect fails.
	Partial bool

	// PullStanding leaves the signals that stand when a topic is opened out of Events. The reader gets them
	// with [Connection.Standing].
	PullStanding bool

	// People and Contacts say whom the connection watches, if Topics has "people" and the site has a
	// [Config.Directory]: the users in People, and with Contacts also those on the visitor's contact list.
	// Together at most MaxWatched.
	People   []presence.UserID
	Contacts bool
}

// connectionEnv has the parts of a tracker that connections need. All connections share it.
type connectionEnv struct {
	cfg       *Config
	life      *lifetime
	stats     *counters
	outage    *outage
	writer    *writer
	users     *users
	topics    *topics
	tokens    *tokens
	sources   *sources
	seal      *seal
	choices   *choices
	attention *attention
	leases    *leases
	guests    *guestCounts
	lastSeen  *lastSeen
	people    bool // the site has people: connections hold devices
}

// An opener opens connections.
type opener struct {
	env     *connectionEnv
	process string
	acts    *acts
	devices *deviceRoster
}

// open is [Tracker.Connect].
func (o *opener) open(ctx context.Context, with ConnectOptions) (*Connection, error) {
	topics := slices.Compact(slices.Sorted(slices.Values(with.Topics)))
	if len(topics) == 0 {
		return nil, fmt.Errorf("%w: there is none", presence.ErrInvalidTopic)
	}
	if len(topics) > o.env.cfg.MaxTopicsPerConnection {
		return nil, presence.ErrTooManyTopics
	}
	if with.Visitor.SignedIn() {
		if err := with.Visitor.User.ValidateInside(); err != nil {
			return nil, err
		}
		if o.acts.bars(with.Visitor.User.ID) {
			return nil, presence.ErrBarred
		}
	}
	if !with.Observe && o.env.hasNoRoomFor(with.Visitor.User) {
		return nil, presence.ErrStoreOut
	}
	with.Visitor.User, with.Visitor.Guest, with.Visitor.Passing = with.Visitor.User.Clone(), strings.Clone(with.Visitor.Guest), strings.Clone(with.Visitor.Passing)
	with.Visitor.Browser = knownBrowser(with.Visitor.Browser)
	with.Visitor.Device = o.env.users.deviceOf(o.devices, with.Visitor.User.ID, with.Visitor.Device)
	c := &Connection{
		holder: holder{cfg: o.env.cfg, visitor: with.Visitor, observe: with.Observe || with.Visitor.User.Hidden, people: o.env.people},
		env:    o.env, watches: with.Observed, limit: with.Limit, window: with.Window.sorted(), from: with.From, pullStanding: with.PullStanding,
		group: newWakeSet(true),
	}
	source := opening{visitor: c.visitor, from: c.from, window: c.window}
	if o.env.people {
		source.watch = &watchWanted{with.People, with.Contacts}
	}
	c.idle.Store(with.Idle)
	c.beat.Store(with.Beat)
	c.beaten.Store(time.Now().UnixNano())
	if c.limit <= 0 {
		c.limit = 100
	}
	if c.held.identified = with.Identified; c.held.identified.IsZero() {
		c.held.identified = time.Now()
	}
	c.id, c.conn = newHolder(o.process, c.visitor.Browser, c.held.identified), c
	if c.visitor.SignedIn() && !c.observe {
		o.env.choices.askEarly(c.visitor.User.ID)
	}
	wait, cancel := context.WithTimeout(ctx, connectWait)
	defer cancel()
	readers, opened := make([]*reader, 0, len(topics)), false
	defer func() {
		for _, s := range readers {
			if !opened {
				endSource(s.from)
			}
		}
	}()
	var full error
	for _, topic := range topics {
		from, err := o.env.sources.open(wait, topic, source, with.Cursor)
		if with.Partial && errors.Is(err, presence.ErrTooManyTopicsHere) {
			full = err
			continue
		}
		if err != nil {
			return nil, err
		}
		readers = append(readers, c.newReader(from, with.Cursor))
	}
	if len(readers) == 0 {
		return nil, full
	}
	c.readers.Store(&readers)
	c.turn = turnOf(c.id, readers)
	if with.Beat && c.visitor.SignedIn() {
		c.silence = time.AfterFunc(time.Hour, func() { o.env.leases.silent(&c.holder) }) // the join sets it
	}
	if err := o.env.seal.await(wait, o.env.life.ctx); err != nil { // there is no token without the secret
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		o.env.stats.aborted.Add(1)
		return nil, err
	}
	ofUser, err := o.env.users.open(&c.holder, c.group)
	if err != nil {
		if errors.Is(err, presence.ErrTooManyConnections) {
			o.env.stats.refused.Add(1)
		}
		if o.acts.bars(c.visitor.User.ID) { // the act has also signed the user out
			err = presence.ErrBarred
		}
		return nil, err
	}
	opened = true                       // from here on, finish ends the sources
	if o.acts.bars(c.visitor.User.ID) { // the bar came a moment ago, so the sign-out did not find the connection
		c.finish(presence.ErrBarred, dropped)
		return nil, presence.ErrBarred
	}
	if ofUser > 0 {
		o.env.stats.sessions.observe(int64(ofUser))
	}
	o.env.attention.opened(&c.holder)
	joining := time.Now()
	c.join(wait, c.topics()...)
	o.env.users.setOpened(&c.holder)
	if time.Since(joining) > c.TTL()/10 { // joining took long, so the page's TTL begins now
		c.Beat()
	}
	if err := ctx.Err(); err != nil {
		o.env.stats.aborted.Add(1)
		c.finish(context.Canceled, givenUp)
		return nil, err
	}
	c.wake()
	return c, nil
}

// hasNoRoomFor reports whether too much waits for the store to accept another connection of a user. What a
// connection leaves behind has to be kept until the store is back.
func (e *connectionEnv) hasNoRoomFor(user presence.User) bool {
	return user.ID != "" && (e.writer.full(user.ID) || e.choices.full(user.ID))
}

// newProcess returns the name of a process of a node. It contains the time of its start, in milliseconds, and
// six random bits. A node that restarts under the same name is another process, so connections of the earlier
// one do not depend on its lease (rule 7).
func newProcess(node string) string {
	var id [8]byte
	var random [1]byte
	rand.Read(random[:])
	binary.BigEndian.PutUint64(id[:], uint64(time.Now().UnixMilli())<<6|uint64(random[0]>>2))
	return node + "." + base64.RawURLEncoding.EncodeToString(id[2:])
}

// processBegan returns when a process started, by the clock of its machine. It returns false for a name that
// newProcess did not make.
func processBegan(process string) (time.Time, bool) {
	var id [8]byte
	text := process[strings.LastIndexByte(process, '.')+1:]
	if len(text) != base64.RawURLEncoding.EncodedLen(len(id[2:])) {
		return time.Time{}, false
	}
	_, err := base64.RawURLEncoding.Decode(id[2:], []byte(text))
	return time.UnixMilli(int64(binary.BigEndian.Uint64(id[:]) >> 6)), err == nil
}

// newHolder returns the name of a connection. It contains the process, 56 random bits, so that nobody can
// guess it, the browser's tag, and when the visitor was identified, in milliseconds since the process started.
func newHolder(process, browser string, identified time.Time) presence.Holder {
	var id [holderLen]byte
	began, _ := processBegan(process)
	binary.BigEndian.PutUint64(id[holderLen-8:], uint64(max(0, identified.Sub(began).Milliseconds())))
	rand.Read(id[:holderRandom])
	copy(id[holderRandom:], tagOf(browser))
	return presence.Holder(process + "." + base64.RawURLEncoding.EncodeToString(id[:]))
}

// The length of the encoded part of a connection's name, and of the random part and the browser's tag in it, in bytes.
const (
	holderLen    = 15
	holderRandom = 7
	tagLen       = 3
)

// A browserTag tells the browsers of a user apart, on every node alike. Two browsers may have the same one: then one that
// signs off makes the pages of the other connect again.
type browserTag string

// tagOf returns the tag of a browser; "": the browser is not known.
func tagOf(browser string) browserTag {
	if browser == "" {
		return ""
	}
	sum := sha256.Sum256([]byte(browser))
	return browserTag(sum[:tagLen])
}

// browserOf returns the tag of a connection's browser.
func browserOf(h presence.Holder) browserTag {
	id, err := base64.RawURLEncoding.DecodeString(string(h)[strings.LastIndexByte(string(h), '.')+1:])
	if err != nil || len(id) != holderLen {
		return ""
	}
	if tag := browserTag(id[holderRandom : holderRandom+tagLen]); tag != unknownTag {
		return tag
	}
	return ""
}

const unknownTag browserTag = "\x00\x00\x00"

// identifiedAt returns when the visitor of a connection was identified, by the clock of its machine. It
// returns false for a name that newHolder did not make.
func identifiedAt(h presence.Holder) (time.Time, bool) {
	process := h.Process()
	began, ok := processBegan(process)
	id, err := base64.RawURLEncoding.DecodeString(strings.TrimPrefix(string(h), process+"."))
	if !ok || err != nil || len(id) != holderLen {
		return time.Time{}, false
	}
	clear(id[:holderRandom+tagLen])
	return began.Add(time.Duration(binary.BigEndian.Uint64(id[holderLen-8:])) * time.Millisecond), true
}
