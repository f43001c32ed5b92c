package track

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
)

// mayHaveSettings returns nil for a user who can have settings beside a status.
func (c *choices) mayHaveSettings(user presence.UserID) error {
	err := (presence.User{ID: user}).ValidateInside()
	if err == nil && !c.directory.on() {
		err = presence.ErrNoDirectory
	}
	return err
}

// settings is [People.Settings].
func (c *choices) settings(ctx context.Context, user presence.UserID) (presence.Settings, error) {
	if err := c.mayHaveSettings(user); err != nil {
		return presence.Settings{}, err
	}
	s, err := c.readSettings(ctx, user)
	return s.Chosen(), err
}

func (c *choices) readSettings(ctx context.Context, user presence.UserID) (presence.Settings, error) {
	all, err := c.load(ctx, user)
	if err != nil {
		return presence.Settings{}, c.out(err)
	}
	return all[0], nil
}

// changeSettings is [People.ChangeSettings].
func (c *choices) changeSettings(ctx context.Context, user presence.UserID, change func(*presence.Settings) error) error {
	if err := c.mayHaveSettings(user); err != nil {
		return err
	}
	return c.change(ctx, user, change)
}

// setStatus is [Tracker.SetStatus].
func (c *choices) setStatus(ctx context.Context, user presence.UserID, status presence.Status) error {
	if _, err := presence.ParseStatus(string(status)); err != nil {
		return err
	}
	return c.change(ctx, user, func(s *presence.Settings) error {
		s.Status, s.Until, s.Text = status, time.Time{}, ""
		return nil
	})
}

// settingsTries is how often a change of settings is tried again because another one was faster.
const settingsTries = 20

// change changes what a user chose where that is kept, publishes it, and then writes what rosters show.
func (c *choices) change(ctx context.Context, user presence.UserID, change func(*presence.Settings) error) error {
	if err := (presence.User{ID: user}).ValidateInside(); err != nil {
		return err
	}
	if c.outage.latestFailed() {
		return presence.ErrStoreOut
	}
	user = presence.UserID(strings.Clone(string(user)))
	for try := 0; ; try++ {
		was, err := c.readSettings(ctx, user)
		if err != nil {
			return err
		}
		now := was.Chosen()
		if err := change(&now); err != nil {
			return err
		}
		now = widenLater(was, now, time.Now())
		now.Except, now.Rev = was.Except, was.Rev
		if now == was && c.directory.on() { // the store may have lost what the user chose since
			return c.tellSettings(ctx, user, was, now, c.knownSince(user))
		}
		if err := now.Validate(); err != nil {
			return err
		}
		now.Rev, err = c.save(ctx, user, now)
		switch {
		case errors.Is(err, presence.ErrLaterChoice) && try < settingsTries: // another call was faster
			continue
		case errors.Is(err, presence.ErrInvalidSettings):
			return err
		case err != nil:
			c.mayHaveChanged(user)
			return c.out(err)
		}
		return c.tellSettings(ctx, user, was, now, sinceOf(c.knownSince(user), was, now, time.Now()))
	}
}

// widenLater returns the settings that a user chose at a moment in place of others. If the user is invisible, a
// wider Seen becomes Later: who then saw a last seen appear would know that the user is there.
//
// Example: nobody sees when Alice was last seen, and she is invisible. She chooses everybody. Others see that
// once she is online again, and then also when she has left. If she chooses nobody again before, they never do.
func widenLater(was, now presence.Settings, at time.Time) presence.Settings {
	now = now.Chosen()
	seen, chosen := was.At(at).Seen, now.At(at)
	if chosen.Status == presence.Invisible && chosen.Seen.Rank() < seen.Rank() {
		now.Seen, now.Later = seen, cmp.Or(now.Seen, presence.Everyone)
	}
	return now
}

// noteVanished notes when an online user turned invisible, because to others that is leaving. The moment is
// right before the rosters are written, as at the end of a connection.
func (c *choices) noteVanished(user presence.UserID, was, now presence.Settings, at time.Time) {
	if was, now := was.At(at), now.At(at); !was.Hides() && now.Status == presence.Invisible && c.devices.has(user) {
		c.lastSeen.take(user, proof{at: at, last: true}, time.Time{})
	}
}

// sinceOf returns Visibility.Since of settings that replaced others at a moment. It is that moment if more
// viewers may see the user than before, or if the user turned invisible, and otherwise since. The end of a
// block shows only to the viewer who was blocked: see setSince.
func sinceOf(since time.Time, was, now presence.Settings, at time.Time) time.Time {
	before, after := was.At(time.Now()).Visibility(time.Time{}), now.At(time.Now()).Visibility(time.Time{})
	if after.Online.Rank() < before.Online.Rank() || after.Status == presence.Invisible && before.Status != presence.Invisible {
		return at
	}
	return since
}

