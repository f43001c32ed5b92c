package track

import (
	"cmp"
	"context"
	"time"

	"github.com/rollcall-go/rollcall/presence"
)

const (
	// againWait is how long what is to be written waits for the answers to questions that are asked again.
	againWait = 500 * time.Millisecond
	// answerWait is how long the sender of a notice waits for the bus.
	answerWait = time.Second
)

// hearAll returns once this node has heard every lasting notice that was published before. It also waits for the answers
// about users whose notices this node may have missed, but for no Directory that does not answer.
func (c *choices) hearAll(ctx context.Context) error {
	if err := c.notices.hearAll(ctx); err != nil || c.life.over() {
		return err
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), againWait) // hearing may have taken all the time of ctx
	defer cancel()
	for _, again := range c.users.openQuestions(true) {
		select {
		case <-again.answered:
		case <-ctx.Done():
			return nil
		}
	}
	return nil
}

// hearAnswer takes the answer of the Directory, or of the store, about a user.
func (c *choices) hearAnswer(user presence.UserID, s presence.Settings) {
	now, news := c.takeSettings(user, noteSettings{Settings: s}, time.Time{}, true)
	switch {
	case news: // a notice was lost, or only this node missed it
		c.life.spawn(func(ctx context.Context) { _ = c.publishSettings(ctx, user, noteSettings{Settings: s}) })
	case now.rev() > s.Rev && !c.directory.on(): // the store has lost it
		c.life.spawn(func(ctx context.Context) { c.keepAgain(ctx, user, now) })
	}
}

// takeSettings takes settings of a user that were chosen at a moment; zero: an answer tells of them. Of two choices the one with the
// greater revision counts. It is known from then on if sure. news reports whether this node knew an earlier one.
//
// Example: Alice hides at node a, which is unsure of that as the store loses data. Node b tells once more that she was online before.
func (c *choices) takeSettings(user presence.UserID, note noteSettings, at time.Time, sure bool) (now choice, news bool) {
	was, now := c.take(user, at.IsZero(), func(was choice, asked bool) choice {
		now, since := was, later(was.settings.since, note.Since)
		sure := sure && (asked || !at.IsZero() && note.Rev >= was.rev())
		switch {
		case note.Rev < was.rev(), !was.unsure && note.Rev == was.rev() && since.Equal(was.settings.since):
		case was.unsure:
			now = choiceOf(note.Settings, since, at)
		default:
			at := cmp.Or(at, time.Now())
			if since.Equal(was.settings.since) {
				since = sinceOf(since, was.settings.Settings, note.Settings, at)
			}
			now = choiceOf(note.Settings, since, at)
		}
		now.unsure = was.unsure && !sure
		return now
	})
	return now, !was.unsure && now.rev() > was.rev()
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
