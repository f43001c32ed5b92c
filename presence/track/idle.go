package track

import (
	"sync"
	"time"

	"github.com/rollcall-go/rollcall/internal/generations"
	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
)

// attention says in the leases of connections whether somebody is at their pages (rule 24 of
// [backend.Store]). The store turns a user idle, whom others see as away, in the step in which the
// last lease of the user in a topic becomes idle, and back with the first that is not. No node
// asks another.
//
// The leases of a user's connections here say all the same: whether somebody is at any of the
// user's pages here. So a node makes a user idle in all topics of these connections, or in
// none. Devices at two nodes may differ.
//
// Example: Alice has a page of the site and one of thread:1 open at node A, and a phone at
// node B that nobody holds. At 12:00:00 she stops at the page of the site, and was at the
// other an hour ago. At 12:00:01 node A writes OpAttend for both connections, in one call, and
// both topics show her as away. Node B does nothing.
type attention struct {
	cfg    *Config
	life   *lifetime
	writer *writer
	users  *users
	topics *topics

	mu    sync.Mutex // taken with no other mutex held
	heard *generations.Map[presence.Holder, hearing]
}

// A hearing is what the page of another node's connection said here.
type hearing struct {
	idle   bool   // what was written
	latest bool   // what the page said last, if that waits
	at     moment // when idle was written
	turned moment // when news was written: the next waits until a leaveTaking later
	waits  moment // when latest was said; zero: nothing waits
}

const (
	// leaveTaking is how long nobody is at any page before a node says so: a user goes from
	// one page to the next, or from one device to another. A node that hears the pages of
	// other nodes writes news of each at most this often.
	leaveTaking = time.Second
	// attendedFor is how long a page view is somebody, for a user at none of whose open pages
	// anybody is: the page may have no stream.
	attendedFor = 5 * time.Minute
	// heardFor is how long what a page said is not said again that may have told another node
	// the contrary meanwhile, since its beats come to any node.
	heardFor = time.Minute
	// maxHeard bounds heard.
	maxHeard = 50_000
)

// A moment is a time in Unix nanoseconds, a third of the size of a time.Time; 0: none.
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

// opened takes a new connection, before its leases are made: one that nobody is at, as after
// a restart, is so from the first step on.
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

// report takes what the page of a connection of this node says of itself, with a beat.
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
			c.held.saidAt = 0 // other nodes may have heard this page
		}
		a.lookLocked(u)
	})
}

// proved notes that the page is alive. After a silence it counts again, with what it said of
// itself before.
func (a *attention) proved(h *holder) {
	now := time.Now()
	last := time.Unix(0, h.beaten.Swap(now.UnixNano()))
	if h.beat.Load() && now.Sub(last) >= h.ttl() {
		a.look(h.visitor.User.ID)
	}
}

// showsIdle reports whether a topic shows a user as idle; in backend.DevicesTopic the device.
func (a *attention) showsIdle(user presence.UserID, topics []presence.Topic, member func(presence.Topic) presence.UserID) bool {
	for _, topic := range topics {
		m := a.member(topic, member(topic))
		if m.Status.Base() == presence.Idle || m.Visibility != nil && m.Visibility.Status == presence.Idle {
			return true
		}
	}
	return false
}

// member returns a user as a topic's roster here has the user; the zero Member if it does not.
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

// viewed takes a page view of a user.
func (a *attention) viewed(user presence.UserID) {
	a.users.with(user, func(u *knownUser) {
		if u.saidIdle() {
			u.viewed = momentOf(time.Now())
			a.lookLocked(u)
		}
	})
}

// look has the leases of a user's connections here say what is true now.
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

// A laterLook is a look at a user that was put off.
type laterLook struct {
	at    moment
	timer *time.Timer
}

// lookLaterLocked puts a look at a user off until a moment, unless one comes before. A user has
// one timer at most. At the zero moment there is no look.
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

// lookAgain is look at the moment for which it was put off.
func (a *attention) lookAgain(user presence.UserID, l *laterLook) {
	a.users.with(user, func(u *knownUser) {
		if u.looks == l && !a.users.closed {
			u.looks = nil
			a.lookLocked(u)
		}
	})
}

// sayLocked writes whether somebody is at a user's pages here, for each connection that said
// something else. A connection whose leases are not made yet says it as it joins.
func (a *attention) sayLocked(u *knownUser, idle bool) {
	for c := range u.connections {
		if c.held.saidIdle == idle && c.held.saidAt != 0 || !c.holds() {
			continue
		}
		silent := time.Since(c.lastProof())
		if c.silentLocked() {
			continue // that is no news of the page
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

// elsewhere adds to the operation of a beat for another node's connection what its page says,
// if that is news here.
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

// hears takes what the page of another node's connection says, and reports whether that is to be
// written now. shown says whether a topic shows its user as idle.
//
// News that comes within a leaveTaking of the latest waits until that is over, and then the last
// word counts. So a page cannot turn its user more often, and the last word is written soon,
// though the page beats again only in 20 s.
//
// Example: Alice leaves her page at 12:00:00.0, and its beat here says so at once. She is back at
// 12:00:00.4, and the page says that too. It is written at 12:00:01.0.
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
		if news && (known || idle != shown) { // what agrees with the roster turned nobody
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

// isNews reports whether what a page says differs from what was written or is shown.
func (h hearing) isNews(idle, shown bool) bool { return idle != h.idle || !idle && shown }

// pause returns how long news has to wait.
func (h hearing) pause(now moment) time.Duration {
	if now < h.turned { // the clock was set back
		return 0
	}
	return time.Duration(h.turned.add(leaveTaking) - now)
}

// sayLate writes what the page of another node's connection said last, if that waits and is news.
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
	if h.isNews(idle, shown) && !a.writer.full(c.user) { // else the next beat says it
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

// silentAt returns when nobody is at a page of the user on this node any more, unless a page
// says otherwise by then: those at which somebody is are silent. It is zero if this makes no
// difference: one of them sends no beats, or there is no other page.
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

// saidIdle reports whether the lease of a connection here says that nobody is there.
func (u *knownUser) saidIdle() bool {
	for c := range u.connections {
		if c.held.saidIdle {
			return true
		}
	}
	return false
}

// mayTurn reports whether the lease of a connection here says that somebody is there, or may.
func (u *knownUser) mayTurn() bool {
	for c := range u.connections {
		if (!c.held.saidIdle || c.held.saidAt == 0) && c.holds() {
			return true
		}
	}
	return false
}
