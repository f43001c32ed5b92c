package feed_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/feed"
	"github.com/rollcall-go/rollcall/presence/feed/feedtest"
	"github.com/rollcall-go/rollcall/presence/track"
)

// A reader who leaves while the database works for it makes the feed stale for nobody else.
func TestKeeperReaderLeaves(t *testing.T) {
	inFleet(t, feed.Config{}, func(t *testing.T, f *fleet) {
		db := f.way
		send(t, f.a, to("alice", "m1", "one"))
		p := follow(t, f.a, "alice", "inbox", "")
		p.want("at first", "state 1/1 m1:one:unread")
		time.Sleep(2 * time.Minute) // what is in memory is forgotten
		p.read()
		db.Break(feedtest.Fault{Delay: 200 * time.Millisecond}, feedtest.CallPage)
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		left, err := f.a.tracker.Connect(ctx, track.ConnectOptions{
			Visitor: presence.Visitor{User: presence.User{ID: "alice"}}, Topics: []presence.Topic{"inbox"},
		})
		if err == nil {
			left.Close()
		}
		time.Sleep(time.Second)
		p.want("one left early")
		if _, err := f.a.Head(t.Context(), "inbox:alice"); err != nil {
			t.Errorf("head: got %v, want none", err)
		}
	})
}

// What fails once, while other calls succeed, is over within two seconds.
func TestKeeperOneFailure(t *testing.T) {
	broken := errors.New("the connection was cut")
	inFleet(t, feed.Config{}, func(t *testing.T, f *fleet) {
		db := f.way
		p := follow(t, f.b, "alice", "inbox", "")
		p.want("at first", "state 0/0")
		time.Sleep(2 * time.Minute) // what is in memory is forgotten
		p.read()

		db.Break(feedtest.Fault{Delay: 500 * time.Millisecond}, feedtest.CallPage)
		go func() { // has the line's turn
			conn, err := f.b.tracker.Connect(t.Context(), track.ConnectOptions{
				Visitor: presence.Visitor{User: presence.User{ID: "alice"}}, Topics: []presence.Topic{"inbox"},
			})
			if err == nil {
				conn.Close()
			}
		}()
		time.Sleep(100 * time.Millisecond)
		db.Break(feedtest.Fault{Err: broken}, feedtest.CallMutes)
		_, _ = f.b.Mutes(t.Context(), "alice")
		time.Sleep(100 * time.Millisecond)
		db.Break(feedtest.Fault{})
		if _, err := f.b.Mutes(t.Context(), "alice"); err != nil {
			t.Error(err)
		}
		time.Sleep(2 * time.Second)
		if h, err := f.b.Head(t.Context(), "inbox:alice"); err != nil {
			t.Errorf("got %v, %v: still out", h, err)
		}
	})
}

// A failure of the read that a hint asked for is made good within two seconds, also where the
// database serves others.
func TestKeeperReadFailsOnce(t *testing.T) {
	inFleet(t, feed.Config{}, func(t *testing.T, f *fleet) {
		db := f.way
		p := follow(t, f.b, "alice", "inbox", "")
		p.want("at first", "state 0/0")
		flapping, stop := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { // calls fail and succeed in turn
			defer close(done)
			for flapping.Err() == nil {
				_, _ = f.b.Mutes(t.Context(), "alice")
				time.Sleep(100 * time.Millisecond)
				_, _ = f.b.Head(t.Context(), "inbox:bob")
				time.Sleep(100 * time.Millisecond)
			}
		}()
		db.Break(feedtest.Fault{Err: errors.New("cut")}, feedtest.CallMutes, feedtest.CallChanges)
		send(t, f.a, to("alice", "m1", "one"))
		db.Break(feedtest.Fault{}, feedtest.CallChanges)
		time.Sleep(3 * time.Second)
		if h, _ := f.b.Head(t.Context(), "inbox:alice"); h.Unread != 1 {
			t.Errorf("got %+v, want one unread", h)
		}
		stop()
		<-done
	})
}

// A database that fails for some and serves others does not fill the log.
func TestKeeperLogsFlapping(t *testing.T) {
	inFleet(t, feed.Config{}, func(t *testing.T, f *fleet) {
		db := f.way
		db.Break(feedtest.Fault{Err: errors.New("locked")}, feedtest.CallMark)
		for range 250 { // 25 s
			_, _ = f.a.Mark(t.Context(), "inbox:alice", feed.Mark{Seen: true})
			_, _ = f.a.Head(t.Context(), "inbox:alice")
			time.Sleep(100 * time.Millisecond)
		}
		if fails, back := strings.Count(f.log.String(), "feeds fails"), strings.Count(f.log.String(), "feeds is back"); fails != 3 || back != 3 {
			t.Errorf("got %d failures and %d ends of them in 25 s, want 3 of each", fails, back)
		}
		db.Break(feedtest.Fault{Err: errors.New("gone")})
		time.Sleep(10 * time.Second)
		_, _ = f.a.Head(t.Context(), "inbox:alice")
		if got := strings.Count(f.log.String(), "node=a error=gone"); got != 1 {
			t.Errorf("after a rest: got %d failures of the other sort, want 1", got)
		}
	})
}
