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

// choiceOf returns a user's choice, or zero if this node does not know it.
func (p *users) choiceOf(user presence.UserID) choice {
	c, _ := p.records.choice(user)
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

// learn replaces a user's choice by the result of replace, unless that is no change. replace is called with mu held.
func (p *users) learn(user presence.UserID, replace func(was choice, known bool) (now choice, changed bool)) (now choice, changed bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if now, changed = replace(p.records.choice(user)); changed {
		p.learnLocked(user, now)
	}
	return now, changed
}

// withChoice calls do with a user's choice, with mu held: so a later choice is also written later.
func (p *users) withChoice(user presence.UserID, do func(now choice, known bool)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	do(p.records.choice(user))
}

// learnLocked remembers a choice.
func (p *users) learnLocked(user presence.UserID, learnt choice) {
	switch was, known := p.records.last(user); {
	case known && was.Status == learnt.Status && was.settings.since.Equal(learnt.settings.since): // since when it is, whoever tells it again
		learnt.at, learnt.shown = was.at, was.shown
	case known && was.hides() && !learnt.hides():
		learnt.shown = learnt.at
	default:
		learnt.shown = was.shown
	}
	p.records.learn(user, learnt)
	p.learnt(user, learnt)
	p.questions.answered(user)
}

// answer takes the answer to a question about a user whose choice this node does not know yet. It reports false for an
// answer to a reopened question about another one.
func (p *users) answer(user presence.UserID, answer choice) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	again := p.questions.closeLocked(user)
	_, known := p.records.choice(user)
	if _, waits := p.questions.waiting[user]; known || !waits {
		return !again
	}
	if last, _ := p.records.last(user); last.rev() > answer.rev() { // the store lost what this node has heard of
		answer, answer.unsure = last, false
	}
	p.learnLocked(user, answer)
	return true
}

// forgetChoices forgets what users chose but for those whom keep names, and returns their choices. keep is called with mu
// held.
func (p *users) forgetChoices(keep func(presence.UserID, choice) bool) (kept map[presence.UserID]choice) {
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
