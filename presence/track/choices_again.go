package track

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
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
	_, unsure := c.users.records.last(user)
	if c.users.answer(user, choiceOf(s, time.Time{}, time.Time{})) {
		now := c.users.choiceOf(user)
		if now.rev() > s.Rev && !c.directory.on() {
			c.life.spawn(func(ctx context.Context) { c.keepAgain(ctx, user, now) })
		}
		if unsure || now.hides() {
			c.show(user)
		} else if r := c.topics.peek(backend.DevicesTopic); r != nil { // which may have the choice of before a loss
			r.learned(user)
		}
		return
	}
	if news, _ := c.takeSettings(user, noteSettings{Settings: s}, time.Now(), true); news { // a notice was lost, or only this node missed it
		c.life.spawn(func(ctx context.Context) { _ = c.publishSettings(ctx, user, noteSettings{Settings: s}) })
	}
}

// takeSettings takes settings of a user that were chosen at a moment, unless this node knows later ones. It reports whether
// they are news: they replace earlier ones.
//
// A node that knows nothing of the user, or has forgotten it, takes only settings that hide something: others may be older
// than what it has forgotten, and count if the answer about the user is older still. It reports unsure if the Directory must say. What
// the Directory says is sure, and so are settings that this node has just changed.
//
// Example: Alice hides at node a, which forgets it as the store loses data. Node b tells once more that she was online before.
func (c *choices) takeSettings(user presence.UserID, note noteSettings, at time.Time, sure bool) (news, unsure bool) {
	_, taken := c.take(user, func(was choice, known bool) (choice, bool) {
		since := later(was.settings.since, note.Since)
		switch {
		case !known && !sure:
			unsure = c.users.questions.open(user) || narrow(note.Settings)
			if !narrow(note.Settings) {
				c.users.records.suppose(user, choiceOf(note.Settings, since, at))
				return was, false
			}
		case !known:
		case note.Rev < was.settings.Rev || note.Rev == was.settings.Rev && since.Equal(was.settings.since):
			return was, false
		case since.Equal(was.settings.since):
			since = sinceOf(since, was.settings.Settings, note.Settings, at)
		}
		news = known && note.Rev > was.settings.Rev
		return choiceOf(note.Settings, since, at), true
	})
	return news && taken, unsure
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
