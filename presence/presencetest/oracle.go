package presencetest

import (
	"cmp"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
)

// An oracle is a topic by the rules, written to be read rather than to be fast: it has no
// index and no log. Its times are counted from long before the game: 0 is never.
type oracle struct {
	now    time.Duration
	people map[presence.UserID]*person       // of whom something is known
	left   map[presence.UserID]time.Duration // last seen of users who left
	told   map[presence.UserID]time.Duration // what the latest leave told; 0: nothing
	views  map[presence.UserID]time.Duration // latest page view
	guests map[string]time.Duration
	oracleExtras
}

// memory is how long a store knows what ended (rule 3).
const memory = 10 * time.Second

// A person is what is known of a user (rule 3).
type person struct {
	presence.User
	profiled time.Duration            // the moment of the profile
	known    bool                     // a profile came since something holds the user
	words    map[presence.Holder]word // the latest of each connection, also of one that has ended
	holds    map[presence.Holder]hold // connections, the page view and the grace
	joined   time.Duration            // the latest moment at which a page joined
	out, off time.Duration            // the latest sign-out, and the latest of these and of those of one browser
	seen     time.Duration            // the last proof of life of what ended (rule 5)
	until    time.Duration            // of the memory
	shown    bool                     // in the roster
	was      presence.Status          // after the latest step
	since    time.Duration            // of being shown
	active   time.Time                // of rule 9
	idle     bool                     // of rule 6, after the latest step
	deed                              // in the step that goes on
}

// A word is the generation and the revision of what a process said of a connection.
type word struct {
	gen int32
	rev int64
}

func (w word) before(v word) bool { return w.gen < v.gen || w.gen == v.gen && w.rev < v.rev }

// A hold is one lease.
type hold struct {
	until  time.Duration
	length time.Duration // from its proof of life to its end
	joined time.Duration // when the latest of its pages joined
	idle   bool          // of rule 6
	pages  int
}

// proof is the moment of what made the lease.
func (h hold) proof() time.Duration { return h.until - h.length }

func newOracle(keep presence.Keep, start time.Time) *oracle {
	return &oracle{
		now:    24 * time.Hour,
		people: make(map[presence.UserID]*person),
		left:   make(map[presence.UserID]time.Duration),
		told:   make(map[presence.UserID]time.Duration),
		views:  make(map[presence.UserID]time.Duration),
		guests: make(map[string]time.Duration),
		oracleExtras: oracleExtras{
			keep: keep, start: start.Add(-24 * time.Hour), names: make(map[presence.UserID]rememberedUser), bots: make(map[string]namedBot),
		},
	}
}

// step does a batch, and returns the indexes of what is unknown.
func (o *oracle) step(ops []backend.Op) (unknown []int) {
	touched := make(map[presence.UserID]*person)
	lost := make(map[int]bool)
	for i, op := range ops {
		switch op.Kind {
		case backend.OpGuest:
			o.guests[op.Guest] = o.now
		case backend.OpForgetGuest:
			delete(o.guests, op.Guest)
		case backend.OpBot:
			if backend.ValidBotName(op.Bot) {
				o.bots[op.Guest] = namedBot{op.Bot, o.now}
			}
		case backend.OpPeak:
			if now := o.start.Add(o.now); op.Peak == (backend.Peak{}) {
				o.peak = backend.Peak{At: now, Since: now}
			}
			o.peak = o.peak.Better(op.Peak)
		case backend.OpHeartbeat:
			lost[i] = true
			if p := o.people[op.User.ID]; p != nil {
				if lease, there := p.holds[op.Holder]; there {
					lease.until, lost[i] = max(lease.until, o.now+op.For), false
					p.holds[op.Holder] = lease
				}
			}
		default:
			p := o.person(op.User.ID)
			touched[p.ID] = p
			p.held = p.held || len(p.holds) > 0
			o.merge(p, op)
			p.held = p.held || len(p.holds) > 0
		}
	}
	for _, p := range touched {
		o.settle(p)
	}
	for i, op := range ops {
		if op.Kind == backend.OpKeep {
			p := touched[op.User.ID]
			_, holds := p.holds[op.Holder]
			lost[i] = !holds || !p.known
		}
		if lost[i] {
			unknown = append(unknown, i)
		}
	}
	return unknown
}

func (o *oracle) person(id presence.UserID) *person {
	p := o.people[id]
	if p == nil {
		p = &person{User: presence.User{ID: id, Status: presence.Online}, words: make(map[presence.Holder]word), holds: make(map[presence.Holder]hold)}
		o.people[id] = p
	}
	return p
}

