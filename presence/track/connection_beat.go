package track

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
)

// A Page is what a page tells about itself with a beat. The zero Page tells only that the page is alive.
type Page struct {
	// Idle says whether nobody is at the page. When nobody is at any page of the user in a topic, on any
	// node, a user who is [presence.Online] turns [presence.Idle] there, which others see as away. With the
	// first attended page the user is [presence.Online] again. A status that the user chose stays. nil: the
	// page does not say.
	Idle *bool
	// Joined says that the page has just joined the connection, which another tab of the browser may have
	// opened. The connection then holds the user in place of the page view (rule 3).
	Joined bool
	// Hidden says whether nobody can see the page: see [Connection.Hide]. nil: the page does not say.
	Hidden *bool
}

// beatBy is [Tracker.Beat].
func (t *tokens) beatBy(ctx context.Context, token presence.Token, by presence.Visitor, page Page) (alive bool, err error) {
	p, refused, err := t.passOf(ctx, token, by)
	t.findForeign(token, err)
	if err != nil || refused {
		return false, err
	}
	return t.beat(ctx, p.claim, p.conn, p.here, by, page)
}

// leaveBy is [Tracker.Leave].
func (t *tokens) leaveBy(ctx context.Context, token presence.Token, by presence.Visitor) error {
	p, refused, err := t.passOf(ctx, token, by)
	if err != nil || refused {
		return err
	}
	return p.Leave(ctx)
}

// tokens serves the requests that pages make with the tokens of their connections.
type tokens struct {
	cfg       *Config
	life      *lifetime
	stats     *counters
	process   string
	writer    *writer
	users     *users
	topics    *topics
	notices   *notices
	seal      *seal
	attention *attention
	leases    *leases
	lastSeen  *lastSeen
	fleet     *fleet
	found     *findings
}

// findForeign reports a token that this fleet did not make to fleet.
func (t *tokens) findForeign(token presence.Token, err error) {
	if errors.Is(err, presence.ErrForeignToken) {
		t.fleet.foreign(token, t.found.note)
	}
}

// pass is [Tracker.Pass].
func (t *tokens) pass(ctx context.Context, token presence.Token) (Pass, error) {
	p, err := t.check(ctx, token)
	t.findForeign(token, err)
	return p, err
}

func (t *tokens) check(ctx context.Context, token presence.Token) (Pass, error) {
	if err := t.seal.await(ctx, t.life.ctx); err != nil {
		return Pass{}, err
	}
	text, ok := t.seal.textOf(token)
	if !ok {
		return Pass{}, presence.ErrForeignToken
	}
	id, _, _ := strings.Cut(text, "~")
	if conn := t.users.connection(presence.Holder(id)); conn != nil { // it has the content of its token
		c := claim{id: conn.id, tenant: conn.visitor.Tenant, user: conn.visitor.User.ID, topics: conn.heldTopics()}
		return Pass{t, c, conn, true}, nil
	}
	c, err := readClaim(text)
	if err != nil {
		return Pass{}, err
	}
	conn, here := t.find(c)
	return Pass{t, c, conn, here}, nil
}

// passOf is pass for a visitor. The fleet must have made the token for the visitor's tenant (rule T2).
// refused is true if the visitor is known not to be the token's owner.
func (t *tokens) passOf(ctx context.Context, token presence.Token, by presence.Visitor) (p Pass, refused bool, err error) {
	if err := t.seal.await(ctx, t.life.ctx); err != nil { // a node that has just started has no secret yet
		return Pass{}, false, err
	}
	c, err := readToken(t.seal, by.Tenant, token)
	if err != nil {
		return Pass{}, false, err
	}
	conn, here := t.find(c)
	guest := ""
	if conn != nil && !conn.isPassing() { // the browser may have got a cookie since
		guest = conn.visitor.Guest
	}
	return Pass{t, c, conn, here}, c.refuses(by, guest), nil
}

// find returns the connection of a claim if this process has it. here reports whether the connection belongs,
// or belonged, to this process. The node's name is not enough: while a process drains, its successor may have
// the same name.
func (t *tokens) find(c claim) (conn *holder, here bool) {
	return t.users.connection(c.id), c.id.Process() == t.process
}

// beat renews the leases of a claim's connection. conn is nil if this node does not have it.
func (t *tokens) beat(ctx context.Context, c claim, conn *holder, here bool, by presence.Visitor, page Page) (alive bool, err error) {
	if page.Hidden != nil && !here {
		if err := t.hideElsewhere(ctx, c, *page.Hidden); err != nil {
			return false, err
		}
	}
	switch {
	case here && conn == nil:
	case here:
		if page.Idle != nil {
			t.attention.report(conn, *page.Idle)
		}
		if page.Hidden != nil {
			conn.conn.Hide(*page.Hidden)
		}
		t.attention.proved(conn)
		if page.Joined {
			alive = t.leases.joined(conn)
		} else {
			alive = t.leases.renew(conn)
		}
	case len(c.topics) == 0:
		alive = true
	case t.endedElsewhere(c):
	default:
		if alive, err = t.beatElsewhere(ctx, c, page); !alive {
			break
		}
		// A token does not say whether its user hides. The roster of the user's site shows that, so it must
		// be loaded here.
		_, _ = t.topics.look(siteOf(c.user)) // looking loads the roster
		inRoster := func(topic presence.Topic) bool { return t.topics.shown(topic, c.user) != "" }
		if by.SignedIn() || slices.ContainsFunc(c.topics, inRoster) {
			by.User.ID = c.user // by tells whether the user hides; the zero Visitor tells nothing
			t.users.see(t.lastSeen, by.User, proof{at: time.Now(), elsewhere: true})
		}
	}
	if alive && c.user != "" {
		t.stats.beatsByRequest.Add(1)
	}
	return alive, err
}

// leave ends a claim's connection. conn is nil if this node does not have it.
func (t *tokens) leave(ctx context.Context, c claim, conn *holder, here bool) error {
	if here {
		if conn != nil {
			conn.conn.Close()
		}
		return nil
	}
	if c.user == "" {
		return nil
	}
	t.users.left(c.user, c.id)
	return t.notices.publish(ctx, backend.LeaveNotice(c.user, c.id))
}
