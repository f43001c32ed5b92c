package track

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/rollcall-go/rollcall/presence"
)

// A doubt is about the settings of one user: a node has heard that they changed, or that it may
// have missed a change. It lasts until the Directory has answered a question that began later.
//
// So the Directory alone orders settings. Notices may come late and in any order, because what
// they say does not count. The questions about one user follow one another, and an answer does
// not count if a notice came since its question began. The notice of the latest change comes
// after the Directory has that change: so the last answer that counts, on each node, has it.
//
// Example: Alice turns busy at node A, whose database acknowledges that 300 ms late, and hides
// at node B meanwhile. All nodes hear that she hides, ask, and hide her. Then they hear that
// she is busy and seen by everybody, which A read before she hid. They ask again, and the
// Directory still says that nobody sees her.
//
// While the Directory does not answer, a notice counts as far as it hides (rule P6): a user who
// may have hidden is hidden within a second, and shown once the Directory says so.
type doubt struct {
	heard    *presence.Settings          // the strictest of what notices said; nil: they said nothing
	since    time.Time                   // the latest Visibility.Since of the notices
	at       time.Time                   // when the user was last seen, if this node was told; zero: now
	named    []presence.Topic            // topics that the senders of the notices write
	writing  map[presence.Topic]struct{} // to which this node was writing what the user chose before
	asked    bool                        // a question has begun since the latest notice
	answered chan struct{}               // closed at the end
}

const (
	// doubtWait is how long a node waits for the Directory before a notice counts as far as it
	// hides. With what comes then it keeps to the second of rule P6.
	doubtWait = 250 * time.Millisecond
	// answerWait is how long the sender of a notice waits for the bus, and then for the answer.
	answerWait = time.Second
)

// doubt has the Directory asked about a user, unless neither this node nor why asks for that.
func (c *choices) doubt(user presence.UserID, why doubting) *doubt {
	why.writing = func() []presence.Topic { return c.writer.holding(user, c.members.ofLocked(user)) }
	d, narrows, start := c.users.doubt(user, why)
	if narrows {
		c.life.spawn(func(ctx context.Context) { c.unanswered(ctx, user, d) })
	}
	c.askIf(start)
	return d
}

// hear adds what a notice said.
func (d *doubt) hear(note *noteSettings) {
	heard := note.Settings
	if d.heard != nil {
		heard = strictest(*d.heard, heard)
	}
	d.heard = &heard
	d.since = later(d.since, note.Since)
	for _, topic := range note.Topics {
		if !slices.Contains(d.named, topic) {
			d.named = append(d.named, topic)
		}
	}
}

// strictest returns the settings that count while the Directory does not answer, and whether
// they hide anything.
func (d *doubt) strictest(was choice, known bool) (s presence.Settings, narrows bool) {
	switch {
	case d.heard == nil:
		return presence.Settings{}, false
	case !known || was.settings == nil:
		return *d.heard, narrow(*d.heard)
	}
	s = strictest(was.settings.Settings, *d.heard)
	return s, s != was.settings.Settings
}

// narrow reports whether not everybody sees the user, or not everybody knows when the user was
// last seen.
func narrow(s presence.Settings) bool {
	shown := rosterStatus(s.At(time.Now()))
	return shown.Base() == presence.Invisible || shown.Unseen()
}

// strictest returns a with the audiences that are the narrower ones of a and b.
func strictest(a, b presence.Settings) presence.Settings {
	now := time.Now()
	as, bs := a.At(now), b.At(now)
	a.Except = a.Except || b.Except
	if as.Online.Rank() < bs.Online.Rank() {
		a.Online = bs.Online
	}
	if as.Seen.Rank() < bs.Seen.Rank() {
		a.Seen = bs.Seen
	}
	if bs.Status == presence.Invisible {
		a.Status, a.Until = presence.Invisible, time.Time{}
	}
	return a
}

// unanswered applies the stricter settings that a notice had, if the Directory does not answer
// within doubtWait. The user is then hidden rather than shown by mistake.
func (c *choices) unanswered(ctx context.Context, user presence.UserID, d *doubt) {
	select {
	case <-ctx.Done():
		return
	case <-d.answered:
		return
	case <-time.After(doubtWait):
	}
	c.narrow(user, d)
}

// narrow replaces a user's settings by the strictest of those that notices had since the doubt began.
func (c *choices) narrow(user presence.UserID, d *doubt) {
	c.take(user, false, func(was choice, known bool) (choice, []presence.Topic, bool) {
		s, narrows := d.strictest(was, known)
		if c.users.doubtLocked(user) != d || !narrows {
			return was, d.named, false
		}
		return choiceOf(s, later(d.since, was.since()), cmp.Or(d.at, time.Now())), d.named, true
	})
}

// hearAnswer takes what the Directory said of a user, unless a notice came since the question
// began: then the user is asked about again.
func (c *choices) hearAnswer(user presence.UserID, s presence.Settings) {
	d := c.answered(user, choiceOf(s, time.Time{}, time.Time{}))
	if d == nil {
		return
	}
	taken, news := false, false
	now, changed := c.take(user, false, func(was choice, known bool) (choice, []presence.Topic, bool) {
		if c.users.doubtLocked(user) != d || !d.asked {
			return was, d.named, false
		}
		taken = true
		c.users.endDoubtLocked(user)
		since := later(was.since(), d.since)
		if known && was.settings != nil && since.Equal(was.since()) {
			since = sinceOf(since, was.settings.Settings, s, time.Now())
		}
		now := choiceOf(s, since, cmp.Or(d.at, time.Now()))
		news = d.heard == nil && known && was.settings != nil && was.settings.Settings != s
		return now, d.named, !known || !was.same(now) || !since.Equal(was.since())
	})
	if taken {
		c.write(d.writing, user, now.at) // which may have come after the notice
		close(d.answered)
	}
	if taken && !changed {
		c.check(user, now, d.writing)
	}
	if news { // whoever changed them could not tell, or this node alone has missed it
		c.life.spawn(func(ctx context.Context) { _ = c.publishSettings(ctx, user, noteSettings{Settings: s, By: c.process}) })
	}
}

// since returns Visibility.Since of a choice of settings.
func (c choice) since() time.Time {
	if c.settings == nil {
		return time.Time{}
	}
	return c.settings.since
}

// askAgain asks the Directory for the settings of users of whom this node may have missed
// some. If the Directory is out it tries until it answers.
func (c *choices) askAgain(users ...presence.UserID) {
	for _, user := range users {
		c.doubt(user, doubting{anyway: true})
	}
}

// awaitAnswer waits until a doubt is over: for answerWait at most, so that a Directory that
// fails just then holds up no change that it has.
func (c *choices) awaitAnswer(ctx context.Context, d *doubt) {
	ctx, cancel := context.WithTimeout(ctx, answerWait)
	defer cancel()
	select {
	case <-d.answered:
	case <-ctx.Done():
	}
}

// hearAll returns once this node has heard every lasting notice that was published before, and
// shows what the Directory says of the users whose settings changed. A Directory that does not
// answer is not waited for: by then what notices hide is hidden.
//
// Example: node A is cut off from Redis while Alice hides at node B. Back again A hears of that, and
// asks the Directory. It has pages of hers to write. If it did so before the answer, everybody would
// see her once more.
func (c *choices) hearAll(ctx context.Context) error {
	if err := c.notices.hearAll(ctx); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, 2*doubtWait)
	defer cancel()
	for user, d := range c.users.allDoubts() {
		if c.life.over() { // nobody asks any more
			c.narrow(user, d)
		} else {
			c.awaitAnswer(ctx, d)
		}
	}
	return nil
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
