package feed_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/feed"
	"github.com/rollcall-go/rollcall/presence/feed/feedtest"
	"github.com/rollcall-go/rollcall/presence/presencetest"
	"github.com/rollcall-go/rollcall/presence/track"
)

// A notification is on the pages of all nodes a moment after it was sent, and on nobody
// else's (rules F8, F13).
func TestKeeperLive(t *testing.T) {
	inFleet(t, feed.Config{}, func(t *testing.T, f *fleet) {
		here, there := follow(t, f.a, "alice", "inbox", ""), follow(t, f.b, "alice", "inbox", "")
		other := follow(t, f.b, "bob", "inbox", "")
		for _, p := range []*page{here, there, other} {
			p.want("at first", "state 0/0")
		}
		send(t, f.a, to("alice", "m1", "one"))
		here.want("at the node", "diff 1/1 m1:one:unread")
		there.want("at another node", "diff 1/1 m1:one:unread")
		other.want("somebody else")
		if _, err := f.b.Mark(t.Context(), "inbox:alice", feed.Mark{As: feed.Read, Pos: []int64{1}}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(100 * time.Millisecond)
		here.want("read at another node", "diff 0/0 m1:one:read")
		there.want("read at the node", "diff 0/0 m1:one:read")
	})
}

// A reader that comes back gets what it missed, once; a reader with the cursor of another
// user or of another database gets a state (rule F8).
func TestKeeperResumes(t *testing.T) {
	inFleet(t, feed.Config{}, func(t *testing.T, f *fleet) {
		send(t, f.a, to("alice", "m1", "one"), to("bob", "b1", "first of bob"), to("bob", "b2", "second of bob"))
		first := follow(t, f.a, "alice", "inbox", "")
		first.want("a newcomer", "state 1/1 m1:one:unread")
		at := first.conn.Cursor()
		follow(t, f.b, "alice", "inbox", at).want("nothing missed, at another node", "heartbeat 1/1")
		send(t, f.a, to("alice", "m2", "two"), to("alice", "m3", "three"))
		follow(t, f.a, "alice", "inbox", at).want("two missed", "diff 3/3 m3:three:unread m2:two:unread")
		follow(t, f.b, "alice", "inbox", at).want("at another node", "diff 3/3 m3:three:unread m2:two:unread")
		follow(t, f.b, "bob", "inbox", at).want("alice's cursor at bob's inbox", "state 2/2 b2:second of bob:unread b1:first of bob:unread")
		for _, forged := range []string{"zzz-1", "-", "1", "0", "0-0", "zzz-zzzzzzzzzzzzzz"} {
			from := presence.NewCursor("inbox", presence.DiffID(forged))
			follow(t, f.b, "bob", "inbox", from).want("forged "+forged, "state 2/2 b2:second of bob:unread b1:first of bob:unread")
		}
		page := follow(t, f.a, "bob", "inbox", "")
		page.read()
		after := page.conn.Cursor()
		f.db.Wipe()
		time.Sleep(31 * time.Second)
		page.want("the database was thrown away", "state 0/0")
		send(t, f.a, to("bob", "n1", "new"), to("bob", "n2", "newer"), to("bob", "n3", "newest"))
		follow(t, f.b, "bob", "inbox", after).want("a cursor of the old database", "state 3/3 n3:newest:unread n2:newer:unread n1:new:unread")
	})
}

// A page that saw a feed before anything was in it gets exactly what came since, on each node,
// whether or not the node knew the feed meanwhile (rule F8).
func TestKeeperResumesFromEmpty(t *testing.T) {
	inFleet(t, feed.Config{}, func(t *testing.T, f *fleet) {
		early := follow(t, f.a, "alice", "inbox", "")
		early.want("at first", "state 0/0")
		at := early.conn.Cursor()
		early.conn.Close()
		var all []feed.Message
		want := "diff 30/30"
		for i := range 30 {
			all = append(all, to("alice", fmt.Sprint("m", i), "text"))
			want += fmt.Sprintf(" m%d:text:unread", 29-i)
		}
		send(t, f.a, all...)
		follow(t, f.a, "alice", "inbox", at).want("at the node", want)
		follow(t, f.b, "alice", "inbox", at).want("at another node", want)
		data, _, err := f.b.Read(t.Context(), "inbox:alice", feed.Query{Cursor: at})
		var read struct{ Items []any }
		if err = errors.Join(err, json.Unmarshal(data, &read)); err != nil || len(read.Items) != 30 {
			t.Errorf("read: got %d items, %v, want all 30", len(read.Items), err)
		}
	})
}

// Hints that are lost are healed within half a minute (rule F9).
func TestKeeperHealsLostHints(t *testing.T) {
	inFleet(t, feed.Config{}, func(t *testing.T, f *fleet) {
		p := follow(t, f.b, "alice", "inbox", "")
		p.want("at first", "state 0/0")
		if err := f.db.Send(t.Context(), to("alice", "m1", "one")); err != nil { // by a program that kicks nobody
			t.Fatal(err)
		}
		if _, err := f.db.Relay(t.Context(), feed.RelayOptions{Most: 10}); err != nil { // by a node that tells nobody
			t.Fatal(err)
		}
		p.want("no hint")
		time.Sleep(31 * time.Second)
		p.want("within 31 s", "diff 1/1 m1:one:unread")
		if got := f.b.Stats().Mended; got != 1 {
			t.Errorf("got %d mended, want 1", got)
		}
	})
}

// While the presence store is out, and until hints come again, a message is on the pages of
// other nodes within a few seconds (rule F9).
func TestKeeperPresenceStoreOut(t *testing.T) {
	inFleet(t, feed.Config{}, func(t *testing.T, f *fleet) {
		p := follow(t, f.b, "alice", "inbox", "")
		p.want("at first", "state 0/0")
		f.faults.Break(presencetest.Fault{Err: errors.New("out")})
		time.Sleep(5 * time.Second)
		send(t, f.a, to("alice", "m1", "one"))
		time.Sleep(3 * time.Second)
		p.want("while the store is out", "diff 1/1 m1:one:unread")
		f.faults.Heal()
		time.Sleep(30 * time.Second)
		f.faults.Break(presencetest.Fault{Err: errors.New("refused")}, presencetest.CallPublish)
		send(t, f.a, to("alice", "m2", "two"))
		time.Sleep(time.Second)
		f.faults.Heal()
		time.Sleep(2 * time.Second)
		p.want("a hint that was refused", "diff 2/2 m2:two:unread")
	})
}

// A forged hint changes nothing, and a doubled one neither (rule F9).
func TestKeeperForgedHints(t *testing.T) {
	inFleet(t, feed.Config{}, func(t *testing.T, f *fleet) {
		p := follow(t, f.b, "alice", "inbox", "")
		p.want("at first", "state 0/0")
		for _, hint := range []string{"7 inbox:alice", "7 inbox:alice\n7 inbox:alice", "", "\n\n", "x y", "-1 inbox:alice", "9999999999999999999 inbox:alice", "1 ", "1"} {
			if err := f.a.tracker.Hint(t.Context(), hint); err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(time.Second)
		p.want("after them")
	})
}

// Without the database pages stand still and say so; what was sent before is lost on nobody.
func TestKeeperDatabaseOut(t *testing.T) {
	inFleet(t, feed.Config{}, func(t *testing.T, f *fleet) {
		send(t, f.a, to("alice", "m1", "one"))
		p := follow(t, f.a, "alice", "inbox", "")
		p.want("before", "state 1/1 m1:one:unread")
		f.db.Out(true)
		if err := f.a.Send(t.Context(), to("alice", "m2", "two")); !errors.Is(err, feed.ErrOut) {
			t.Errorf("send: got %v, want ErrOut", err)
		}
		time.Sleep(2 * time.Second)
		p.want("out", "heartbeat 1/1 stale")
		if h, err := f.a.Head(t.Context(), "inbox:alice"); !errors.Is(err, feed.ErrOut) || h.Unread != 1 {
			t.Errorf("head: got %+v, %v, want the last one and ErrOut", h, err)
		}
		newcomer := follow(t, f.b, "alice", "inbox", "")
		newcomer.want("a newcomer", "heartbeat stale")
		lost := newcomer.conn.Cursor()
		f.db.Out(false)
		time.Sleep(2 * time.Second)
		p.want("back", "heartbeat 1/1")
		newcomer.want("the newcomer", "state 1/1 m1:one:unread")
		follow(t, f.b, "alice", "inbox", lost).want("who left before the state came", "state 1/1 m1:one:unread")
		send(t, f.a, to("alice", "m2", "two"))
		p.want("goes on", "diff 2/2 m2:two:unread")
		newcomer.want("goes on too", "diff 2/2 m2:two:unread")
		for _, line := range []string{"the database of feeds fails", "the database of feeds is back"} {
			if got := strings.Count(f.log.String(), line); got != 2 {
				t.Errorf("got %q %d times in the log, want once a node", line, got)
			}
		}
	})
}

// A database that is back before all lines were told that it is out leaves none behind that
// says so, however seldom lines are checked.
func TestKeeperDatabaseBlinks(t *testing.T) {
	inFleet(t, feed.Config{Check: time.Hour}, func(t *testing.T, f *fleet) {
		for _, user := range []presence.UserID{"alice", "carol", "dave"} {
			follow(t, f.a, user, "inbox", "").want("before", "state 0/0")
		}
		f.way.Break(feedtest.Fault{Delay: 500 * time.Millisecond}, feedtest.CallPage)
		var late sync.WaitGroup
		late.Go(func() { follow(t, f.a, "bob", "inbox", "") }) // whose line is busy meanwhile
		time.Sleep(10 * time.Millisecond)
		f.db.Out(true)
		if err := f.a.Send(t.Context(), to("alice", "m1", "one")); !errors.Is(err, feed.ErrOut) {
			t.Errorf("send: got %v, want ErrOut", err)
		}
		time.Sleep(10 * time.Millisecond)
		f.db.Out(false)
		if _, err := f.a.Mutes(t.Context(), "alice"); err != nil {
			t.Fatal(err)
		}
		late.Wait()
		time.Sleep(3 * time.Second)
		for _, user := range []presence.UserID{"alice", "bob", "carol", "dave"} {
			if _, err := f.a.Head(t.Context(), feed.Inbox(user)); err != nil {
				t.Errorf("the head of %s: %v", user, err)
			}
		}
	})
}

// A page that waits for 50 ms says nothing about the database, however late it learns that it
// has waited for too long.
func TestKeeperTardyPage(t *testing.T) {
	inFleet(t, feed.Config{Check: time.Hour}, func(t *testing.T, f *fleet) {
		f.tardy.on.Store(true)
		for wait, out := range map[time.Duration]bool{50 * time.Millisecond: false, time.Second: true} {
			ctx, cancel := context.WithTimeout(t.Context(), wait)
			if _, err := f.a.Head(ctx, "inbox:alice"); !errors.Is(err, feed.ErrOut) {
				t.Errorf("after %v: got %v, want ErrOut", wait, err)
			}
			cancel()
			if got := f.a.Stats().DatabaseOut; got != out {
				t.Errorf("after %v: got out %v, want %v", wait, got, out)
			}
			f.tardy.on.Store(false)
			if _, err := f.a.Head(t.Context(), "inbox:alice"); err != nil {
				t.Error(err)
			}
			f.tardy.on.Store(true)
		}
		f.tardy.on.Store(false)
	})
}

// A quiet line keeps no items, and reads them again for a reader that needs them.
func TestKeeperCools(t *testing.T) {
	inFleet(t, feed.Config{}, func(t *testing.T, f *fleet) {
		send(t, f.a, to("alice", "m1", "one"))
		p := follow(t, f.a, "alice", "inbox", "")
		p.want("at first", "state 1/1 m1:one:unread")
		at := p.conn.Cursor()
		time.Sleep(2 * time.Minute)
		p.want("quiet")
		p.conn.WantState("inbox")
		p.want("asks for what is not in memory", "heartbeat")
		time.Sleep(100 * time.Millisecond)
		p.want("asks for a state", "state 1/1 m1:one:unread")
		time.Sleep(2 * time.Minute)
		send(t, f.b, to("alice", "m2", "two"))
		p.want("after the rest", "diff 2/2 m2:two:unread")
		follow(t, f.a, "alice", "inbox", at).want("resumes", "diff 2/2 m2:two:unread")
		follow(t, f.a, "alice", "inbox", "").want("begins", "state 2/2 m2:two:unread m1:one:unread")
	})
}

// A line without pages is forgotten. Until then another inbox finds no room: its page waits, and
// has its state once there is room.
func TestKeeperForgetsLines(t *testing.T) {
	inFleet(t, feed.Config{MaxLines: 1}, func(t *testing.T, f *fleet) {
		p := follow(t, f.a, "alice", "inbox", "")
		bob := follow(t, f.a, "bob", "inbox", "")
		bob.want("a second line", "heartbeat stale")
		p.conn.Close()
		bob.wantWithin(2*time.Minute, "state 0/0")
		send(t, f.a, to("bob", "1", "hello"))
		bob.want("a message", "diff 1/1 1:hello:unread")
		bob.conn.Close()
		time.Sleep(3 * time.Minute)
		if got := f.a.Stats().Lines; got != 0 {
			t.Errorf("got %d lines, want 0", got)
		}
	})
}

// A room has no counters and no states; an edit replaces the text, and a removed item says so.
func TestKeeperRoom(t *testing.T) {
	inFleet(t, feed.Config{}, func(t *testing.T, f *fleet) {
		p := follow(t, f.b, "alice", "feed:thread:1", "")
		p.want("at first", "state")
		send(t, f.a, feed.Message{Feed: "thread:1", ID: "post-1", From: "bob", Text: "hello"})
		p.want("a post", "diff post-1:hello:")
		if err := f.a.Edit(t.Context(), "thread:1", "post-1", feed.Message{Text: "hello!"}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(100 * time.Millisecond)
		p.want("edited", "diff post-1:hello!:")
		if err := f.a.Remove(t.Context(), "thread:1", "post-1"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(100 * time.Millisecond)
		p.want("removed", "diff post-1::removed")
		follow(t, f.b, "alice", "feed:thread:1", "").want("later", "state")
	})
}

// Nobody is asked about a name that the visitor may not follow (rule F13).
func TestKeeperNames(t *testing.T) {
	inFleet(t, feed.Config{}, func(t *testing.T, f *fleet) {
		for topic, want := range map[presence.Topic]error{
			"inbox:bob": presence.ErrInvalidTopic, "feed:inbox:bob": presence.ErrInvalidTopic, "feed": presence.ErrInvalidTopic,
			"feed:": presence.ErrInvalidTopic, "feed:feed:x:1": presence.ErrInvalidTopic, "feed:thread": presence.ErrInvalidTopic,
		} {
			_, err := f.a.tracker.Connect(t.Context(), track.ConnectOptions{
				Visitor: presence.Visitor{User: presence.User{ID: "alice"}}, Topics: []presence.Topic{topic},
			})
			if !errors.Is(err, want) {
				t.Errorf("%s: got %v, want %v", topic, err, want)
			}
		}
		_, err := f.a.tracker.Connect(t.Context(), track.ConnectOptions{Visitor: presence.Visitor{Guest: "g"}, Topics: []presence.Topic{"inbox"}})
		if !errors.Is(err, presence.ErrGuest) {
			t.Errorf("a guest: got %v, want ErrGuest", err)
		}
	})
}

// A state has the newest 20 items also after those that were in memory have left the list.
func TestKeeperStateIsFull(t *testing.T) {
	inFleet(t, feed.Config{}, func(t *testing.T, f *fleet) {
		follow(t, f.a, "alice", "inbox", "").read()
		var ms []feed.Message
		for i := range 60 {
			ms = append(ms, to("alice", fmt.Sprint("m", i+1), "hello"))
		}
		send(t, f.a, ms...)
		var newest []int64
		for i := range int64(30) {
			newest = append(newest, 60-i)
		}
		if _, err := f.a.Mark(t.Context(), "inbox:alice", feed.Mark{As: feed.Archived, Pos: newest}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		state := strings.Join(follow(t, f.a, "alice", "inbox", "").read(), "")
		if got := strings.Count(state, ":hello:"); got != feed.PageItems || !strings.Contains(state, "m30:") || !strings.HasSuffix(state, "more") {
			t.Errorf("got %d items in %q, want the newest %d from m30 on", got, state, feed.PageItems)
		}
	})
}