// knownSince returns the latest Visibility.Since that this node knows.
func (c *choices) knownSince(user presence.UserID) (since time.Time) {
	return c.devices.shownSince(user, c.users.choiceOf(user).settings.since)
}

// mayHaveChanged makes all nodes ask what a user chose. A change failed, or was answered too late, but it may have been
// made.
func (c *choices) mayHaveChanged(user presence.UserID) {
	c.life.spawn(func(ctx context.Context) {
		ctx, cancel := context.WithTimeout(ctx, applyTimeout)
		defer cancel()
		_ = c.notices.publish(ctx, backend.Notice{Kind: backend.NoticeSettings, User: user, Lasting: true}) // if this fails, the notice is sent later
	})
}

// noteSettings is the payload of a NoticeSettings. Of two notices about one user, that with the greater Rev counts, in
// whatever order they come. A notice without a payload says that the settings may have changed.
type noteSettings struct {
	presence.Settings
	Since time.Time `json:",omitzero"`  // Visibility.Since
	Store bool      `json:",omitempty"` // the store keeps them, since the site has no Directory
}

// tellSettings publishes that a user's settings have changed, and writes them. Whatever fails now is repeated later,
// because the settings have changed. A node that is closing may not be able to repeat it, and without a Directory no
// other node learns of the change meanwhile. So there it returns [presence.ErrStoreOut]: the call is to be repeated.
func (c *choices) tellSettings(ctx context.Context, user presence.UserID, was, now presence.Settings, since time.Time) error {
	topics := c.where.writtenHere(user, siteOf(user), backend.DevicesTopic)
	note := noteSettings{Settings: now, Since: since}
	untold := c.publishSettings(ctx, user, note)
	at := time.Now()
	c.noteVanished(user, was, now, at)
	c.takeSettings(user, note, at, true)
	written := c.write(slices.Values(topics), user)
	defer leave(written)
	if untold == nil {
		_ = c.writer.await(ctx, written...) // the writer logs errors
	}
	if untold != nil && (c.life.over() || !c.directory.on()) {
		return presence.ErrStoreOut
	}
	return nil
}

// publishSettings publishes the notice that a user's settings have changed. If the bus does not accept it in
// time, it is sent again, because the Directory has changed.
func (c *choices) publishSettings(ctx context.Context, user presence.UserID, note noteSettings) error {
	note.Store = !c.directory.on()
	payload, err := json.Marshal(note)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, answerWait)
	defer cancel()
	return c.notices.publish(ctx, backend.Notice{Kind: backend.NoticeSettings, User: user, Payload: string(payload), Lasting: true})
}

// hearSettings handles the notice that a user chose settings at any node. What the store keeps it may lose, so every node
// remembers it. A notice that comes late is unsure, since there may be a later choice.
func (c *choices) hearSettings(n backend.Notice) {
	user := presence.UserID(strings.Clone(string(n.User)))
	var note noteSettings
	if n.Payload == "" || json.Unmarshal([]byte(n.Payload), &note) != nil || note.Store == c.directory.on() {
		c.users.askAgain(user)
		return
	}
	c.takeSettings(user, note, time.Now().Add(-n.Ago), note.Store && n.Ago < time.Second)
}

// relationsChanged publishes that a user's contacts or blocks have changed. It may be the first block or the
// last one, so the nodes ask for the settings again.
func (c *choices) relationsChanged(ctx context.Context, user presence.UserID) error {
	if err := c.mayHaveSettings(user); err != nil {
		return err
	}
	user = presence.UserID(strings.Clone(string(user)))
	now, err := c.readSettings(ctx, user)
	if err != nil {
		return err
	}
	since := c.knownSince(user)
	if was, known := c.users.records.choice(user); known {
		since = sinceOf(since, was.settings.Settings, now, time.Now())
	}
	if err := c.notices.publish(ctx, backend.Notice{Kind: backend.NoticeRelations, User: user, Lasting: true}); err != nil {
		return err
	}
	return c.tellSettings(ctx, user, now, now, since)
}

// statusEnded writes what rosters show of a user whose status has ended by itself. Every node does so in the
// topics in which it holds the user.
func (c *choices) statusEnded(user presence.UserID) {
	c.take(user, false, func(was choice, _ bool) choice {
		if was.unsure {
			return was
		}
		now, before := was.settings.Settings, was.settings.Settings
		before.Until = time.Time{}                                   // the status right before it ended
		since := sinceOf(was.settings.since, before, now, now.Until) // every node computes the same moment
		return choiceOf(now, since, time.Now())
	})
}
