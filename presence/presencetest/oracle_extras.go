package presencetest

import (
	"cmp"
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

	stepped bool // the latest move was a step in the topic
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

// A deed is what a user did in a step.
type deed struct {
	viewed bool          // a page, and no sign-out after it undid that
	out    bool          // signed out, and did not come back
	came   time.Duration // the latest page view or join, or turn to seen or visible; else noTime
}

// noDeed is what a user did who did nothing.
var noDeed = deed{came: noTime}

// comes notes that a user came by a join or page view of a moment.
func (p *person) comes(at time.Duration) { p.out, p.came = false, max(p.came, at) }

// remember ends a step for a user, for rules 15, 16 and 21.
func (o *oracleExtras) remember(p *person, shown bool) {
	if o.keep.Active && shown && (p.viewed || !p.shown) {
		if minute := o.start.Add(p.came).Truncate(time.Minute); minute.After(p.active) {
			p.active = minute
		}
	}
	is, there := o.names[p.ID]
	if !there {
		is.active = noTime
	}
	switch {
	case p.Status.Unseen(), p.out && o.keep.ForgetSignedOut:
		delete(o.names, p.ID)
	case p.hides() && !p.shown: // nothing changes
	case p.viewed && !p.hides(), shown && (!p.shown || p.unseen):
		o.names[p.ID] = rememberedUser{p.User, max(is.active, p.came)}
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
