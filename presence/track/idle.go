package track

import (
	"sync"
	"time"

	"github.com/rollcall-go/rollcall/internal/generations"
	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
)

// attention writes into the leases of connections whether somebody is at their pages (rule 24 of
// [backend.Store]). When the last lease of a user in a topic becomes idle, the store turns the user idle in
// the same step, which others see as away. The first lease that is not idle turns the user back. So nodes
// need not ask one another.
//
// All leases of a user's connections at one node have the same state: whether somebody is at any of the
// user's pages at this node. So a node makes a user idle in all topics of these connections, or in none.
// Leases at two nodes may differ.
//
// Example: Alice has a page of the site and one of thread:1 open at node A, and a phone at node B that nobody
// holds. At 12:00:00 she stops at the page of the site, and was at the other an hour ago. At 12:00:01 node A
// writes OpAttend for both connections, in one call, and both topics show her as away. Node B does nothing.
type attention struct {
	cfg    *Config
	life   *lifetime
	writer *writer
	users  *users
	topics *topics

	mu    sync.Mutex // taken with no other mutex held
	heard *generations.Map[presence.Holder, hearing]
}

// A hearing is what this node heard from a page whose connection is at another node.
type hearing struct {
	idle   bool   // what was written last
	latest bool   // the latest word of the page, while it waits
	at     moment // when idle was written
	turned moment // when a change was written: the next one waits for leaveTaking
	waits  moment // when latest was heard; zero: nothing waits
}

const (
	// leaveTaking is how long a user must be at no page before the node writes so, because users go from one
	// page to the next, and from one device to another. For pages of other nodes, it is the least time
	// between two changes.
	leaveTaking = time.Second
	// attendedFor is how long a page view counts as attention while nobody is at any open page of the user,
	// because the viewed page may have no stream.
	attendedFor = 5 * time.Minute
	// heardFor is for how long a node trusts what it heard from a page of another node. The page's beats go
	// to any node, so another one may have heard the contrary since.
	heardFor = time.Minute
	// maxHeard bounds heard.
	maxHeard = 50_000
)

// A moment is a time in Unix nanoseconds, a third of the size of a time.Time; 0: no time.
type moment int64

func momentOf(t time.Time) moment { return moment(t.UnixNano()) }

// time returns the moment as a time; the zero Time for 0.
func (m moment) time() time.Time {
	if m == 0 {
		return time.Time{}
	}
	return time.Unix(0, int64(m))
}

func (m moment) add(d time.Duration) moment { return m + moment(d) }

func newAttention(cfg *Config, life *lifetime, w *writer, u *users, t *topics) *attention {
	return &attention{cfg: cfg, life: life, writer: w, users: u, topics: t, heard: generations.New[presence.Holder, hearing](maxHeard, nil)}
}

// opened takes a new connection before its leases are made. If nobody is at its page, as after a restart, its
// leases are idle from the start.
func (a *attention) opened(c *holder) {
	if !c.holds() {
		return
	}
	a.users.with(c.visitor.User.ID, func(u *knownUser) {
		c.held.saidIdle = c.idle.Load() && !u.attendedHere() && u.viewed.add(attendedFor) <= momentOf(time.Now())
		c.held.saidAt = momentOf(time.Now())
		a.lookLocked(u)
	})
}

// report takes what a page of this node's connection tells with a beat.
func (a *attention) report(c *holder, idle bool) {
	c.idle.Store(idle)
	if !c.holds() {
		return
	}
	heartbeat, _ := c.timing()
	now, user := time.Now(), c.visitor.User.ID
	strays := now.Sub(time.Unix(0, c.beaten.Load())) > heartbeat+heartbeat/2
	c.beaten.Store(now.UnixNano())
	shown := !idle && a.showsIdle(user, c.heldTopics(), c.member)
	a.users.with(user, func(u *knownUser) {
		if shown || strays && c.held.saidAt.add(heardFor) <= momentOf(now) {
			c.held.saidAt = 0 // other nodes may have heard this page since
		}
		a.lookLocked(u)
	})
}

// proved notes that the page is alive. If it was silent, its latest report counts again.
func (a *attention) proved(h *holder) {
	now := time.Now()
	last := time.Unix(0, h.beaten.Swap(now.UnixNano()))
	if h.beat.Load() && now.Sub(last) >= h.ttl() {
		a.look(h.visitor.User.ID)
	}
}