// merge takes what an operation says of a user.
func (o *oracle) merge(p *person, op backend.Op) {
	at, joined := o.now-op.Ago, o.now-op.Joined
	lease := hold{o.now + op.For, op.For + op.Ago, joined, op.Idle, op.Pages}
	says := word{op.Gen, op.Rev}
	said, spoke := p.words[op.Holder]
	newest := !spoke || !says.before(said)
	switch op.Kind {
	case backend.OpJoin, backend.OpKeep:
		if op.Kind == backend.OpJoin {
			p.choose(op.User, 0)
			p.take(op.User, joined)
		}
		p.joined, p.came = max(p.joined, joined), o.now
		if newest {
			p.words[op.Holder], p.holds[op.Holder] = says, lease
		}
	case backend.OpSeen:
		p.choose(op.User, 0)
		p.take(op.User, at)
		p.viewed, p.came = true, max(p.came, at)
		if web, there := p.holds[presence.HolderWeb]; !there || at >= web.proof() {
			p.holds[presence.HolderWeb] = lease
		}
	case backend.OpRelease:
		p.ended, p.parts, p.seen = true, true, max(p.seen, at)
		if newest {
			p.words[op.Holder] = says
			delete(p.holds, op.Holder)
		}
		lease.pages = 0
		if grace, there := p.holds[presence.HolderGrace]; op.For > 0 && (!there || lease.until > grace.until) {
			p.holds[presence.HolderGrace] = lease
		}
	case backend.OpSignOut, backend.OpSignOff:
		p.choose(op.User, 0)
		p.ended, p.parts, p.signs = true, true, max(p.signs, at)
		p.off = max(p.off, at)
		if op.Kind == backend.OpSignOut {
			p.out = max(p.out, at)
		}
	case backend.OpUpdate:
		p.choose(op.User, at)
		p.ended = true
	}
}

// take stores a profile of a moment, unless there is a later one.
func (p *person) take(u presence.User, at time.Duration) {
	if at >= p.profiled {
		u.Status, u.Visibility, u.Rev = p.Status, p.Visibility, p.Rev
		p.User, p.profiled = u, at
	}
	p.known = true
}

// choose stores a choice, unless there is one of a greater revision. Of an update by which the user hides it notes the moment.
func (p *person) choose(u presence.User, at time.Duration) {
	if u.Status == "" || u.Rev < p.Rev {
		return
	}
	p.Status, p.Rev = u.Status, u.Rev
	if p.hides() && at > 0 {
		p.hid = at
	}
}

// hides reports whether others do not see the user (rule 2).
func (p *person) hides() bool { return p.Status.Base() == presence.Invisible }

// clean ends what does not hold the user (rule 3).
func (p *person) clean() {
	for h, lease := range p.holds {
		at := lease.proof()
		switch h {
		case presence.HolderWeb:
			if at > max(p.off, p.joined) {
				continue
			}
			p.seen = max(p.seen, at)
		case presence.HolderGrace:
			if at > p.off && (p.joined > p.out || p.out == 0) {
				continue
			}
		default:
			if lease.joined > p.out {
				continue
			}
		}
		delete(p.holds, h)
		p.ended = true
	}
}

// settle ends a step for a user: what holds the user, whether others see that (rule 2), and what is kept and
// told of one who left (rule 5).
func (o *oracle) settle(p *person) {
	id := p.ID
	if p.signs > 0 && p.held && (p.shown || !p.hides()) {
		p.seen = max(p.seen, p.signs)
	}
	p.clean()
	held, live := len(p.holds) > 0, p.holdsAny(func(_ presence.Holder, lease hold) bool { return lease.until > o.now })
	shown := held && p.known && !p.hides() && (p.shown || live)
	p.came = cmp.Or(p.came, o.now)
	if p.was.Unseen() && !p.Status.Unseen() || p.was.Base() == presence.Invisible && !p.hides() {
		p.seen, p.came = o.now, o.now // a proof of life (rules 2 and 5)
	}
	gone := cmp.Or(p.seen, o.now)
	switch {
	case p.hides() && p.hid > 0:
		gone = max(p.hid, p.since)
	case p.hides() && !p.parts:
		gone = o.now
	}
	switch {
	case shown && !p.shown:
		p.since = p.came
		delete(o.left, id)
	case !shown && p.shown && p.Status.Unseen():
		o.told[id] = 0
	case !shown && p.shown:
		o.left[id], o.told[id] = gone, gone
	}
	p.quits = p.signs > 0 && !held && !p.hides()
	switch {
	case p.quits && (o.keep.Names == 0 || o.keep.ForgetSignedOut):
		delete(o.views, id)
	case p.viewed && !p.hides():
		o.views[id] = o.now
	}
	if p.Status.Unseen() && (held || p.shown) {
		delete(o.left, id)
	}
	o.remember(p, shown, gone)
	if held {
		p.until = 0
	} else if p.known = false; p.ended {
		p.until = o.now + memory
	}
	p.shown, p.was, p.deed = shown, p.Status, deed{}
	p.idle = held && !p.holdsAny(func(_ presence.Holder, lease hold) bool { return !lease.idle })
}

// holdsAny reports whether such a lease holds the user.
func (p *person) holdsAny(such func(presence.Holder, hold) bool) bool {
	for h, lease := range p.holds {
		if such(h, lease) {
			return true
		}
	}
	return false
}

// sweep removes those expired leases that such names, and with forgets what was remembered long enough.
func (o *oracle) sweep(forgets bool, such func(*person, presence.Holder) bool) {
	for id, p := range o.people {
		over, had := p.until <= o.now, len(p.holds)
		for h, lease := range p.holds {
			if lease.until <= o.now && such(p, h) {
				p.seen = max(p.seen, lease.proof())
				delete(p.holds, h)
				delete(p.words, h)
			}
		}
		if len(p.holds) < had {
			o.settle(p)
		}
		if over && len(p.holds) == 0 && (forgets || had > 0) {
			delete(o.people, id)
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

// within counts the users who came less than d ago.
func within[K comparable](at map[K]time.Duration, now, d time.Duration) (n int) {
	for _, t := range at {
		if now-t < d {
			n++
		}
	}
	return n
}
