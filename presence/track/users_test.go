package track_test

import (
	"context"
	"fmt"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rollcall-go/rollcall/internal/need"
	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/memstore"
	"github.com/rollcall-go/rollcall/presence/presencetest"
	"github.com/rollcall-go/rollcall/presence/track"
)

// A user who chose nothing views a page every 11 minutes. The store is asked once.
func TestStoreIsAskedOnceForAChoice(t *testing.T) {
	need.Slow(t, "thousands of users")
	synctest.Test(t, func(t *testing.T) {
		store := presencetest.NewFaults(memstore.New())
		a := start(t, store, track.Config{})
		for range 100 {
			a.Seen(presence.Site, user("alice"), presence.Device{})
			time.Sleep(11 * time.Minute)
		}
		if n := store.Calls(presencetest.CallStatuses); n > 1 {
			t.Errorf("the store was asked %d times about one user, want once", n)
		}
	})
}

// Users keep one tab open and close others, again and again.
func TestClosedTabsOfAConnectedUserAreForgotten(t *testing.T) {
	heap := func() uint64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.GC()
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	synctest.Test(t, func(t *testing.T) {
		memory := memstore.New()
		a := start(t, memory, track.Config{Node: "a"})
		const users = 50
		for i := range users {
			connect(t, a, track.ConnectOptions{Visitor: visitor(fmt.Sprint("u", i))})
		}
		time.Sleep(time.Minute)
		before := heap()
		for n := range 100 {
			for i := range users {
				c, err := a.Connect(context.Background(), track.ConnectOptions{Visitor: visitor(fmt.Sprint("u", i)), Topics: []presence.Topic{presence.Site, presence.Topic(fmt.Sprint("thread:", n%50))}})
				noError(t, err)
				c.Close()
			}
			time.Sleep(10 * time.Second)
		}
		time.Sleep(30 * time.Minute)
		after := heap()
		grown := (int64(after) - int64(before)) / users
		if grown > 12_000 {
			t.Errorf("30 minutes later %d bytes a user are still kept", grown)
		}
		runtime.KeepAlive(a)
	})
}

// 990 users chose a status long ago, and a node remembers 1,000. The page views of 300
// others survive a wipe.
func TestDormantUsersMakeRoomForViews(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newSwapStore()
		b := start(t, store, track.Config{Node: "b"})
		b.RememberAtMost(1000)
		w := openPage(t, b, track.ConnectOptions{})
		w.settle()
		for g := range 99 {
			go func() {
				for i := range 10 {
					b.SetStatus(context.Background(), presence.UserID(fmt.Sprint("d", g, "-", i)), presence.Busy)
				}
			}()
		}
		time.Sleep(9 * time.Minute)
		for i := range 200 {
			b.Seen(presence.Site, user(fmt.Sprint("v", i)), presence.Device{})
			time.Sleep(30 * time.Millisecond)
		}
		time.Sleep(time.Minute)
		for i := range 100 {
			b.Seen(presence.Site, user(fmt.Sprint("x", i)), presence.Device{})
			time.Sleep(10 * time.Millisecond)
		}
		v, _ := b.View(context.Background(), presence.Site)
		before := v.Total
		store.wipe()
		time.Sleep(40 * time.Second)
		v, _ = b.View(context.Background(), presence.Site)
		if v.Total < before {
			t.Errorf("%d users who viewed a page in the last three minutes were lost", before-v.Total)
		}
	})
}
