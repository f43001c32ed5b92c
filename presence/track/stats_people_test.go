package track_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/memstore"
	"github.com/rollcall-go/rollcall/presence/track"
)

// The figures of people are of all users together. Without a Directory there are none.
func TestPeopleStats(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newTown(t)
		connect(t, d.b, track.ConnectOptions{Visitor: on("bob", "phone")})
		connect(t, d.b, track.ConnectOptions{Visitor: on("bob", "laptop")})
		var watchers []*track.Connection
		for _, viewer := range []string{"alice", "carol"} {
			watchers = append(watchers, connect(t, d.a, track.ConnectOptions{
				Visitor: on(viewer, "one"), Topics: []presence.Topic{presence.PeopleTopic}, People: []presence.UserID{"bob", "dave"},
			}))
		}
		d.choose(d.b, "bob", presence.Settings{Online: presence.Contacts})
		time.Sleep(5 * time.Second)
		s := d.a.Stats().People
		if s.Devices != 4 || s.WatchLists != 2 || s.Watched != 2 || s.RelationsCached != 4 || s.DirectoryOut || len(s.Directory) != 6 {
			t.Errorf("got %+v, want four devices, two lists of two users, and what the two viewers are to them", s)
		}
		for _, c := range watchers {
			c.Close()
		}
		if s := d.a.Stats().People; s.WatchLists != 0 || s.Watched != 0 {
			t.Errorf("got %+v after all have gone, want no lists", s)
		}
		if s := start(t, memstore.New(), track.Config{}).Stats().People; s.Directory != nil || s.Devices != 0 {
			t.Errorf("got %+v without a Directory, want none", s)
		}
	})
}
