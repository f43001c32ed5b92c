package track

import (
	"context"
	"slices"
	"time"

	"github.com/rollcall-go/rollcall/internal/wait"
	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
)

// leases keeps in the store what this node holds: page views, and the leases of its connections. It renews
// them, makes them again if they are gone, and restores all after the store lost its data.
type leases struct {
	cfg        *Config
	life       *lifetime
	stats      *counters
	outage     *outage
	writer     *writer
	users      *users
	topics     *topics
	notices    *notices
	seal       *seal
	guests     *guestCounts
	choices    *choices
	generation *generation
	poller     *poller
	again      *time.Timer // writes all once more
}

// begin completes a leases whose fields for other parts are set.
func (l *leases) begin() *leases {
	l.again = time.AfterFunc(time.Hour, l.rewriteSoon)
	l.again.Stop()
	return l
}

// viewed writes page views of a user. Those that hold no longer are not written, and those before a
// sign-out of the user or the end of the device's session.
func (l *leases) viewed(views ...pageView) { l.viewedSince(time.Time{}, views...) }

// viewedSince is viewed for views that take the place of what held the user until a moment.
func (l *leases) viewedSince(since time.Time, views ...pageView) {
	for _, view := range views {
		member := view.user.ID
		if view.topic == backend.DevicesTopic {
			member = backend.MemberOf(member, view.device.ID)
		}
		l.choices.put(view.topic, cell{member: member, view: &viewCell{view, later(since, view.at)}})
	}
}

// guestSignedIn removes a guest from a topic, and makes every node remove the guest from the topics of the
// guest's streams there.
//
// Example: a guest has a page of thread:1 open at node A, and signs in. The next page, at node B, calls this
// for the site while the old page's stream is still open. Node B removes the guest from the site. Node A
// hears the notice and removes the guest from both topics of the stream, after any count of the guest that
// waits in its writer. The stream then never counts again, neither at half of the age period nor after a
// wipe.
func (l *leases) guestSignedIn(topic presence.Topic, guest string) {
	if guest == "" {
		return
	}
	l.guests.forget(topic, guest)
	l.guests.showSoon(append(l.forgetStreaming(guest), topic)...)
	l.guests.tell(guest)
}

// hearSignedIn removes a guest who signed in at some node: mostly in the site.
func (l *leases) hearSignedIn(guest string) {
	l.guests.showSoon(append(l.forgetStreaming(guest), siteOf(presence.UserID(guest)))...)
}

// forgetStreaming removes a guest from the topics of the guest's streams at this node, and keeps these
// streams from counting the guest again. It returns the topics.
func (l *leases) forgetStreaming(guest string) (topics []presence.Topic) {
	for _, c := range l.users.connectionsOfGuest(guest) {
		topics = append(topics, l.guests.forgetIn(c)...)
	}
	return topics
}

// join makes the lease for a connection in each topic, unless the connection has ended or left the topic. It returns an ack for each.
func (l *leases) join(c *holder, topics []presence.Topic) (acks []*ack) {
	l.users.asked(c)
	for _, topic := range topics {
		if l.users.holds(c, topic) { // else a sign-out came first
			a := newAck(wordPages)
			l.choices.put(topic, cell{member: c.member(topic), pages: leaseCell{need: toMake}, acks: waiters{a}})
			acks = append(acks, a)
		}
	}
	if len(topics) == len(c.heldTopics()) {
		c.renewedNow()
	}
	return acks
}

// joinAgain makes the leases of a connection again that the store may have lost. It does so also for a page that is silent: in each
// topic that shows its user, and in all topics if the page's beats come to other nodes, as these nodes have said, or if the user hides.
// The other nodes can keep only whom a connection holds, and do not write what the user chose.
//
// The cell counts silent pages in any case. It may wait for the choice, and the page may turn silent meanwhile.
func (l *leases) joinAgain(c *holder) {
	held := c.heldTopics()
	made := held
	if l.isSilent(c) && !c.strays.Load() && !l.choices.hides(c.visitor.User) {
		c.written.Store(l.generation.n.Load())
		made = slices.DeleteFunc(slices.Clone(held), func(topic presence.Topic) bool { return l.topics.shown(topic, c.member(topic)) == "" })
	}
	for _, topic := range made {
		l.choices.put(topic, cell{member: c.member(topic), pages: leaseCell{need: toMake, silent: true}})
	}
	if len(made) == len(held) {
		c.renewedNow()
	}
}

// release ends what a connection held of its user in a topic, after it ended or left the topic. grace is that of an ending with one.
// While another page here holds the user there, the lease stays.
func (l *leases) release(h *holder, topic presence.Topic, how ending, grace time.Duration) {
	now := time.Now()
	end := leaseEnd{visitor: h.visitor, at: now, how: how}
	if how == graced || how == givenUp {
		end.grace, end.until = grace, now.Add(grace)
	}
	l.users.mu.Lock()
	defer l.users.mu.Unlock()
	if _, by := l.users.leaseLocked(topic, h.member(topic), h.isVisit(), false, now); by != nil {
		l.writer.put(topic, cellOf(h, topic, leaseCell{need: toKeep}))
		return
	}
	end.identified, end.joined = h.held.identified, h.joinedLocked()
	if u := l.users.byID[h.visitor.User.ID]; u != nil {
		end.idle = u.idle
	}
	if end.proof = now; how == dropped {
		if end.proof = end.joined; h.beat.Load() {
			end.proof = h.lastProof()
		}
	}
	l.writer.put(topic, cellOf(h, topic, leaseCell{end: &end}))
}

// cellOf returns the cell of a member for the lease of its pages, or of visits.
func cellOf(h *holder, topic presence.Topic, lease leaseCell) cell {
	if h.isVisit() {
		return cell{member: h.member(topic), visits: lease}
	}
	return cell{member: h.member(topic), pages: lease}
}

// countGuests counts the guests of the connections here again, before the store forgets them.
func (l *leases) countGuests(ctx context.Context) {
	for wait.For(ctx, l.cfg.Age/2) {
		for _, c := range l.users.all() {
			l.guests.count(c)
		}
	}
}
