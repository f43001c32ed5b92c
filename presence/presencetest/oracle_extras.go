package presencetest

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
)

// oracleExtras are what an oracle knows of a topic by rules 15 to 18.
type oracleExtras struct {
	keep  presence.Keep
	start time.Time // of the game

	names map[presence.UserID]rememberedUser
	bots  map[string]namedBot // by the crawler's id
	peak  backend.Peak

	deeds     map[presence.UserID]*deed // in the step that goes on
	signedOff []signedOff               // in this step
	tabs      map[presence.UserID]*tabs // in this step
	stepped   bool                      // the latest move was a step in the topic
}

// A rememberedUser is a user whom rule 15 remembers.
type rememberedUser struct {
	presence.User
	active time.Duration
}

type namedBot struct {
	name string
	at   time.Duration
}

// A signedOff is one OpSignOff.
type signedOff struct {
	*person
	holder presence.Holder
	left   bool // the user had another connection then
}

// tabs are what became of a user's connections in a step.
type tabs struct {
	began bool // one joined, or was followed
	ended bool // one was released or dropped
	web   bool // a page view held the user too
}

// A deed is what a user did in a step.
type deed struct {
	viewed bool // a page, and no sign-out after it undid that
	out    bool // signed out, and did not come back
	veiled bool // signed out while invisible
	older  bool // brought a choice that is older than that of the topic
}

func newOracleExtras(keep presence.Keep, start time.Time) oracleExtras {
	return oracleExtras{
		keep: keep, start: start,
		names: make(map[presence.UserID]rememberedUser),
		bots:  make(map[string]namedBot),
		deeds: make(map[presence.UserID]*deed),
	}
}

func (o *oracleExtras) did(id presence.UserID) *deed {
	if o.deeds[id] == nil {
		o.deeds[id] = &deed{}
	}
	return o.deeds[id]
}

// begin starts a step.
func (o *oracleExtras) begin() {
	o.signedOff, o.tabs = nil, make(map[presence.UserID]*tabs)
}

// noteTabs notes what an operation does to the connections of a user, who has leases. found says
// whether the operation found the lease of its holder.
func (o *oracleExtras) noteTabs(op backend.Op, found bool, leases map[presence.Holder]hold) {
	t := o.tabs[op.User.ID]
	if t == nil {
		t = &tabs{}
		o.tabs[op.User.ID] = t
	}
	_, web := leases[presence.HolderWeb]
	t.web = t.web || web
	switch connection := op.Holder.IsConnection(); op.Kind {
	case backend.OpJoin:
		t.began = t.began || connection && !found
	case backend.OpFollow:
		t.began = t.began || found
	case backend.OpRelease, backend.OpDrop:
		t.ended = t.ended || connection && found
	}
}

// remember ends a step for a user, for rules 15, 16 and 21.
func (o *oracleExtras) remember(p *person, shown bool, now time.Duration) {
	did := *o.did(p.ID)
	delete(o.deeds, p.ID)
	if o.keep.Active && shown && (did.viewed || !p.shown) {
		p.active = o.start.Add(now).Truncate(time.Minute)
	}
	is, there := o.names[p.ID]
	switch {
	case p.Status.Unseen(), did.out && o.keep.ForgetSignedOut:
		delete(o.names, p.ID)
	case p.hides() && !p.shown: // nothing changes
	case did.viewed && !p.hides(), shown && (!p.shown || p.unseen):
		o.names[p.ID] = rememberedUser{p.User, now}
	case p.shown && !shown:
		o.names[p.ID] = rememberedUser{p.User, max(is.active, p.gone())}
	case shown && there:
		o.names[p.ID] = rememberedUser{p.User, is.active}
	}
}

// lately returns the users whom rule 15 remembers, the latest active first.
func (o *oracleExtras) lately() (users []rememberedUser) {
	for _, u := range o.names {
		users = append(users, u)
	}
	slices.SortFunc(users, func(a, b rememberedUser) int {
		return cmp.Or(cmp.Compare(b.active, a.active), cmp.Compare(a.ID, b.ID))
	})
	return users
}

// repeatable reports whether the step that ends has no effect if it is repeated. A sign-off
// must find other connections of the user the second time if and only if it did the first
// time. Connections that begin and end may end a page view's lease the second time (rule 12).
// Nor is the grace after them as idle the second time. Of an invisible or unseen user who lost all leases the repetition would not know the status,
// nor of one who signed out invisible and came back visible. It would take an older choice of a user who lost all leases,
// since the revision went with them.
func (o *oracle) repeatable(ops []backend.Op) bool {
	for id, t := range o.tabs {
		if t.began && t.ended && (t.web || o.graceTurns(id, ops)) {
			return false
		}
	}
	for id, did := range o.deeds {
		if p := o.people[id]; p != nil && (did.veiled && !p.hides() || len(p.leases) == 0 && (p.hides() || p.Status.Unseen() || did.older)) {
			return false
		}
	}
	return !slices.ContainsFunc(o.signedOff, func(s signedOff) bool {
		return s.left != s.person.connectedBeside(s.holder)
	})
}

// graceTurns reports whether the same operations once more would make the grace of a user
// attended, which was idle (rules 12 and 24).
func (o *oracle) graceTurns(id presence.UserID, ops []backend.Op) bool {
	p, ok := o.people[id]
	was, held := presence.HolderGrace, ok && p.leases[presence.HolderGrace].idle
	if !held {
		return false
	}
	again := newOracle(o.keep, o.start)
	again.now, again.order = o.now, o.order
	twin := *p
	twin.leases = maps.Clone(p.leases)
	again.people[id] = &twin
	for _, op := range ops {
		if op.User.ID == id {
			again.act(&twin, op)
		}
	}
	return !twin.leases[was].idle
}

// connectedBeside reports whether another connection holds the user.
func (p *person) connectedBeside(holder presence.Holder) bool {
	for h := range p.leases {
		if h != holder && h.IsConnection() {
			return true
		}
	}
	return false
}

func (o *oracleExtras) countBot(op backend.Op, now time.Duration) {
	if backend.ValidBotName(op.Bot) {
		o.bots[op.Guest] = namedBot{op.Bot, now}
	}
}

// record ends a step with so many online.
func (o *oracle) record(online int) {
	if online > o.peak.Total {
		o.peak.Total, o.peak.At = online, o.start.Add(o.now)
	}
}
