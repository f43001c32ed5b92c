package track

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/rollcall-go/rollcall/presence"
)

// A reopened question is one about a user whose later settings this node may have missed. It is closed by an answer of
// the Directory to a question that began after it was reopened.
type reopened struct {
	asked    bool // a question has begun since
	answered chan struct{}
}

const (
	// reopenedWait is how long what is to be written waits for the answers to reopened questions.
	reopenedWait = 500 * time.Millisecond
	// answerWait is how long the sender of a notice waits for the bus.
	answerWait = time.Second
)

// askAgain asks the Directory about users whose latest settings this node may not know. It repeats until the Directory
// answers.
func (c *choices) askAgain(users ...presence.UserID) {
	for _, user := range users {
		c.askIf(c.users.reopen(user))
	}
}

// reopen queues a question about a user once more. start reports whether the caller must start the goroutine that asks.
func (p *users) reopen(user presence.UserID) (start bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	q := &p.questions
	if again := q.reopened[user]; again != nil {
		again.asked = false
	} else {
		q.reopened[user] = &reopened{answered: make(chan struct{})}
	}
	return q.ask(user)
}

// begin notes that a question about a user begins. It reports whether the question was reopened.
func (q *questions) begin(user presence.UserID) bool {
	again := q.reopened[user]
	if again != nil {
		again.asked = true
	}
	return again != nil
}

// closeLocked closes a reopened question about a user, unless it was reopened after the question began. It reports whether
// there was one.
func (q *questions) closeLocked(user presence.UserID) (was bool) {
	again := q.reopened[user]
	if again != nil && again.asked {
		delete(q.reopened, user)
		close(again.answered)
	}
	return again != nil
}

// allReopened returns the reopened questions.
func (p *users) allReopened() []*reopened {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Collect(maps.Values(p.questions.reopened))
}

// hearAll returns once this node has heard every lasting notice that was published before. It also waits for the answers
// about users whose notices this node may have missed, but for no Directory that does not answer.
func (c *choices) hearAll(ctx context.Context) error {
	if err := c.notices.hearAll(ctx); err != nil || c.life.over() {
		return err
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), reopenedWait) // hearing may have taken all the time of ctx
	defer cancel()
	for _, again := range c.users.allReopened() {
		select {
		case <-again.answered:
		case <-ctx.Done():
			return nil
		}
	}
	return nil
}

// hearAnswer takes the Directory's answer about a user.
func (c *choices) hearAnswer(user presence.UserID, s presence.Settings) {
	if c.answered(user, choiceOf(s, time.Time{}, time.Time{})) {
		return
	}
	if _, news := c.takeSettings(user, noteSettings{Settings: s}, time.Now(), false); news { // a notice was lost, or only this node missed it
		c.life.spawn(func(ctx context.Context) { _ = c.publishSettings(ctx, user, noteSettings{Settings: s}) })
	}
}

// takeSettings takes settings of a user that were chosen at a moment, unless this node knows later ones. It reports whether
// it took them, and whether they are news: they replace earlier ones. The sender of the notice takes them anyway. Another node needs no settings of a user of whom it
// knows nothing, unless they hide something: then it may still have something that shows the user.
func (c *choices) takeSettings(user presence.UserID, note noteSettings, at time.Time, anyway bool) (taken, news bool) {
	anyway = anyway || narrow(note.Settings) || c.devices.hidesChosen(user)
	_, taken = c.take(user, func(was choice, known bool) (choice, bool) {
		known = known && was.settings != nil
		since := later(was.since(), note.Since)
		switch {
		case !known:
			if !anyway && !c.users.questions.open(user) {
				return was, false
			}
		case note.Rev < was.settings.Rev || note.Rev == was.settings.Rev && since.Equal(was.since()):
			return was, false
		case since.Equal(was.since()):
			since = sinceOf(since, was.settings.Settings, note.Settings, at)
		}
		news = known && note.Rev > was.settings.Rev
		return choiceOf(note.Settings, since, at), true
	})
	return taken, news
}

// narrow reports whether some viewer may not see the user, or may not know when the user was last seen.
func narrow(s presence.Settings) bool {
	shown := rosterStatus(s.At(time.Now()))
	return shown.Base() == presence.Invisible || shown.Unseen()
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
