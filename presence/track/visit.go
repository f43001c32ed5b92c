package track

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
)

// A visit is a page whose beats come to this node, while its connection is at another one. Each node that hears a page's
// beats holds the page's user for a TTL, so a page's silence concerns each node alone. A visit keeps who is there, and
// lists nobody: see [backend.OpKeep].
//
// Example: Alice's stream is at node A, behind a proxy that sends each request to another node. Her beats at 12:00:15 and
// 12:00:45 come to node B, which holds her for the TTL after each. Node B has told node A. She closes her browser at
// 12:00:50. Node A sees the stream end, and tells the other nodes. Node B then holds her for the grace.
type visit struct {
	holder *holder
	leases *leases
	expiry *time.Timer
}

// Err is nil: a visit that ended is no longer among those of its user.
func (v *visit) Err() error { return nil }
func (v *visit) Hide(bool)  {}
func (v *visit) wake()      {}

// Close ends the visit, and holds its user for the grace.
func (v *visit) Close() { v.finish(context.Canceled, graced) }

// finish ends the visit, once. It returns the topics in which the visit held its user.
func (v *visit) finish(_ error, how ending) []presence.Topic {
	v.expiry.Stop()
	topics := v.holder.heldTopics()
	if !v.leases.users.leaves(v.holder) {
		return nil
	}
	for _, topic := range topics {
		v.leases.release(v.holder, topic, how, v.leases.cfg.grace(topic))
	}
	return topics
}

// expire ends the visit if its page has been silent for the TTL.
func (v *visit) expire() {
	if left := v.holder.ttl() - time.Since(v.holder.lastProof()); left > 0 {
		v.expiry.Reset(left)
		return
	}
	v.leases.users.leaves(v.holder)
}

// visitor returns who beats by a claim, as far as the claim says.
func (c claim) visitor() presence.Visitor {
	_, device := backend.OwnerOf(c.device)
	return presence.Visitor{Tenant: c.tenant, User: presence.User{ID: c.user}, Device: presence.Device{ID: device}}
}

// visitOf returns the visit of a claim's page, and whether leases of it are to be made: this is the first beat that comes
// here, or the first since the page's topics changed. It returns nil if there is no room for a new visit.
func (l *leases) visitOf(c claim) (h *holder, news bool) {
	if h = l.users.visit(c.id); h != nil {
		was := h.visit.Swap(&c)
		for _, topic := range was.topics {
			if !slices.Contains(c.topics, topic) {
				l.release(h, topic, graced, l.cfg.grace(topic))
			}
		}
		return h, !slices.Equal(was.topics, c.topics)
	}
	if l.writer.full(c.user) {
		return nil, false
	}
	identified, _ := identifiedAt(c.id)
	h = &holder{id: c.id, cfg: l.cfg, visitor: c.visitor(), people: c.device != ""}
	h.visit.Store(&c)
	h.held = heldBy{identified: identified, opened: identified}
	h.written.Store(l.generation.n.Load()) // nothing of it was written before
	h.beat.Store(true)
	h.beaten.Store(time.Now().UnixNano())
	v := &visit{holder: h, leases: l}
	h.conn = v
	v.expiry = time.AfterFunc(h.ttl(), v.expire)
	is := l.users.visits(h)
	if is != h {
		v.expiry.Stop()
	}
	return is, true
}

// visit returns the visit of a connection's page; nil if this node has none.
func (p *users) visit(id presence.Holder) *holder {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.visited[id]
}

// visits adds a visit, and returns it, or the one that another beat has just added; nil if it has ended meanwhile, or if there
// is no room for it.
func (p *users) visits(h *holder) *holder {
	p.mu.Lock()
	defer p.mu.Unlock()
	if was := p.visited[h.id]; was != nil {
		return was
	}
	u := p.knownLocked(h.visitor.User.ID)
	if p.closed || p.ended(*h.visit.Load()) || len(p.visited) >= maxVisits || len(u.connections)-u.pages() >= maxVisitsPerUser {
		return nil
	}
	p.visited[h.id] = h
	p.addLocked(u, h)
	return h
}

// leaves removes a visit. It reports whether it was there.
func (p *users) leaves(h *holder) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.visited[h.id] != h {
		return false
	}
	delete(p.visited, h.id)
	p.dropLocked(h, h.heldTopics())
	return true
}

// left ends a connection or visit whose page said goodbye, if this node has it.
func (p *users) left(user presence.UserID, connection presence.Holder) {
	p.records.endConnection(user, presence.Holder(strings.Clone(string(connection))))
	for _, h := range []*holder{p.connection(connection), p.visit(connection)} {
		if h != nil && h.visitor.User.ID == user {
			h.conn.Close()
		}
	}
}

