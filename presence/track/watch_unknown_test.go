package track_test

import (
	"errors"
	"testing"
	"time"

	"github.com/rollcall-go/rollcall/presence"
)

// P4: until the Directory has said who the viewer is, and while it is out, nobody is shown
// whom not everybody sees. Whoever is shown stays.
func TestPeopleP4UnknownIsStrictest(t *testing.T) {
	withCrowd(t, func(t *testing.T, c crowd) {
		c.directory.Befriend("friend", "alice")
		c.directory.Befriend("other", "alice")
		c.on(forFriends, "friend")
		c.directory.Fail(errors.New("down"))
		page := c.watch("alice", "friend", "other")
		page.want("state ")
		time.Sleep(time.Minute)
		page.want()
		c.directory.Fail(nil)
		time.Sleep(20 * time.Second)
		page.want("diff +friend -")
		c.directory.Fail(errors.New("down"))
		time.Sleep(20 * time.Minute)
		page.want()
		c.on(forFriends, "other")
		page.want() // a newcomer stays unseen
		c.off("friend")
		page.want("diff + -friend")
		if seen := page.lastSeen["friend"]; seen != "" {
			t.Errorf("got last seen %q, and the relation is not known any more", seen)
		}
		c.on(forFriends, "friend")
		page.want()
		c.directory.Fail(nil)
		time.Sleep(20 * time.Second)
		page.want("diff +friend,other -")
	})
}

// P4: a relation that the site says has changed counts no longer once the Directory is out.
func TestPeopleP4RevokedAndOut(t *testing.T) {
	withCrowd(t, func(t *testing.T, c crowd) {
		c.directory.Befriend("friend", "alice")
		c.on(forFriends, "friend")
		page := c.watch("alice", "friend")
		page.want("state friend")
		c.directory.Fail(errors.New("down"))
		c.HearRelations("friend")
		page.want("diff + -friend")
		c.directory.Fail(nil)
		time.Sleep(20 * time.Second)
		page.want("diff +friend -")
	})
}

// P4: a contact who was taken off the list while the person was away sees nothing when the
// person comes, not even for a moment.
func TestPeopleP4RevokedWhileAway(t *testing.T) {
	withCrowd(t, func(t *testing.T, c crowd) {
		c.directory.Befriend("friend", "alice")
		c.on(forFriends, "friend")
		page := c.watch("alice", "friend")
		page.want("state friend")
		c.off("friend")
		page.want("diff + -friend")
		c.directory.Unfriend("friend", "alice")
		c.HearRelations("friend")
		c.directory.Fail(errors.New("down"))
		drain(page.conn)
		c.on(forFriends, "friend")
		if n := len(page.conn.Ready()); n != 0 {
			t.Error("the viewer is woken: for a moment there was something to see")
		}
		page.want()
		c.directory.Fail(nil)
		time.Sleep(20 * time.Second)
		page.want()
	})
}

// P4: while the Directory is out and questions wait, a relation that the site says has
// changed counts no longer at once.
func TestPeopleP4RevokedInOutage(t *testing.T) {
	withCrowd(t, func(t *testing.T, c crowd) {
		c.directory.Befriend("friend", "alice")
		c.on(forFriends, "friend", "other")
		page := c.watch("alice", "friend")
		page.want("state friend")
		c.directory.Fail(errors.New("down"))
		c.watch("bob", "other")
		time.Sleep(time.Minute) // the questions are repeated ever less often
		c.HearRelations("friend")
		page.want("diff + -friend")
	})
}

// P4: while the devices of a user say different things, the strictest counts, and somebody
// who is at one of them is not away.
func TestPeopleP4DevicesDiffer(t *testing.T) {
	withCrowd(t, func(t *testing.T, c crowd) {
		put := func(on string, s presence.Settings) {
			c.DeviceOn(user("bob"), device(on, presence.Desktop), s, time.Time{})
			c.settle()
		}
		page := c.watch("alice", "bob")
		page.want("state ")
		put("1", everybody)
		page.want("diff +bob -")
		put("2", forNobody)
		page.want("diff + -bob")
		c.DeviceOff("bob", "2")
		c.settle()
		page.want("diff +bob -")
		put("2", presence.Settings{Status: presence.Busy, Text: "in a call"})
		if got := one(t, c, "alice", "bob"); got.Status != presence.Busy || got.Text != "in a call" {
			t.Errorf("got %s %q, want what the user chose", got.Status, got.Text)
		}
		put("2", presence.Settings{Status: presence.Idle})
		if got := one(t, c, "alice", "bob"); got.Status != presence.Online {
			t.Errorf("got %s, want online: the user is at one of two devices", got.Status)
		}
		c.DeviceOff("bob", "1")
		c.settle()
		if got := one(t, c, "alice", "bob"); got.Status != presence.Away {
			t.Errorf("got %s, want away", got.Status)
		}
	})
}
