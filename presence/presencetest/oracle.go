package presencetest

import (
	"cmp"
	"maps"
	"math"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
)

// An oracle is a topic by the rules, written to be read rather than to be fast: it has no
// index and no log. Its times are counted from the beginning of the game.
type oracle struct {
	now    time.Duration
	people map[presence.UserID]*person       // users with leases, expired ones too
	left   map[presence.UserID]time.Duration // last seen of users who left
	told   map[presence.UserID]time.Duration // what the latest leave told; noTime: nothing
	views  map[presence.UserID]time.Duration // latest page view
	guests map[string]time.Duration
	oracleExtras
}

// noTime is before every moment, as what never happened. It is also a last seen that is not told (rule 21).
const noTime time.Duration = math.MinInt64

// A person is a user with leases.
type person struct {
	presence.User
	leases map[presence.Holder]hold
	shown  bool          // in the roster
	unseen bool          // after the latest step
	since  time.Duration // of being shown
	active time.Time     // of rule 16
	idle   bool          // of rule 24, after the latest step
	proof  time.Duration // the last proof of life (rule 7)
	joined time.Duration // the latest join or keep since the leases began; else noTime
	lapsed time.Duration // last seen, if a user who is shown had no lease left, and did not come back visible; else noTime
	deed                 // in the step that goes on
}

// A hold is one lease.
type hold struct {
	until  time.Duration
	length time.Duration // from what last lengthened it, such as a join or page view, to its end
	idle   bool          // of rule 24
	pages  int
}

// connects reports whether a lease is a connection's.
func connects(h presence.Holder, _ hold) bool { return h.IsConnection() }

// beat renews a lease, and never shortens it. It returns the proof of life, which was earlier if
// the lease has a greater length (rule 7).
func (h hold) beat(now, length time.Duration) (hold, time.Duration) {
	until := now + length
	h.until, h.length = max(h.until, until), max(h.length, length)
	return h, until - h.length
}

// lengthen renews a lease by a join, a page view or a grace, and never ends it sooner.
func (h hold) lengthen(until, length time.Duration) hold {
	if until > h.until {
		h.until, h.length = until, length
	}
	return h
}

func newOracle(keep presence.Keep, start time.Time) *oracle {
	return &oracle{
		people: make(map[presence.UserID]*person),
		left:   make(map[presence.UserID]time.Duration),
		told:   make(map[presence.UserID]time.Duration),
		views:  make(map[presence.UserID]time.Duration),
		guests: make(map[string]time.Duration),
		oracleExtras: oracleExtras{
			keep: keep, start: start, names: make(map[presence.UserID]rememberedUser), bots: make(map[string]namedBot),
		},
	}
}

// person returns the user of an operation, made if it is new: without expired leases (rule 1),
// but for a heartbeat or keep, which sweeps nobody.
func (o *oracle) person(op backend.Op) *person {
	id := op.User.ID
	p := o.people[id]
	if p == nil {
		p = &person{User: presence.User{ID: id}, leases: make(map[presence.Holder]hold), proof: noTime, joined: noTime, lapsed: noTime, deed: noDeed}
		o.people[id] = p
	}
	if !renews(op) {
		p.lapse(o.now)
		if p.shown && p.lapsed == noTime && len(p.leases) == 0 {
			p.lapsed = p.proof
		}
	}
	return p
}

// apply does one operation, and reports whether it found the lease that it renews, or the user whom it updates.
func (o *oracle) apply(op backend.Op) (found bool) {
	switch op.Kind {
	case backend.OpGuest:
		o.guests[op.Guest] = o.now
		return true
	case backend.OpForgetGuest:
		delete(o.guests, op.Guest)
		return true
	case backend.OpBot:
		if backend.ValidBotName(op.Bot) {
			o.bots[op.Guest] = namedBot{op.Bot, o.now}
		}
		return true
	case backend.OpPeak:
		o.peak = o.peak.Better(op.Peak)
		return true
	case backend.OpResetPeak:
		now := o.start.Add(o.now)
		o.peak = backend.Peak{At: now, Since: now}
		return true
	}
	return o.act(o.person(op), op)
}

