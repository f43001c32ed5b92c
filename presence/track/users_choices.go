package track

import (
	"maps"
	"time"

	"github.com/rollcall-go/rollcall/presence"
)

// What this node knows of the users' choices. See choices for how it learns of them, and
// questions for what it has yet to learn.

// A choice is what a user chose. Status is what rosters show for the settings: see settings_shown.go.
type choice struct {
	presence.Status
	at       time.Time       // zero: unknown
	settings *chosenSettings // nil: unknown
	unsure   bool            // this node may have missed a later choice
}

// rev returns the revision of a choice, by which a topic keeps the latest one.
func (c choice) rev() int64 {
	if c.settings == nil {
		return 0
	}
	return c.settings.Rev
}

// since returns Visibility.Since of a choice of settings.
func (c choice) since() time.Time {
	if c.settings == nil {
		return time.Time{}
	}
	return c.settings.since
}

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
	c, _ := k.last(user)
	if c.settings == nil {
		return nil
	}
	v := c.settings.At(time.Now()).Visibility(c.settings.since)
	return &v
}

// statusOf is [Tracker.Status].
func (p *users) statusOf(user presence.UserID) presence.Status {
	s, _ := p.settingsOf(user)
	if s.Status == "" {
		return ""
	}
	return s.At(time.Now()).Status
}

// inRosters is [Tracker.InRosters].
func (p *users) inRosters(user presence.UserID) bool {
	return !p.choiceOf(user).hides()
}

// settingsOf returns what a user chose, and whether this node knows it.
func (p *users) settingsOf(user presence.UserID) (presence.Settings, bool) {
	c, known := p.records.choice(user)
	if !known {
		return presence.Settings{}, false
	}
	return c.settings.Settings, true
}

// choose replaces a user's choice by the result of replace, unless that is no change. It then runs the
// functions that waited for it, and calls then with the current choice. replace and then may be nil. They are
// called with mu held, so that a later choice is also written later.
func (p *users) choose(user presence.UserID, replace func(was choice, known bool) (choice, bool), then func(now choice, known bool)) (now choice, changed bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now, known := p.records.choice(user)
	if replace != nil {
		if now, changed = replace(now, known); changed {
			known = true
			p.learnLocked(user, now)
		}
	}
	if then != nil {
		then(now, known)
	}
	return now, changed
}

// learnLocked remembers a choice, and runs the functions that waited for it.
func (p *users) learnLocked(user presence.UserID, learnt choice) {
	p.records.learn(user, learnt)
	for _, u := range p.questions.take(user) {
		if u.then != nil {
			u.then(learnt)
		}
	}
}

// answer takes the answer to a question about a user. It calls taken with mu held, and reports false, if this node does
// not know the user's choice yet. It takes no answer about a user whose choice it knows.
func (p *users) answer(user presence.UserID, answer choice, taken func()) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	again := p.questions.closeLocked(user)
	if _, known := p.records.choice(user); known {
		return !again
	}
	if _, waits := p.questions.waiting[user]; waits {
		taken()
		p.learnLocked(user, answer)
		return true
	}
	return !again
}

// forgetUnchosen forgets which users chose nothing, and returns the choices of the others.
func (p *users) forgetUnchosen() map[presence.UserID]choice {
	p.mu.Lock()
	defer p.mu.Unlock()
	known, unchosen := p.records.all(), make(map[presence.UserID]struct{})
	for id, c := range known {
		if c.rev() == 0 {
			unchosen[id] = struct{}{}
			delete(known, id)
		}
	}
	p.records.doubt(maps.Keys(unchosen))
	return known
}

// forgetSettings forgets the settings of users whom this node neither holds nor writes. It returns the other
// users whose settings it knows.
func (p *users) forgetSettings(writes func(presence.UserID) bool) (held []presence.UserID) {
	p.mu.Lock()
	defer p.mu.Unlock()
	known := p.records.all()
	for id := range known {
		if u := p.byID[id]; u != nil && (len(u.connections)+len(u.views)+len(u.released) > 0 || writes(id)) {
			held = append(held, id)
			delete(known, id)
		}
	}
	p.records.doubt(maps.Keys(known))
	return held
}
