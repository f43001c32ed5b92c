package presence

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"time"
)

// Settings returns what a user chose, by one query of the [Directory]. Its errors are
// [ErrInvalidUser], [ErrNoDirectory] and [ErrDirectoryOut].
func (t *Tracker) Settings(ctx context.Context, user UserID) (Settings, error) {
	if err := (User{ID: user}).ValidateInside(); err != nil {
		return Settings{}, err
	}
	return t.choices.readSettings(ctx, user)
}

// ChangeSettings changes what a user chose: in the Directory first, and then on every node,
// within a second (rule P6). change gets what the user chose before, and changes a part of it,
// or all. Except stays as the blocks say. Of two calls at one time the later one may undo the
// earlier one. ChangeSettings costs two queries, and waits until the store knows.
//
// It returns the error of change, [ErrInvalidUser], [ErrInvalidSettings], [ErrNoDirectory],
// [ErrDirectoryOut], or [ErrStoreOut] while the store is known to be out: then nothing has
// changed. If the store fails after the Directory has changed, there is no error, and the
// nodes are told once it is back.
func (t *Tracker) ChangeSettings(ctx context.Context, user UserID, change func(*Settings) error) error {
	return t.choices.changeSettings(ctx, user, change)
}

// RelationsChanged tells all nodes that a user's contacts or blocks have changed in the
// Directory: they ask again. Call it also after the site has changed a user's settings there
// by itself. It costs a query and a round trip. It returns [ErrInvalidUser],
// [ErrNoDirectory], [ErrDirectoryOut] or [ErrStoreOut]; then call it again.
func (t *Tracker) RelationsChanged(ctx context.Context, user UserID) error {
	return t.choices.relationsChanged(ctx, user)
}

func (c *choices) readSettings(ctx context.Context, user UserID) (Settings, error) {
	all, err := c.directory.settings(ctx, user)
	if err != nil {
		return Settings{}, err
	}
	return all[0], nil
}

// changeSettings changes the settings in the Directory, tells all nodes, and then writes what
// rosters show, as set does for a status.
func (c *choices) changeSettings(ctx context.Context, user UserID, change func(*Settings) error) error {
	if err := (User{ID: user}).ValidateInside(); err != nil {
		return err
	}
	if c.outage.latestFailed() {
		return ErrStoreOut
	}
	user = UserID(strings.Clone(string(user)))
	was, err := c.readSettings(ctx, user)
	if err != nil {
		return err
	}
	now := was
	if err := change(&now); err != nil {
		return err
	}
	if now.Except = was.Except; now == was {
		return c.tellSettings(ctx, user, was, now, c.knownSince(user))
	}
	if err := now.Validate(); err != nil {
		return err
	}
	if err := c.directory.setSettings(ctx, user, now); err != nil {
		return err
	}
	since := c.knownSince(user)
	if widens(was.At(time.Now()), now.At(time.Now())) {
		since = time.Now()
	}
	return c.tellSettings(ctx, user, was, now, since)
}

// widens reports whether an audience may see the user now that might not before. The end of
// a block is told to the one who was blocked alone: see setSince. The arguments come from
// Settings.At.
func widens(was, now Settings) bool {
	before, after := wordOf(was, time.Time{}), wordOf(now, time.Time{})
	return after.online.rank() < before.online.rank()
}

// knownSince returns word.since as this node knows it.
func (c *choices) knownSince(user UserID) (since time.Time) {
	c.users.mu.Lock()
	if was, known := c.users.choiceLocked(user); known && was.settings != nil {
		since = was.settings.since
	}
	c.users.mu.Unlock()
	return c.shownSince(user, since)
}

// noteSettings is the payload of a NoticeSettings.
type noteSettings struct {
	Settings
	Since  time.Time `json:",omitzero"` // word.since
	Topics []Topic   // that the sender itself writes
}

// tellSettings publishes settings that the Directory has, and writes them.
func (c *choices) tellSettings(ctx context.Context, user UserID, _, now Settings, since time.Time) error {
	held := c.users.topicsOf(user)
	site := user.site()
	delete(held, site)
	delete(held, devicesTopic)
	topics := append([]Topic{site, devicesTopic}, slices.Sorted(maps.Keys(held))...)
	topics = topics[:min(len(topics), maxNamedTopics)]
	payload, err := json.Marshal(noteSettings{now, since, topics})
	if err != nil {
		return err
	}
	// If the bus does not take the notice, it is sent again: the Directory has changed.
	published := c.notices.publish(ctx, Notice{Kind: NoticeSettings, User: user, Payload: string(payload), Lasting: true})
	chosen := choiceOf(now, since, time.Now())
	c.users.mu.Lock()
	c.learnLocked(user, chosen)
	c.users.knownLocked(user).wrote = time.Now()
	c.users.mu.Unlock()
	acks := []*ack{c.writer.addAcked(site, updateOf(user, chosen.Status))}
	for _, topic := range topics[1:] {
		for _, op := range c.updates(topic, user, chosen) {
			acks = append(acks, c.writer.addAcked(topic, op))
		}
	}
	if published == nil {
		_ = c.await(ctx, acks...) // whatever fails now is done later: the settings have changed
	}
	return nil
}

// hearSettings takes the settings that a user chose at any node.
func (c *choices) hearSettings(n Notice) {
	var note noteSettings
	if !c.directory.on() || json.Unmarshal([]byte(n.Payload), &note) != nil {
		return // of a version that this one does not know
	}
	c.take(n, choiceOf(note.Settings, note.Since, time.Now().Add(-n.Ago)), note.Topics)
}

// relationsChanged tells all nodes that a user's contacts or blocks have changed. A block may
// be the first one or the last one, so the settings are told again.
func (c *choices) relationsChanged(ctx context.Context, user UserID) error {
	if err := (User{ID: user}).ValidateInside(); err != nil {
		return err
	}
	user = UserID(strings.Clone(string(user)))
	now, err := c.readSettings(ctx, user)
	if err != nil {
		return err
	}
	since := c.knownSince(user)
	c.users.mu.Lock()
	was, known := c.users.choiceLocked(user)
	c.users.mu.Unlock()
	if known && was.settings != nil && widens(was.settings.At(time.Now()), now.At(time.Now())) {
		since = time.Now()
	}
	if err := c.notices.publish(ctx, Notice{Kind: NoticeRelations, User: user, Lasting: true}); err != nil {
		return err
	}
	return c.tellSettings(ctx, user, now, now, since)
}

// statusEnded writes what rosters show of a user whose status has ended by itself. Every node
// that holds the user does so, in the topics in which it does.
func (c *choices) statusEnded(user UserID) {
	c.users.mu.Lock()
	was, known := c.users.choiceLocked(user)
	c.users.mu.Unlock()
	if !known || was.settings == nil {
		return
	}
	since := was.settings.since
	if widens(was.settings.atEnd(), was.settings.At(time.Now())) {
		since = was.settings.Until // the same moment on every node
	}
	c.take(Notice{User: user}, choiceOf(was.settings.Settings, since, time.Now()), nil)
}

// atEnd returns the settings as they were right before their status ended.
func (s *chosenSettings) atEnd() Settings {
	kept := s.Settings
	kept.Until = time.Time{}
	return kept.At(time.Now())
}