func (o *oracle) act(p *person, op backend.Op) (found bool) {
	lease, held := p.leases[op.Holder]
	at, until := o.now-op.Ago, o.now+op.For
	switch op.Kind {
	case backend.OpJoin:
		o.take(p, op.User)
		p.proof = o.now
		p.comes(o.now)
		p.speak(op, lease.lengthen(until, op.For), at)
	case backend.OpSeen:
		o.take(p, op.User)
		p.proof = max(p.proof, at)
		p.comes(at)
		p.viewed = true
		if len(p.leases) == 0 || at >= p.joined {
			p.leases[presence.HolderWeb] = p.leases[presence.HolderWeb].lengthen(until, op.For+op.Ago)
		}
	case backend.OpHeartbeat, backend.OpKeep:
		if lease.until <= o.now {
			if op.Kind != backend.OpKeep || !p.holds(func(h presence.Holder, other hold) bool { return connects(h, other) && other.until > o.now }) {
				return false
			}
			lease = hold{} // it makes one
		}
		lease, proof := lease.beat(o.now, op.For)
		p.proof = max(p.proof, proof)
		p.leases[op.Holder] = lease
		if op.Kind == backend.OpKeep {
			p.speak(op, lease, at)
		}
	case backend.OpRelease:
		if held {
			p.proof = o.now
			delete(p.leases, op.Holder)
			if op.For > 0 {
				held, already := p.leases[presence.HolderGrace]
				held.idle = lease.idle && (held.idle || !already)
				p.leases[presence.HolderGrace] = held.lengthen(until, op.For)
			}
		}
	case backend.OpDrop:
		delete(p.leases, op.Holder)
	case backend.OpSignOut, backend.OpSignOff:
		o.hide(p, op)
		o.signOut(p, op, at)
	case backend.OpUpdate:
		if len(p.leases) == 0 {
			return false
		}
		o.update(p, op)
	}
	return true
}

// speak takes what a node says of its pages: it speaks for the page views until a moment (rules 6 and 24).
func (p *person) speak(op backend.Op, lease hold, at time.Duration) {
	lease.idle, lease.pages = op.Idle, op.Pages
	p.leases[op.Holder] = lease
	p.joined = max(p.joined, at)
	p.endViews(at)
}

// endViews ends the lease of a page view of a moment or before.
func (p *person) endViews(at time.Duration) {
	if web := p.leases[presence.HolderWeb]; web.until-web.length <= at {
		delete(p.leases, presence.HolderWeb)
	}
}

// hide makes a user invisible of whom a sign-out says so.
func (o *oracle) hide(p *person, op backend.Op) {
	if op.User.Status.Base() == presence.Invisible {
		o.choose(p, op.User)
	}
}

// signOut ends what held the user at a moment, unless the user joined after it. That of one browser ends no more than
// a page view, if a connection holds the user (rule 19).
func (o *oracle) signOut(p *person, op backend.Op, at time.Duration) {
	if len(p.leases) > 0 && !p.hides() {
		p.proof = max(p.proof, at)
	}
	p.endViews(at)
	if op.Kind == backend.OpSignOff && p.holds(connects) {
		return
	}
	if p.joined <= at {
		maps.DeleteFunc(p.leases, func(h presence.Holder, _ hold) bool { return h != presence.HolderWeb })
	}
	switch {
	case len(p.leases) > 0: // the user has come back
	case p.hides():
		p.viewed = false
	default:
		p.out = true
		if o.keep.Names == 0 || o.keep.ForgetSignedOut {
			delete(o.views, p.ID)
			p.viewed = false
		}
	}
}

// lapse ends the expired leases of a user.
func (p *person) lapse(now time.Duration) {
	had := len(p.leases)
	maps.DeleteFunc(p.leases, func(_ presence.Holder, lease hold) bool { return lease.until <= now })
	if had > 0 && len(p.leases) == 0 {
		p.Rev, p.joined = 0, noTime
	}
}