// showsIdle reports whether a topic shows a user as idle, or in backend.DevicesTopic the device.
func (a *attention) showsIdle(user presence.UserID, topics []presence.Topic, member func(presence.Topic) presence.UserID) bool {
	for _, topic := range topics {
		m := a.member(topic, member(topic))
		if m.Status.Base() == presence.Idle || m.Visibility != nil && m.Visibility.Status == presence.Idle {
			return true
		}
	}
	return false
}

// member returns a user's entry in the roster of a topic here, or the zero Member.
func (a *attention) member(topic presence.Topic, user presence.UserID) presence.Member {
	if r := a.topics.peek(topic); r != nil {
		if view := r.view.Load(); view != nil {
			if e := view.roster.get(user); e != nil {
				return e.Member
			}
		}
	}
	return presence.Member{}
}

// viewed notes a page view of a user.
func (a *attention) viewed(user presence.UserID) {
	a.users.with(user, func(u *knownUser) {
		if u.saidIdle() {
			u.viewed = momentOf(time.Now())
			a.lookLocked(u)
		}
	})
}

// look updates the leases of a user's connections here: whether somebody is at the pages.
func (a *attention) look(user presence.UserID) { a.users.with(user, a.lookLocked) }

func (a *attention) lookLocked(u *knownUser) {
	now := momentOf(time.Now())
	if u.attendedHere() {
		u.left = 0
		a.sayLocked(u, false)
		a.lookLaterLocked(u, u.silentAt())
		return
	}
	if u.left == 0 {
		u.left = now
	}
	due := u.left.add(leaveTaking)
	if until := u.viewed.add(attendedFor); until > now {
		a.sayLocked(u, false)
		due = until
	}
	if due <= now {
		a.sayLocked(u, true)
	} else if u.mayTurn() {
		a.lookLaterLocked(u, due)
	}
}

// A laterLook is a call of look that is due later.
type laterLook struct {
	at    moment
	timer *time.Timer
}

// lookLaterLocked schedules a look at a user, unless an earlier one is scheduled. A user has one timer at
// most. The zero moment schedules nothing.
func (a *attention) lookLaterLocked(u *knownUser, at moment) {
	if at == 0 || u.looks != nil && u.looks.at <= at {
		return
	}
	if u.looks != nil {
		u.looks.timer.Stop()
	}
	user, l := u.id, &laterLook{at: at}
	u.looks = l
	l.timer = time.AfterFunc(time.Duration(at-momentOf(time.Now())), func() { a.lookAgain(user, l) })
}

// lookAgain is look when it is due.
func (a *attention) lookAgain(user presence.UserID, l *laterLook) {
	a.users.with(user, func(u *knownUser) {
		if u.looks == l && !a.users.closed {
			u.looks = nil
			a.lookLocked(u)
		}
	})
}

// sayLocked writes whether somebody is at a user's pages here, for each connection whose lease says
// otherwise. A connection whose leases are not made yet gets it with its join.
func (a *attention) sayLocked(u *knownUser, idle bool) {
	for c := range u.connections {
		if c.held.saidIdle == idle && c.held.saidAt != 0 || !c.holds() {
			continue
		}
		silent := time.Since(c.lastProof())
		if c.silentLocked() {
			continue // the page has told nothing new
		}
		c.held.saidIdle, c.held.saidAt = idle, momentOf(time.Now())
		if !c.held.leased {
			continue
		}
		for _, topic := range c.heldTopics() {
			a.writer.add(topic, backend.Op{Kind: backend.OpAttend, User: presence.User{ID: c.member(topic)}, Holder: c.id, For: a.cfg.ttl(topic) - silent, Idle: idle})
		}
	}
}

// elsewhere returns the operations of a beat for another node's connection. They include what its page tells,
// if this node does not know it yet.
func (a *attention) elsewhere(c claim, beat backend.OpKind, idle *bool) []backend.Op {
	ops := []backend.Op{{Kind: beat}}
	if idle == nil || a.writer.full(c.user) {
		return ops
	}
	shown := a.showsIdle(c.user, c.topics, c.member)
	switch said := (backend.Op{Kind: backend.OpAttend, Idle: *idle}); {
	case !a.hears(c, *idle, shown):
		return ops
	case beat == backend.OpHeartbeat:
		return []backend.Op{said}
	default:
		return append(ops, said)
	}
}

