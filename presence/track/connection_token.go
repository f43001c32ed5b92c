package track

import (
	"context"
	"encoding/base64"
	"slices"
	"strings"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
	"github.com/rollcall-go/rollcall/presence/internal/wire"
)

const tokenPurpose = "token"

// Token returns the connection's token. It changes with the connection's topics.
func (c *Connection) Token() presence.Token {
	user := c.visitor.User.ID
	if user == "" {
		user = user.In(c.visitor.Tenant)
	}
	if c.holdsDevice() {
		user = c.member(backend.DevicesTopic)
	}
	parts := []string{string(c.id), base64.RawURLEncoding.EncodeToString([]byte(user))}
	for _, topic := range c.heldTopics() {
		if !topic.Reserved() {
			parts = append(parts, string(topic.Local()))
		}
	}
	text := strings.Join(parts, "~")
	mac, _ := c.tracker.seal.sign(tokenPurpose, text) // known: see Connect
	return presence.Token(text + "~" + base64.RawURLEncoding.EncodeToString(mac[:]))
}

// A claim is what a token says.
type claim struct {
	id     presence.Holder
	tenant string
	user   presence.UserID // empty: a guest's
	device presence.UserID // its member of backend.DevicesTopic; empty: the connection holds none
	topics []presence.Topic
}

// member returns the user whom the claim's connection holds in a topic.
func (c claim) member(topic presence.Topic) presence.UserID {
	if topic == backend.DevicesTopic {
		return c.device
	}
	return c.user
}

// readOf returns what a token says, or [presence.ErrForeignToken] if this fleet did not make it, or made
// it for another tenant (rule T2).
func (s *seal) readOf(tenant string, token presence.Token) (claim, error) {
	c, err := s.read(token)
	if err == nil && c.tenant != tenant {
		return claim{}, presence.ErrForeignToken
	}
	return c, err
}

func (s *seal) read(token presence.Token) (claim, error) {
	text, ok := s.textOf(token)
	if !ok {
		return claim{}, presence.ErrForeignToken
	}
	return readClaim(text)
}

// textOf returns what is signed in a token, and false if this fleet did not sign it.
func (s *seal) textOf(token presence.Token) (text string, ok bool) {
	at := strings.LastIndexByte(string(token), '~')
	if at < 0 {
		return "", false
	}
	text, sum := string(token[:at]), string(token[at+1:])
	var mac presence.MAC
	if len(sum) != base64.RawURLEncoding.EncodedLen(len(mac)) {
		return "", false
	}
	n, err := strictBase64.Decode(mac[:], []byte(sum))
	return text, err == nil && n == len(mac) && s.verify(tokenPurpose, text, mac)
}

// strictBase64 knows one text for each MAC.
var strictBase64 = base64.RawURLEncoding.Strict()

// readClaim reads what is signed in a token.
func readClaim(text string) (claim, error) {
	parts := strings.Split(text, "~")
	if len(parts) < 2 {
		return claim{}, presence.ErrForeignToken
	}
	user, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil {
		return claim{}, presence.ErrForeignToken
	}
	c := claim{id: presence.Holder(strings.Clone(parts[0])), tenant: presence.UserID(user).Tenant(), user: presence.UserID(user)} // a notice keeps the id, and must not keep the body
	for _, topic := range parts[2:] {
		c.topics = append(c.topics, presence.Topic(strings.Clone(topic)).In(c.tenant))
	}
	if strings.Contains(string(user), wire.DeviceSeparator) {
		c.device, c.topics = c.user, append(c.topics, backend.DevicesTopic)
		c.user, _ = backend.OwnerOf(c.device)
	}
	if c.user.Local() == "" {
		c.user = "" // a guest of the tenant
	}
	return c, nil
}

// find returns the claim's connection if this process has it, and whether the connection is,
// or was, one of this process's. Another process may have the node's name: one that drains while
// this one takes its place.
func (t *Tracker) find(c claim) (conn *Connection, here bool) {
	return t.users.connection(c.id), c.id.Process() == t.process
}

// refuses reports whether a visitor is known not to be the one whom a claim is about:
// another user, or another guest. Nothing is known of a guest without an id.
func (c claim) refuses(by presence.Visitor, conn *Connection) bool {
	switch {
	case by.SignedIn():
		return by.User.ID != c.user
	case c.user == "" && conn != nil:
		return by.Guest != "" && conn.visitor.Guest != "" && by.Guest != conn.visitor.Guest
	}
	return false
}

