package presence

import (
	"context"
	"strings"
)

// A Token is what a page knows its connection by, and proves with that it is
// alive: the connection's id and its topics. So any node can take a beat or a
// leave, also one that never saw the connection. It needs no signature: it only
// ever touches leases of the user who sends it.
type Token string

// Token returns the connection's token, of at most about 2 KiB.
func (c *Connection) Token() Token {
	parts := []string{string(c.id)}
	for _, topic := range c.heldTopics() {
		parts = append(parts, string(topic))
	}
	return Token(strings.Join(parts, "~"))
}

// parse returns what the token names, and false if it cannot be read.
func (t Token) parse(most int) (Holder, []Topic, bool) {
	id, rest, more := strings.Cut(string(t), "~")
	node, number, ok := strings.Cut(id, ".")
	if !ok || node == "" || number == "" || len(id) > 80 {
		return "", nil, false
	}
	var topics []Topic
	if more {
		for part := range strings.SplitSeq(rest, "~") {
			topic, err := ParseTopic(part)
			if err != nil || len(topics) >= most {
				return "", nil, false
			}
			topics = append(topics, topic)
		}
	}
	return Holder(id), topics, true
}

// Beat renews the leases of a page's connection, whichever node has it. It
// returns false if the connection is gone, or the token is not one of the user:
// the page connects again. For a connection of this node it waits for nothing,
// for another's one round trip. The connection of a guest or an observer has
// no leases, and is only known on its own node: elsewhere it is believed.
func (t *Tracker) Beat(ctx context.Context, token Token, user UserID) (alive bool, err error) {
	id, topics, ok := token.parse(t.cfg.TopicsPerConnection)
	if !ok {
		return false, nil
	}
	if c, here := t.connection(id); here {
		return c != nil && c.visitor.User.ID == user && c.Beat(), nil
	}
	if user == "" || len(topics) == 0 {
		return true, nil
	}
	acks := make([]*ack, len(topics))
	for i, topic := range topics {
		acks[i] = t.writer.addAcked(topic, Op{Kind: OpHeartbeat, User: User{ID: user}, Holder: id, For: t.cfg.TTL})
	}
	if err := t.await(ctx, acks...); err != nil {
		return false, err
	}
	for _, a := range acks {
		if a.gone {
			return false, nil
		}
	}
	return true, nil
}

// Leave ends a page's connection, whichever node has it, and holds its user for
// the grace. Leaving twice, or what is not there, does nothing. It returns when
// this node knows; the store is told behind its back.
func (t *Tracker) Leave(ctx context.Context, token Token, user UserID) error {
	id, topics, ok := token.parse(t.cfg.TopicsPerConnection)
	if !ok {
		return nil
	}
	if c, here := t.connection(id); here {
		if c != nil && c.visitor.User.ID == user {
			c.Close()
		}
		return nil
	}
	if user == "" {
		return nil
	}
	for _, topic := range topics {
		t.writer.add(topic, Op{Kind: OpRelease, User: User{ID: user}, Holder: id, For: t.cfg.Grace})
	}
	return t.tell(ctx, Notice{Left: id, LeftBy: user})
}

// connection returns a connection of this node, nil if it is gone, and whether
// it was this node's.
func (t *Tracker) connection(id Holder) (c *Connection, here bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.connections.byID[id], strings.HasPrefix(string(id), t.cfg.Node+".")
}