// hearGone takes that a process had ended without a word at a moment; it may be told once more after a loss of data. A page whose
// connection was there has connected again, or goes on with its beats, if the process is only cut off. So a visit of it ends once a
// beat is overdue. A process that lives, which a store with old data takes for dead, says so at once, or has said so since.
func (t *tokens) hearGone(process string, at time.Time) {
	if process == t.process {
		t.fleet.soon.Wake()
		return
	}
	for _, h := range t.users.allVisits() {
		if heartbeat := heartbeatFor(h.ttl()); h.id.Process() == process {
			time.AfterFunc(max(heartbeat+heartbeat/2-time.Since(h.lastProof()), returningFor), func() {
				if time.Since(h.lastProof()) > heartbeat && !t.fleet.lives(process, time.Since(at)) {
					h.conn.finish(nil, dropped)
				}
			})
		}
	}
}

func (p *users) allVisits() (all []*holder) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, h := range p.visited {
		all = append(all, h)
	}
	return all
}

// ended reports whether what a claim's connection holds has ended, as far as this node knows. The connection's node ends it,
// but may not have heard of a sign-out. If a page came back since, to a node whose clock is behind, it must connect once
// more.
//
// Example: node A stands still, and so does not end the stream of a tab when Alice signs out at node B. Redis
// fails over to a copy that still has the tab's lease. If node B held her for the tab's beats, others would
// see Alice for as long as node A stands still.
func (p *users) ended(c claim) bool {
	identified, ok := identifiedAt(c.id)
	return !ok || p.records.claimEnded(c, identified)
}

// endedElsewhere reports whether a connection of another node has ended, as far as this node knows. It ends the visit then.
func (t *tokens) endedElsewhere(c claim) bool {
	visit, patience := t.users.visit(c.id), livesFor
	if visit != nil { // its own node may be cut off
		patience *= 4
	}
	if !t.users.ended(c) && t.fleet.lives(c.id.Process(), patience) {
		return false
	}
	if visit != nil {
		visit.conn.Close()
	}
	return true
}

// beatElsewhere holds the user of a page whose connection is at another node. It reports false if no node holds the user.
func (t *tokens) beatElsewhere(ctx context.Context, c claim, page Page) (alive bool, err error) {
	h, news := t.leases.visitOf(c)
	if h == nil {
		return false, presence.ErrStoreOut
	}
	if page.Idle != nil {
		h.idle.Store(*page.Idle)
	}
	t.attention.proved(h)
	t.attention.opened(h)
	if alive, err = t.holds(ctx, t.leases.keep(h, news || page.Joined, page.Joined)); err != nil || alive {
		t.tellVisited(h)
		return alive, err
	}
	h.conn.Close() // the store may have taken it in some topics
	return false, nil
}

// visitToldEvery is how often a node tells that it hears a page's beats: a notice may be lost.
const visitToldEvery = 3 * time.Minute

// tellVisited tells the node of a visit's connection that the page's beats come here. So that node tells when the
// connection ends, or at once if it has ended.
func (t *tokens) tellVisited(h *holder) {
	now := time.Now()
	if was := h.told.Load(); now.Sub(time.Unix(0, was)) < visitToldEvery || !h.told.CompareAndSwap(was, now.UnixNano()) {
		return
	}
	t.tell(backend.Notice{Kind: backend.NoticeVisited, User: h.visitor.User.ID, Payload: string(h.id)})
}

// hearVisited takes the notice of tellVisited.
func (t *tokens) hearVisited(n backend.Notice) {
	id := presence.Holder(strings.Clone(n.Payload))
	if id.Process() != t.process {
		return
	}
	if c := t.users.connection(id); c != nil {
		c.strays.Store(true)
	}
	if t.users.connection(id) == nil { // also if it has ended in between
		t.tellLeft(n.User, id)
	}
}

// tellLeft tells all nodes that a connection has ended.
func (t *tokens) tellLeft(user presence.UserID, connection presence.Holder) {
	t.tell(backend.LeaveNotice(user, connection))
}

// tell publishes a notice, also while this node closes. A notice that the bus does not accept is sent later.
func (t *tokens) tell(n backend.Notice) {
	t.life.spawn(func(ctx context.Context) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), connectWait)
		defer cancel()
		_ = t.notices.publish(ctx, n)
	})
}

// holds waits for acks, and reports whether the store has each lease.
func (t *tokens) holds(ctx context.Context, acks []*ack) (bool, error) {
	if err := t.writer.await(ctx, acks...); err != nil {
		return false, storeOut(err)
	}
	return len(acks) > 0 && !slices.ContainsFunc(acks, func(a *ack) bool { return a.gone }), nil
}

// keep writes that a visit's page is alive. With make it makes the leases too, and with joined the page has just joined
// its connection.
func (l *leases) keep(h *holder, make, joined bool) (acks []*ack) {
	l.users.asked(h)
	lease := leaseCell{need: toBeat}
	if joined {
		l.users.joinedHere(h)
		lease.need = toKeep
	}
	if make {
		lease.need = toMake
	}
	for _, topic := range h.heldTopics() {
		acks = append(acks, l.writer.putAcked(topic, cellOf(h, topic, lease), wordVisits))
	}
	return acks
}
