package track

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	"github.com/rollcall-go/rollcall/presence"
)

// A doubt means that the settings of a user, as this node knows them, may be outdated: a notice said that
// they changed, or the node may have missed a notice. The doubt ends when the Directory answers a question
// that began after it.
//
// So the order of settings comes from the Directory alone. Notices may come late and in any order, because
// their content does not count. A node asks about one user at a time, and ignores an answer if a notice came
// after its question began. The Directory has a change before the notice of it is sent. So the last answer
// that counts, on each node, has the latest change.
//
// Example: Alice turns busy at node A, whose database acknowledges that 300 ms late, and hides at node B
// meanwhile. All nodes hear that she hides, ask, and hide her. Then they hear that she is busy and seen by
// everybody, which A read before she hid. They ask again, and the Directory still says that nobody sees her.
//
// If the Directory does not answer, the part of a notice that hides the user counts (rule P6): a user who may
// have hidden is hidden within a second, and shown again once the Directory says so.
type doubt struct {
	heard    *presence.Settings          // the strictest settings in the notices; nil: no notice had settings
	since    time.Time                   // the latest Visibility.Since of the notices
	at       time.Time                   // when the user was last seen, if a notice said so; zero: now
	named    []presence.Topic            // topics that the senders of the notices write
	writing  map[presence.Topic]struct{} // topics to which this node was writing the earlier choice, or has written it since
	asked    bool                        // a question has begun since the latest notice
	answered chan struct{}               // closed at the end
}

const (
	// doubtWait is how long a node waits for the Directory before it applies the hiding part of a notice. It
	// leaves time to keep the second of rule P6.
	doubtWait = 250 * time.Millisecond
	// answerWait is how long the sender of a notice waits for the bus, and then for the answer.
	answerWait = time.Second
)

// doubt makes the Directory be asked about a user, if this node holds the user or why demands it.
func (c *choices) doubt(user presence.UserID, why doubting) *doubt {
	why.writing = func() []presence.Topic { return c.where.writingLocked(user) }
	d, narrows, start := c.users.doubt(user, why)
	if narrows {
		c.life.spawn(func(ctx context.Context) { c.unanswered(ctx, user, d) })
	}
	c.askIf(start)
	return d
}

// A doubting says why there is a doubt about a user.
type doubting struct {
	note    *noteSettings           // from a notice; nil: it has none
	at      time.Time               // when the user was last seen, if a notice said so
	anyway  bool                    // even if this node does not know the user
	writing func() []presence.Topic // returns the topics to which this node is writing the earlier choice; users.mu is held
}

// doubt makes the Directory be asked about a user. It returns nil if this node does not know the user.
// narrows reports whether the notice hides something, and start whether the caller must start the goroutine
// that asks.
func (p *users) doubt(user presence.UserID, why doubting) (d *doubt, narrows, start bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	chosen, known := p.choiceLocked(user)
	q := &p.questions
	if d = q.doubts[user]; d == nil {
		if !why.anyway && !known && len(q.waiting[user]) == 0 {
			return nil, false, false
		}
		d = &doubt{answered: make(chan struct{}), writing: make(map[presence.Topic]struct{})}
		q.doubts[user] = d
	}
	d.asked = false
	for _, topic := range why.writing() {
		d.writing[topic] = struct{}{}
	}
	if why.note != nil {
		d.hear(why.note)
		_, narrows = d.strictest(chosen, known)
	}
	if !why.at.IsZero() {
		d.at = why.at
	}
	return d, narrows, q.ask(user)
}

// doubtLocked returns the doubt about a user, or nil.
func (p *users) doubtLocked(user presence.UserID) *doubt { return p.questions.doubts[user] }

// endDoubtLocked ends the doubt about a user.
func (p *users) endDoubtLocked(user presence.UserID) { delete(p.questions.doubts, user) }

// allDoubts returns the doubts about all users.
func (p *users) allDoubts() map[presence.UserID]*doubt {
	p.mu.Lock()
	defer p.mu.Unlock()
	return maps.Clone(p.questions.doubts)
}

// hear adds the content of a notice.
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

// strictest returns the settings that apply while the Directory does not answer, and whether they hide
// anything.
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

// narrow reports whether some viewer may not see the user, or may not know when the user was last seen.
func narrow(s presence.Settings) bool {
	shown := rosterStatus(s.At(time.Now()))
	return shown.Base() == presence.Invisible || shown.Unseen()
}

// strictest returns a with the narrower audiences of a and b.
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
	if a.Later != "" {
		a.Later = presence.Narrower(a.Later, bs.Chosen().Seen)
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

// narrow replaces a user's settings by the strictest settings in the notices since the doubt began.
func (c *choices) narrow(user presence.UserID, d *doubt) {
	c.take(user, false, func(was choice, known bool) (choice, []presence.Topic, bool) {
		s, narrows := d.strictest(was, known)
		if c.users.doubtLocked(user) != d || !narrows {
			return was, d.named, false
		}
		return choiceOf(s, later(d.since, was.since()), cmp.Or(d.at, time.Now())), d.named, true
	})
}

// begin notes that a question about a user begins. It reports whether there is a doubt that the answer can end.
func (q *questions) begin(user presence.UserID) bool {
	d := q.doubts[user]
	if d != nil {
		d.asked = true
	}
	return d != nil
}

// answer stores the answer to a question about a user, unless a notice came before it. If there is a doubt
// about the user, it stores nothing and returns the doubt. It calls taken with users.mu held.
func (p *users) answer(user presence.UserID, answer choice, taken func()) *doubt {
	p.mu.Lock()
	defer p.mu.Unlock()
	if d := p.questions.doubts[user]; d != nil {
		return d
	}
	if _, waits := p.questions.waiting[user]; waits {
		taken()
		p.learnLocked(user, answer)
	}
	return nil
}

// hearAnswer stores the Directory's answer about a user. If a notice came after the question began, it
// ignores the answer and asks again.
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
		c.write(d.writing, user, now.at) // the answer may have come after the notice
		close(d.answered)
	}
	if taken && !changed {
		c.check(user, now, d.writing)
	}
	if news { // a notice was lost, or only this node missed it
		c.life.spawn(func(ctx context.Context) { _ = c.publishSettings(ctx, user, noteSettings{Settings: s, By: c.process}) })
	}
}

// askAgain asks the Directory for settings of users whose changes this node may have missed. It repeats until
// the Directory answers.
func (c *choices) askAgain(users ...presence.UserID) {
	for _, user := range users {
		c.doubt(user, doubting{anyway: true})
	}
}

// awaitAnswer waits until a doubt has ended, for answerWait at most: the Directory has the change already, so
// its later failure must not delay the caller.
func (c *choices) awaitAnswer(ctx context.Context, d *doubt) {
	ctx, cancel := context.WithTimeout(ctx, answerWait)
	defer cancel()
	select {
	case <-d.answered:
	case <-ctx.Done():
	}
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
