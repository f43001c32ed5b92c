package track

import (
	"time"

	"github.com/rollcall-go/rollcall/presence"
)

// What this node knows of the users' choices. See choices for how it learns of them, and
// questions for what it has yet to learn.

// A choice is what a user chose. Status is what rosters show for the settings: see settings_shown.go.
type choice struct {
	presence.Status
	at       time.Time // since when this is the status; zero: unknown
	shown    time.Time // when the user last ended to hide; zero: not known
	settings chosenSettings
	unsure   bool // this node may have missed a later choice
}

// rev returns the revision of a choice, by which a topic keeps the latest one.
func (c choice) rev() int64 { return c.settings.Rev }

// hides reports whether no roster but that of devices shows a user who chose this.
func (c choice) hides() bool { return c.Base() == presence.Invisible }

// choiceOf returns a user's choice, as far as this node ever knew. It may be unsure.
func (p *users) choiceOf(user presence.UserID) choice {
	c, _ := p.records.last(user)
	return c
}

// chosen returns the status that a user chose, or "" if this node knows of none.
func (p *users) chosen(user presence.UserID) presence.Status { return p.choiceOf(user).Status }

// visibilityOf returns who may see a user's devices by what the user last chose. It returns nil if this node knows
// nothing of that.
func (k *userRecords) visibilityOf(user presence.UserID) *presence.Visibility {
	c, known := k.last(user)
	if !known || c.unsure && !narrow(c.settings.Settings) {
		return nil
	}
	v := c.settings.At(time.Now()).Visibility(c.settings.since)
	return &v
}

// statusOf is [Tracker.Status].
func (p *users) statusOf(user presence.UserID) presence.Status {
	s := p.choiceOf(user).settings
	if s.Status == "" {
		return ""
	}
	return s.At(time.Now()).Status
}

// inRosters is [Tracker.InRosters].
func (p *users) inRosters(user presence.UserID) bool {
	return !p.choiceOf(user).hides()
}

// withChoice calls do with a user's choice, with mu held: so a later choice is also written later.
func (p *users) withChoice(user presence.UserID, do func(now choice, known bool)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	do(p.records.choice(user))
}

// learn replaces what this node knows of a user's choice by the result of replace, which is called with mu held. Of a user of whom it
// has never heard it knows an unsure choice without a revision. asked reports whether an answer is to a call that began since this
// node noticed that it may have missed a choice.
func (p *users) learn(user presence.UserID, answer bool, replace func(was choice, asked bool) choice) (was, now choice) {
	p.mu.Lock()
	defer p.mu.Unlock()
	is := p.questions.open[user]
	was, ever := p.records.last(user)
	was.unsure = was.unsure || !ever
	if now = replace(was, is != nil && is.asked); now != was {
		p.learnLocked(user, was, now)
	}
	if is != nil && (answer && is.asked || !is.again && !now.unsure) {
		delete(p.questions.open, user)
		close(is.answered)
	}
	return was, now
}

// learnLocked remembers a choice in place of an earlier one.
func (p *users) learnLocked(user presence.UserID, was, now choice) {
	now.shown = was.shown
	switch {
	case was.Status == now.Status && was.settings.since.Equal(now.settings.since): // since when it is, whoever tells it again
		now.at = was.at
	case was.hides() && !now.hides():
		now.shown = now.at
	}
	if p.records.learn(user, now); !now.unsure {
		p.learnt(user, now)
	}
}

// doubt makes the choices unsure but for those that keep names, and returns these. What it forgets is who chose nothing. keep is
// called with mu held.
func (p *users) doubt(keep func(presence.UserID, choice) bool) (kept map[presence.UserID]choice) {
	p.mu.Lock()
	defer p.mu.Unlock()
	kept = p.records.all()
	for id, c := range kept {
		if !keep(id, c) {
			delete(kept, id)
			p.records.doubt(id)
		}
	}
	return kept
}

// heldLocked reports whether something holds a user here, or did a moment ago.
func (p *users) heldLocked(user presence.UserID) bool {
	u := p.byID[user]
	return u != nil && len(u.connections)+len(u.views)+len(u.released) > 0
}
