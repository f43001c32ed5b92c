package track_test

import (
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
	"github.com/rollcall-go/rollcall/presence/memstore"
	"github.com/rollcall-go/rollcall/presence/presencetest"
	"github.com/rollcall-go/rollcall/presence/track"
)

// benchCrowd returns a tracker with people, n of whom are online with a device each.
func benchCrowd(b *testing.B, n int) (*track.Tracker, *memstore.Store, []presence.UserID) {
	b.Helper()
	store := memstore.New()
	all := make([]presence.UserID, n)
	var ops []backend.Op
	for i := range all {
		all[i] = presence.UserID(fmt.Sprintf("user-%05d", i))
		u := presence.User{ID: all[i], Name: fmt.Sprint("User ", i), Avatar: fmt.Sprintf("/avatars/%d.png", i), URL: fmt.Sprint("/users/", i)}
		ops = append(ops, track.DeviceOp(u, presence.Device{ID: "d1", Kind: presence.Mobile, Label: "Firefox on Android"}, presence.Settings{}, time.Now()))
	}
	for len(ops) > 0 {
		some := min(len(ops), 500)
		if r := store.Apply(b.Context(), []backend.Batch{{Topic: backend.DevicesTopic, Ops: ops[:some]}}); r[0].Err != nil {
			b.Fatal(r[0].Err)
		}
		ops = ops[some:]
	}
	tracker, err := track.New(store, track.Config{Directory: presencetest.NewMemoryDirectory(), MaxConnectionsPerUser: -1})
	noError(b, err)
	b.Cleanup(func() { tracker.Close(b.Context()) })
	for { // the devices are loaded
		if people, err := tracker.People().Find(b.Context(), "alice", all[n-1]); err == nil && people[0].Online {
			return tracker, store, all
		}
		time.Sleep(time.Millisecond)
	}
}

// BenchmarkPeople is one look at people who are online, among 10,000.
func BenchmarkPeople(b *testing.B) {
	tracker, _, all := benchCrowd(b, 10_000)
	for _, n := range []int{100, 1000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				people, err := tracker.People().Find(b.Context(), "alice", all[:n]...)
				if err != nil || !people[n-1].Online {
					b.Fatal("somebody is not online")
				}
			}
		})
	}
}

// BenchmarkWatchOpen opens a page that watches 500 people, 100 of whom are online, reads the
// state, and closes it.
func BenchmarkWatchOpen(b *testing.B) {
	tracker, _, online := benchCrowd(b, 100)
	people := online[:100:100]
	for i := range 400 {
		people = append(people, presence.UserID(fmt.Sprintf("absent-%05d", i)))
	}
	first, err := tracker.Connect(b.Context(), peopleBench("first", people)) // everybody is numbered
	noError(b, err)
	defer first.Close()
	for name, list := range map[string][]presence.UserID{"500": people, "0": nil} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				c, err := tracker.Connect(b.Context(), track.ConnectOptions{Visitor: visitor("alice"), Observe: true, Topics: []presence.Topic{presence.PeopleTopic}})
				noError(b, err)
				c.Watch(list)
				c.Events(nil)
				c.Close()
			}
		})
	}
}

func peopleBench(viewer string, people []presence.UserID) track.ConnectOptions {
	return track.ConnectOptions{Visitor: visitor(viewer), Observe: true, Topics: []presence.Topic{presence.PeopleTopic}, People: people}
}

// BenchmarkWatchMemory reports the memory of a list of 500 people, and of an edge of it in the
// index of followers.
func BenchmarkWatchMemory(b *testing.B) {
	tracker, _, people := benchCrowd(b, 500)
	const lists = 400
	open := func(people []presence.UserID) (bytes uint64, close func()) {
		var conns []*track.Connection
		runtime.GC()
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		for range lists {
			c, err := tracker.Connect(b.Context(), track.ConnectOptions{Visitor: visitor("alice"), Observe: true, Topics: []presence.Topic{presence.PeopleTopic}})
			noError(b, err)
			c.Watch(people)
			c.Events(nil)
			conns = append(conns, c)
		}
		runtime.GC()
		runtime.ReadMemStats(&after)
		return after.HeapAlloc - before.HeapAlloc, func() {
			for _, c := range conns {
				c.Close()
			}
		}
	}
	for range b.N {
		none, closeNone := open(nil)
		all, closeAll := open(people)
		b.ReportMetric(float64(none)/lists, "B/connection")
		b.ReportMetric(float64(all-none)/lists, "B/list")
		b.ReportMetric(float64(all-none)/lists/float64(len(people)), "B/edge")
		closeAll()
		closeNone()
	}
}

// BenchmarkWatchChange is one person who comes or goes, told to 1,000 readers of one group
// who watch 500 people each.
func BenchmarkWatchChange(b *testing.B) {
	const readers = 1000
	tracker, store, people := benchCrowd(b, 500)
	form := track.NewForm(func(b []byte, e presence.Event) []byte { return append(append(b, e.Data...), '\n') })
	g := track.NewGroup()
	for range readers {
		c, err := tracker.Connect(b.Context(), track.ConnectOptions{Visitor: visitor("alice"), Observe: true, Topics: []presence.Topic{presence.PeopleTopic}})
		noError(b, err)
		c.Watch(people)
		defer c.Close()
		g.Add(c)
		c.Bytes(form)
	}
	g.Woken(nil)
	bob := presence.User{ID: people[7], Name: "Bob"}
	ops := []backend.Op{track.DeviceOffOp(bob.ID, "d1"), track.DeviceOp(bob, presence.Device{ID: "d1", Kind: presence.Mobile}, presence.Settings{}, time.Now())}
	var woken []*track.Connection
	told := time.Duration(0)
	b.ReportAllocs()
	i, got := 0, 0
	for b.Loop() {
		b.StopTimer()
		time.Sleep(260 * time.Millisecond) // the window is over
		select {
		case <-g.Ready():
		default:
		}
		b.StartTimer()
		began := time.Now()
		store.Apply(b.Context(), []backend.Batch{{Topic: backend.DevicesTopic, Ops: ops[i%2 : i%2+1]}})
		for n := 0; n < readers; {
			<-g.Ready()
			woken = g.Woken(woken[:0])
			for _, c := range woken {
				_, events, _ := c.Bytes(form)
				n += events
			}
			got += n
		}
		told += time.Since(began)
		i++
	}
	b.ReportMetric(float64(told.Nanoseconds())/float64(readers*i), "ns/delivery")
}