// hears takes what the page of another node's connection tells, and reports whether to write it now. shown
// says whether a topic shows the user as idle.
//
// A change that comes within leaveTaking of the previous one waits until that time is over, and then the
// latest word counts. So a page cannot turn its user more often. The latest word is written soon, although
// the page's next beat comes only after 20 s.
//
// Example: Alice leaves her page at 12:00:00.0, and its beat here says so at once. She is back at 12:00:00.4,
// and the page says that too. It is written at 12:00:01.0.
func (a *attention) hears(c claim, idle, shown bool) (now bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	at := momentOf(time.Now())
	h, known := a.heard.Get(c.id)
	switch news := !known || h.isNews(idle, shown); {
	case news && h.pause(at) > 0:
		if h.waits == 0 {
			time.AfterFunc(h.pause(at), func() { a.sayLate(c) })
		}
		h.latest, h.waits = idle, at
	case news, h.at.add(heardFor) <= at:
		if news && (known || idle != shown) { // a report that agrees with the roster changed nothing
			h.turned = at
		}
		h.idle, h.at, h.waits, now = idle, at, 0, true
	case h.waits != 0:
		h.latest, h.waits = idle, at
	default:
		return false
	}
	a.heard.Set(c.id, h)
	return now
}

// isNews reports whether a page's report differs from what was written, or from what is shown.
func (h hearing) isNews(idle, shown bool) bool { return idle != h.idle || !idle && shown }

// pause returns how long a change has to wait.
func (h hearing) pause(now moment) time.Duration {
	if now < h.turned { // the clock was set back
		return 0
	}
	return time.Duration(h.turned.add(leaveTaking) - now)
}

// sayLate writes the latest word of another node's page, if it waits and is news.
func (a *attention) sayLate(c claim) {
	if a.life.over() {
		return
	}
	shown := a.showsIdle(c.user, c.topics, c.member)
	a.mu.Lock()
	defer a.mu.Unlock()
	now := momentOf(time.Now())
	h, known := a.heard.Get(c.id)
	switch {
	case !known || h.waits == 0:
		return
	case h.pause(now) > 0:
		time.AfterFunc(h.pause(now), func() { a.sayLate(c) })
		return
	}
	idle, proof := h.latest, max(0, time.Duration(now-h.waits))
	h.waits = 0
	if h.isNews(idle, shown) && !a.writer.full(c.user) { // otherwise the next beat writes it
		h.idle, h.at, h.turned = idle, now, now
		for _, topic := range c.topics {
			if left := a.cfg.ttl(topic) - proof; left > 0 {
				a.writer.addForeign(topic, backend.Op{Kind: backend.OpAttend, User: presence.User{ID: c.member(topic)}, Holder: c.id, For: left, Idle: idle})
			}
		}
	}
	a.heard.Replace(c.id, h)
}

// attendedHere reports whether somebody is at a page of the user on this node.
func (u *knownUser) attendedHere() bool {
	for c := range u.connections {
		if c.holds() && !c.idle.Load() && !c.silentLocked() {
			return true
		}
	}
	return false
}

// silentAt returns when nobody will count as being at a page of the user on this node, unless a page reports
// before: the pages with somebody will count as silent by then. It returns zero if no such moment exists: one
// of these pages sends no beats, or there is no other page.
func (u *knownUser) silentAt() (at moment) {
	if len(u.connections) < 2 {
		return 0
	}
	others := false
	for c := range u.connections {
		switch {
		case !c.holds() || c.silentLocked():
		case c.idle.Load():
			others = true
		case !c.beat.Load():
			return 0
		default:
			at = max(at, moment(c.beaten.Load()).add(c.ttl()))
		}
	}
	if !others {
		return 0
	}
	return at
}

// saidIdle reports whether the lease of a connection here is idle.
func (u *knownUser) saidIdle() bool {
	for c := range u.connections {
		if c.held.saidIdle {
			return true
		}
	}
	return false
}

// mayTurn reports whether the lease of a connection here is not idle, or may not be.
func (u *knownUser) mayTurn() bool {
	for c := range u.connections {
		if (!c.held.saidIdle || c.held.saidAt == 0) && c.holds() {
			return true
		}
	}
	return false
}
