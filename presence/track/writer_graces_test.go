package track_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/presencetest"
	"github.com/rollcall-go/rollcall/presence/track"
)

// Alice's phone is lost, and she signs off there. Her laptop comes and goes: its grace holds her.
func TestSignOffOfALostPage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, faults, a := faulty(t)
		w := watch(t, a)
		phone := connect(t, a, track.ConnectOptions{Visitor: from("phone")})
		w.want("diff +alice -")
		time.Sleep(5 * time.Second)
		faults.Break(presencetest.Fault{Err: errDown}, presencetest.CallApply)
		time.Sleep(100 * time.Millisecond)
		phone.Lost(time.Now())
		time.Sleep(time.Second)
		ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
		_ = a.SignOff(ctx, "alice", "phone")
		cancel()
		time.Sleep(time.Second)
		laptop := connect(t, a, track.ConnectOptions{Visitor: from("laptop")})
		time.Sleep(time.Second)
		laptop.Close()
		time.Sleep(100 * time.Millisecond)
		faults.Heal()
		time.Sleep(3 * time.Second)
		connect(t, a, track.ConnectOptions{Visitor: from("laptop")})
		w.want()
	})
}

// Alice's page is lost, she signs out, and signs in again. The grace of the new page holds her.
func TestSignInAfterALostPage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		memory, faults, a := faulty(t)
		w := watch(t, a)
		one := connect(t, a, track.ConnectOptions{Visitor: visitor("alice")})
		w.want("diff +alice -")
		time.Sleep(5 * time.Second)
		faults.Break(presencetest.Fault{Err: errDown}, presencetest.CallApply)
		time.Sleep(100 * time.Millisecond)
		one.Lost(time.Now())
		time.Sleep(time.Second)
		ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
		_ = a.SignOut(ctx, "alice")
		cancel()
		time.Sleep(time.Second)
		two := connect(t, a, track.ConnectOptions{Visitor: visitor("alice")})
		time.Sleep(time.Second)
		two.Close()
		time.Sleep(100 * time.Millisecond)
		faults.Heal()
		time.Sleep(3 * time.Second)
		s, _ := memory.Sightings(t.Context(), presence.Site, "alice")
		t.Logf("%+v", s)
		if !s[0].Online {
			t.Error("no grace")
		}
	})
}

// A page at which nobody is is lost, and an attended one closes: the grace is attended.
func TestGraceIsAsIdleAsTheLastPage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		memory, faults, a := faulty(t)
		choose(t, a, "alice", presence.Online)
		time.Sleep(5 * time.Second)
		faults.Break(presencetest.Fault{Err: errDown}, presencetest.CallApply)
		time.Sleep(10 * time.Millisecond)
		one := connect(t, a, track.ConnectOptions{Visitor: visitor("alice"), Idle: true})
		time.Sleep(time.Second)
		one.Lost(time.Now())
		time.Sleep(time.Second)
		two := connect(t, a, track.ConnectOptions{Visitor: visitor("alice")})
		time.Sleep(time.Second)
		two.Close()
		faults.Heal()
		time.Sleep(4 * time.Second)
		s, _ := memory.Sightings(t.Context(), presence.Site, "alice")
		if !s[0].Online || s[0].Idle {
			t.Errorf("got %+v, want not idle", s[0])
		}
	})
}

// The page of an old name is lost, and the page of a new one closes.
func TestGraceHasTheLastProfile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		memory, faults, a := faulty(t)
		choose(t, a, "alice", presence.Online)
		time.Sleep(5 * time.Second)
		faults.Break(presencetest.Fault{Err: errDown}, presencetest.CallApply)
		time.Sleep(10 * time.Millisecond)
		one := connect(t, a, track.ConnectOptions{Visitor: visitor("alice")})
		time.Sleep(time.Second)
		one.Lost(time.Now())
		time.Sleep(time.Second)
		v := visitor("alice")
		v.User.Name = "New"
		two := connect(t, a, track.ConnectOptions{Visitor: v})
		time.Sleep(time.Second)
		two.Close()
		faults.Heal()
		time.Sleep(4 * time.Second)
		sn, _ := memory.Snapshot(t.Context(), presence.Site)
		if len(sn.Members) != 1 || sn.Members[0].Name != "New" {
			t.Errorf("got %+v, want New", sn.Members)
		}
	})
}

// A page closes, and the next one is given up while it opens. The store is slow, and the first page leaves its grace.
func TestClosedAndThenGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		memory, faults, a := faulty(t)
		choose(t, a, "alice", presence.Online)
		time.Sleep(5 * time.Second)
		faults.Break(presencetest.Fault{Delay: 2500 * time.Millisecond}, presencetest.CallApply) // slow, and in order
		a.Seen("thread:9", user("zoe"), presence.Device{})
		time.Sleep(50 * time.Millisecond)
		one, err := a.Connect(context.Background(), track.ConnectOptions{Visitor: visitor("alice"), Topics: []presence.Topic{presence.Site}})
		noError(t, err)
		one.Close()
		ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
		_, err = a.Connect(ctx, track.ConnectOptions{Visitor: visitor("alice"), Topics: []presence.Topic{presence.Site}})
		cancel()
		t.Log(err)
		time.Sleep(5 * time.Second)
		s, _ := memory.Sightings(t.Context(), presence.Site, "alice")
		if !s[0].Online {
			t.Errorf("%+v", s)
		}
	})
}

// A page comes and goes, and a minute later another one is dropped. Nothing of that holds alice when the store is back.
func TestDropAfterAGraceIsOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, faults, a := faulty(t)
		choose(t, a, "alice", presence.Online)
		w := watch(t, a)
		time.Sleep(5 * time.Second)
		faults.Break(presencetest.Fault{Err: errDown}, presencetest.CallApply)
		one := connect(t, a, track.ConnectOptions{Visitor: visitor("alice")})
		time.Sleep(time.Second)
		one.Close()
		time.Sleep(time.Minute)
		two := connect(t, a, track.ConnectOptions{Visitor: visitor("alice")})
		time.Sleep(time.Second)
		two.Drop()
		time.Sleep(100 * time.Millisecond)
		faults.Heal()
		time.Sleep(10 * time.Second)
		w.want()
	})
}
