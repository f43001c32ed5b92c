package presence

import (
	"context"
	"encoding/base64"
	"strings"
)

// A Token is what a page knows its connection by: the connection's id, its user and
// its topics, signed with the fleet's secret. Whoever has it may beat and leave for
// the connection at any node, also one that never saw it. Nobody can make one up.
//
// It is "<id>~<user>~<topic>~…~<MAC>", with user and MAC in base64url. A token has
// at most about 2.3 KiB.
type Token string

const tokenPurpose = "token"

// Token returns the connection's token. It changes with the connection's topics.
func (c *Connection) Token() Token {
	user := base64.RawURLEncoding.EncodeToString([]byte(c.visitor.User.ID))
	parts := []string{string(c.id), user}
	for _, topic := range c.heldTopics() {
		parts = append(parts, string(topic))
	}
	text := strings.Join(parts, "~")
	mac, _ := c.tracker.seal.sign(tokenPurpose, text) // known: see Connect
	return Token(text + "~" + base64.RawURLEncoding.EncodeToString(mac[:]))
}

// A claim is what a token says.
type claim struct {
	id     Holder
	user   UserID // empty: a guest's
	topics []Topic
}

// read returns what a token says, or ErrForeignToken if this fleet did not make it.
func (t *Tracker) read(token Token) (claim, error) {
	at := strings.LastIndexByte(string(token), '~')
	if at < 0 {
		return claim{}, ErrForeignToken
	}
	text, sum := string(token[:at]), string(token[at+1:])
	var mac MAC
	n, err := base64.RawURLEncoding.Strict().Decode(mac[:], []byte(sum[:min(len(sum), base64.RawURLEncoding.EncodedLen(len(mac)))]))
	if err != nil || n != len(mac) || len(sum) != base64.RawURLEncoding.EncodedLen(n) || !t.seal.verify(tokenPurpose, text, mac) {
		return claim{}, ErrForeignToken
	}
	parts := strings.Split(text, "~")
	if len(parts) < 2 {
		return claim{}, ErrForeignToken
	}
	user, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil {
		return claim{}, ErrForeignToken
	}
	c := claim{id: Holder(strings.Clone(parts[0])), user: UserID(user)} // what was said keeps the id, not the body
	for _, topic := range parts[2:] {
		c.topics = append(c.topics, Topic(strings.Clone(topic)))
	}
	return c, nil
}

// of returns the claim's connection if this node has it, and whether it is one of
// this node's.
func (t *Tracker) of(c claim) (conn *Connection, here bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.connections.byID[c.id], strings.HasPrefix(string(c.id), t.cfg.Node+".")
}

// refuses reports whether a visitor is somebody else than a claim is about: another
// user, or another guest. A visitor of whom nothing is known is nobody else.
func (c claim) refuses(by Visitor, conn *Connection) bool {
	switch {
	case by.SignedIn():
		return by.User.ID != c.user
	case c.user == "" && conn != nil:
		return by.Guest != "" && conn.visitor.Guest != "" && by.Guest != conn.visitor.Guest
	}
	return false
}

// Beat renews the leases of a page's connection, whichever node has it. It
// returns false if the connection is gone, or if by is somebody else than its
// visitor: the page connects again. The zero by is a visitor of whom nothing is
// known: then the token alone proves. For a connection of this node Beat waits for
// nothing, for another's one round trip. The connection of a guest or an observer
// has no leases, so another node takes its token's word.
//
// It returns an error that is [ErrForeignToken], at no cost to the store, or
// [ErrStoreOut].
func (t *Tracker) Beat(ctx context.Context, token Token, by Visitor) (alive bool, err error) {
	return t.renew(ctx, token, by, OpHeartbeat)
}

// Follow is Beat for the page of a user's latest view, once that page has joined a
// connection, maybe one that another tab of its browser opened: the connection
// holds the user in the view's place (rule 6).
func (t *Tracker) Follow(ctx context.Context, token Token, by Visitor) (alive bool, err error) {
	return t.renew(ctx, token, by, OpFollow)
}

// renew applies an operation to each lease of a token's connection.
func (t *Tracker) renew(ctx context.Context, token Token, by Visitor, kind OpKind) (alive bool, err error) {
	c, err := t.read(token)
	if err != nil {
		return false, err
	}
	conn, here := t.of(c)
	if c.refuses(by, conn) || here && conn == nil {
		return false, nil
	}
	if here {
		return conn.renew(kind), nil
	}
	if c.user == "" || len(c.topics) == 0 {
		return true, nil
	}
	acks := make([]*ack, len(c.topics))
	for i, topic := range c.topics {
		acks[i] = t.writer.addAcked(topic, Op{Kind: kind, User: User{ID: c.user}, Holder: c.id, For: t.cfg.TTL})
	}
	if err := t.await(ctx, acks...); err != nil {
		return false, storeOut(err)
	}
	for _, a := range acks {
		if a.gone {
			return false, nil
		}
	}
	return true, nil
}

// Leave ends a page's connection, whichever node has it, and holds its user for
// the grace. Leaving twice, or for somebody else (see Beat), does nothing. It
// returns when this node knows; the store is told behind its back. Its error is
// [ErrForeignToken], or says that another node was not told and finds out by itself.
func (t *Tracker) Leave(ctx context.Context, token Token, by Visitor) error {
	c, err := t.read(token)
	if err != nil {
		return err
	}
	conn, here := t.of(c)
	if c.refuses(by, conn) {
		return nil
	}
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
		t.writer.addForeign(topic, Op{Kind: OpRelease, User: User{ID: c.user}, Holder: c.id, For: t.cfg.Grace})
	}
	return t.tell(ctx, LeaveNotice(c.user, c.id))
}