// A Page is what a page says of itself with a beat. The zero Page says nothing but that
// the page is alive.
type Page struct {
	// Idle says whether nobody is at the page. Once nobody is at any page that holds a user
	// in a topic, on any node, a user who is [presence.Online] turns [presence.Idle] there, which others see
	// as away, and [presence.Online] again with the first page that is attended. A status that the
	// user chose stays. nil: the page does not say.
	Idle *bool
	// Joined says that the page has joined the connection just now, maybe one that another
	// tab of the browser opened: the connection holds the user in place of the page's view
	// (rule 6).
	Joined bool
}

// Beat renews the leases of a page's connection, whichever node has it. It returns false
// if the connection is gone, or if by is another visitor than the connection's: the page
// connects again. With a Visitor of whom only the Tenant is known, the token alone is checked.
//
// For a connection of this node Beat waits for nothing, for another node's it costs one
// round trip. The connection of a guest or an observer has no leases, so another node
// returns true.
//
// It returns an error that is [presence.ErrForeignToken], at no cost to the store, or
// [presence.ErrStoreOut].
func (t *Tracker) Beat(ctx context.Context, token presence.Token, by presence.Visitor, page Page) (alive bool, err error) {
	if err := t.seal.await(ctx, t.life.ctx); err != nil { // a node that has just started knows no token
		return false, err
	}
	c, err := t.seal.readOf(by.Tenant, token)
	if err != nil {
		return false, err
	}
	conn, here := t.find(c)
	if c.refuses(by, conn) {
		return false, nil
	}
	return t.beat(ctx, c, conn, here, by, page)
}

// beat renews the leases of a claim's connection. conn is nil if this node does not have it.
func (t *Tracker) beat(ctx context.Context, c claim, conn *Connection, here bool, by presence.Visitor, page Page) (alive bool, err error) {
	kind := backend.OpHeartbeat
	if page.Joined {
		kind = backend.OpFollow
	}
	switch {
	case here && conn == nil:
	case here:
		if page.Idle != nil {
			t.attention.report(conn, *page.Idle)
		}
		alive = conn.renew(kind)
		conn.proved()
	case len(c.topics) == 0:
		alive = true
	default:
		if alive, err = t.renewElsewhere(ctx, c, t.attention.elsewhere(c, kind, page.Idle)...); !alive {
			break
		}
		if page.Joined {
			t.users.joinedElsewhere(c)
		}
		// A token does not say whether its user hides, so a roster here must show the user.
		_, _ = t.topics.look(siteOf(c.user)) // which loads it
		inRoster := func(topic presence.Topic) bool { return t.topics.shown(topic, c.user) != "" }
		if by.SignedIn() || slices.ContainsFunc(c.topics, inRoster) {
			t.lastSeen.beaten(c.user, by)
		}
	}
	if alive && c.user != "" {
		t.stats.beatsByRequest.Add(1)
	}
	return alive, err
}

// renewElsewhere renews the leases of another node's connection.
func (t *Tracker) renewElsewhere(ctx context.Context, c claim, ops ...backend.Op) (alive bool, err error) {
	acks := make([]*ack, 0, len(c.topics)*len(ops))
	for _, topic := range c.topics {
		for _, op := range ops {
			op.User.ID, op.Holder, op.For = c.member(topic), c.id, t.cfg.ttl(topic)
			acks = append(acks, t.writer.addAcked(topic, op))
		}
	}
	if err := t.writer.await(ctx, acks...); err != nil {
		return false, storeOut(err)
	}
	return !slices.ContainsFunc(acks, func(a *ack) bool { return a.gone }), nil
}

// Leave ends a page's connection, whichever node has it, and holds its user for the grace.
// It does nothing when called again, or for a visitor who is not the connection's (see
// Beat). Leave returns when this node knows; the store is told in the background. Its error is [presence.ErrForeignToken], or
// says that the connection's node was not told and finds out by itself.
func (t *Tracker) Leave(ctx context.Context, token presence.Token, by presence.Visitor) error {
	if err := t.seal.await(ctx, t.life.ctx); err != nil {
		return err
	}
	c, err := t.seal.readOf(by.Tenant, token)
	if err != nil {
		return err
	}
	conn, here := t.find(c)
	if c.refuses(by, conn) {
		return nil
	}
	return t.leave(ctx, c, conn, here)
}

// leave ends a claim's connection. conn is nil if this node does not have it.
func (t *Tracker) leave(ctx context.Context, c claim, conn *Connection, here bool) error {
	if here {
		if conn != nil {
			conn.Close()
		}
		return nil
	}
	if c.user == "" {
		return nil
	}
	for _, topic := range c.topics {
		t.writer.addForeign(topic, releaseOf(c.member(topic), c.id, backend.OpRelease, t.cfg.grace(topic)))
	}
	return t.notices.publish(ctx, backend.LeaveNotice(c.user, c.id))
}
