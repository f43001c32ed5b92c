package feed_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/feed"
	"github.com/rollcall-go/rollcall/presence/track"
)

// poll follows made-up rooms for a millisecond, as a long poll that resumes does.
func poll(t *testing.T, n *node, v presence.Visitor, rooms ...presence.Topic) {
	t.Helper()
	conn, err := n.tracker.Connect(t.Context(), track.ConnectOptions{Visitor: v, Topics: rooms})
	if err != nil {
		t.Fatal(err)
	}
	conn.Close()
	time.Sleep(5 * time.Millisecond)
}

// madeUp returns the 16 rooms of a poll.
func madeUp(i int) (rooms []presence.Topic) {
	for j := range 16 {
		rooms = append(rooms, presence.Topic(fmt.Sprintf("feed:thread:%d", 16*i+j)))
	}
	return rooms
}

// A visitor who polls rooms that do not exist, 200 times a second, takes no line from others: pages
// with an inbox and a room go on, and new ones are served.
func TestRoomsTakeTheLinesOfNobody(t *testing.T) {
	for name, attacker := range map[string]presence.Visitor{
		"a guest": {Guest: "guest-0000000001"}, "a user": {User: presence.User{ID: "eve"}},
	} {
		t.Run(name, func(t *testing.T) {
			inFleet(t, feed.Config{MaxLines: 1000}, func(t *testing.T, f *fleet) {
				alice := follow(t, f.a, "alice", "inbox", "")
				room := follow(t, f.a, "alice", "feed:thread:real", "")
				alice.want("at first", "state 0/0")
				room.want("at first", "state")
				for i := range 2000 { // for ten seconds
					poll(t, f.a, attacker, madeUp(i)...)
					if got := f.a.Stats().Lines; got > 1000 {
						t.Fatalf("got %d lines, want 1,000 at most", got)
					}
					if i%100 != 0 {
						continue
					}
					id := fmt.Sprint(i)
					bob := follow(t, f.a, presence.UserID("bob"+id), "inbox", "")
					bob.want("an inbox", "state 0/0")
					theirs := follow(t, f.a, presence.UserID("bob"+id), presence.Topic("feed:thread:of-bob"+id), "")
					theirs.want("a room", "state")
					send(t, f.a, to("alice", id, "hello"), feed.Message{Feed: "thread:real", ID: id, From: "bob", Text: "hello"})
					if len(alice.read()) != 1 || len(room.read()) != 1 {
						t.Fatalf("after %d polls: got no event, want one each", i)
					}
				}
				time.Sleep(time.Minute)
				if got := f.a.Stats().Lines; got > 50 {
					t.Errorf("got %d lines a minute later, want those that have readers", got)
				}
			})
		})
	}
}

// A room that finds no room ends no stream: its page has its other topics, and the room once there
// is room for it.
func TestRoomThatWaits(t *testing.T) {
	inFleet(t, feed.Config{MaxLines: 8}, func(t *testing.T, f *fleet) {
		var guests []*page
		for i := range 3 { // half of three quarters
			guests = append(guests, follow(t, f.a, "", presence.Topic(fmt.Sprint("feed:thread:", i)), ""))
			guests[i].want("a guest", "state")
		}
		late := follow(t, f.a, "", "feed:thread:late", "")
		late.want("no room", "heartbeat stale")
		follow(t, f.a, "", "feed:thread:late", "").want("another page there", "heartbeat stale")
		follow(t, f.a, "alice", "feed:thread:of-alice", "").want("a user's room", "state")
		follow(t, f.a, "alice", "inbox", "").want("an inbox", "state 0/0")
		follow(t, f.a, "", "feed:thread:1", "").want("a room that is there", "state")
		guests[0].conn.Close()
		late.wantWithin(2*time.Minute, "state")
		send(t, f.a, feed.Message{Feed: "thread:late", ID: "1", From: "bob", Text: "hello"})
		late.want("a post", "diff 1:hello:")
	})
}

// A full table forgets what nobody reads long before it would otherwise: who comes next waits for
// seconds.
func TestLinesMakeRoom(t *testing.T) {
	inFleet(t, feed.Config{MaxLines: 100}, func(t *testing.T, f *fleet) {
		for i := range 100 {
			poll(t, f.a, presence.Visitor{User: presence.User{ID: presence.UserID(fmt.Sprint("u", i))}}, "inbox")
		}
		follow(t, f.a, "bob", "inbox", "").wantWithin(time.Second, "heartbeat stale")
		time.Sleep(5 * time.Second)
		follow(t, f.a, "carol", "inbox", "").want("a few seconds later", "state 0/0")
		dave := follow(t, f.a, "dave", "inbox", "")
		dave.want("more of them", "state 0/0")
	})
}