// holds reports whether the user has such a lease.
func (p *person) holds(such func(presence.Holder, hold) bool) bool {
	for h, lease := range p.leases {
		if such(h, lease) {
			return true
		}
	}
	return false
}

// nobodyThere reports whether the user is idle (rule 24).
func (p *person) nobodyThere() bool {
	return len(p.leases) > 0 && !p.holds(func(_ presence.Holder, lease hold) bool { return !lease.idle })
}

// hides reports whether others do not see the user (rule 2).
func (p *person) hides() bool { return p.Status.Base() == presence.Invisible }

// take stores a profile. Without a status it keeps the former one, or online.
func (o *oracle) take(p *person, u presence.User) {
	u = o.revised(p, u)
	o.turn(p, u.Status)
	p.User = u
}

// choose stores a status alone.
func (o *oracle) choose(p *person, u presence.User) {
	u = o.revised(p, u)
	o.turn(p, u.Status)
	p.Rev = u.Rev
}

// revised returns a profile with the status that counts (rule 28).
func (o *oracle) revised(p *person, u presence.User) presence.User {
	if u.Status == "" || u.Rev != presence.RevOfSite && u.Rev < p.Rev {
		u.Status, u.Rev = p.Status, p.Rev
	}
	u.Status, u.Rev = cmp.Or(u.Status, presence.Online), max(u.Rev, p.Rev)
	return u
}

func (o *oracle) update(p *person, op backend.Op) {
	hid := p.hides()
	if op.User.StatusOnly() {
		o.choose(p, op.User)
	} else {
		o.take(p, op.User)
	}
	if op.Ago > 0 && p.hides() && !hid && p.lapsed == noTime {
		p.lapsed = max(o.now-op.Ago, p.since) // the user left then
	}
}

// turn sets a status. Turning seen, visible or invisible is a proof of life (rules 2 and 21). Who
// had left and comes back visible, or seen, leaves anew after that.
func (o *oracle) turn(p *person, to presence.Status) {
	shows, hides := p.Status.Unseen() && !to.Unseen(), to.Base() == presence.Invisible
	if shows || p.hides() != hides {
		p.proof = o.now
		p.came = o.now
	}
	if shows || !hides {
		p.lapsed = noTime
	}
	p.Status = to
}

// settle updates after a step whether others see the user (rule 2), and what is kept and
// told of one who left (rules 7 and 21).
func (o *oracle) settle(id presence.UserID) {
	p := o.people[id]
	if p == nil {
		return
	}
	shown := len(p.leases) > 0 && !p.hides()
	if p.came == noTime {
		p.came = o.now
	}
	switch {
	case shown && !p.shown:
		p.since = p.came
		delete(o.left, id)
	case !shown && p.shown && p.Status.Unseen():
		o.told[id] = noTime
	case !shown && p.shown:
		o.left[id], o.told[id] = p.gone(), p.gone()
	}
	if p.viewed && !p.hides() {
		o.views[id] = o.now
	}
	if p.Status.Unseen() {
		delete(o.left, id)
	}
	o.remember(p, shown)
	p.lapsed, p.deed = noTime, noDeed
	p.shown, p.unseen, p.idle = shown, p.Status.Unseen(), p.nobodyThere()
	if len(p.leases) == 0 {
		delete(o.people, id)
	}
}

// sweep removes expired leases of the given users, or of all.
func (o *oracle) sweep(only func(*person) bool) {
	for id, p := range o.people {
		if only(p) {
			p.lapse(o.now)
			o.settle(id)
		}
	}
}

// trim forgets users last seen more than keep ago.
func (o *oracle) trim(keep time.Duration) {
	for id, at := range o.left {
		if o.now-at > keep {
			delete(o.left, id)
		}
	}
}

// gone returns when a user left whom others see no more. Who came back invisible had left
// before.
func (p *person) gone() time.Duration {
	if p.lapsed != noTime && p.hides() {
		return p.lapsed
	}
	return p.proof
}

// within counts the users who came less than d ago.
func within[K comparable](at map[K]time.Duration, now, d time.Duration) (n int) {
	for _, t := range at {
		if now-t < d {
			n++
		}
	}
	return n
}
