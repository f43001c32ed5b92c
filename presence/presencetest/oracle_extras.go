package presencetest

import (
	"cmp"
	"slices"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
)

// oracleExtras are what an oracle knows of a topic by rules 8 and 9.
type oracleExtras struct {
	keep  presence.Keep
	start time.Time // of the game

	names map[presence.UserID]rememberedUser
	bots  map[string]namedBot // by the crawler's id
	peak  backend.Peak

	stepped bool // the latest move was a step in the topic
}

// A rememberedUser is a user whom rule 9 remembers.
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
	held   bool          // before the step or in it
	viewed bool          // a page
	ended  bool          // something ended, or was chosen: it is remembered
	quits  bool          // signed out, and nothing holds the user
	signs  time.Duration // the latest sign-out
	parts  bool          // a release or a sign-out
	hid    time.Duration // the moment of the update by which the user hides; 0: of another operation
	came   time.Duration // since when the user is there, if the step brings the user
}

// remember ends a step for a user, for rules 5 and 9.
func (o *oracleExtras) remember(p *person, shown bool, gone time.Duration) {
	if o.keep.Active && shown && (p.viewed || !p.shown) {
		if minute := o.start.Add(p.came).Truncate(time.Minute); minute.After(p.active) {
			p.active = minute
		}
	}
	is, there := o.names[p.ID]
	switch {
	case p.Status.Unseen() && (len(p.holds) > 0 || p.shown), p.quits && o.keep.ForgetSignedOut:
		delete(o.names, p.ID)
	case p.hides() && !p.shown: // nothing changes
	case p.viewed && !p.hides() && !p.Status.Unseen(), shown && (!p.shown || p.was.Unseen()):
		o.names[p.ID] = rememberedUser{p.User, max(is.active, p.came)}
	case p.shown && !shown:
		o.names[p.ID] = rememberedUser{p.User, max(is.active, gone)}
	case shown && there:
		o.names[p.ID] = rememberedUser{p.User, is.active}
	}
}

// lately returns the users whom rule 9 remembers, the latest active first.
func (o *oracleExtras) lately() (users []rememberedUser) {
	for _, u := range o.names {
		users = append(users, u)
	}
	slices.SortFunc(users, func(a, b rememberedUser) int {
		return cmp.Or(cmp.Compare(b.active, a.active), cmp.Compare(a.ID, b.ID))
	})
	return users
}
