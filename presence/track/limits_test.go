package track_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/memstore"
	"github.com/rollcall-go/rollcall/presence/track"
)

func TestLimits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tracker := start(t, memstore.New(), track.Config{MaxConnectionsPerUser: 2, MaxTopicsPerConnection: 3})
		many := []presence.Topic{"a", "b", "c", "d"}
		if _, err := tracker.Connect(t.Context(), track.ConnectOptions{Visitor: visitor("alice"), Topics: many}); !errors.Is(err, presence.ErrTooManyTopics) {
			t.Errorf("got %v, want ErrTooManyTopics", err)
		}
		if got := tracker.Stats().Topics; got != 0 {
			t.Errorf("got %d topics after a refusal, want nothing recorded", got)
		}
		connect(t, tracker, track.ConnectOptions{Visitor: visitor("alice"), Topics: []presence.Topic{"a", "b", "a", "c", "c"}})
		c := connect(t, tracker, track.ConnectOptions{Visitor: visitor("alice")})
		if _, err := tracker.Connect(t.Context(), track.ConnectOptions{Visitor: visitor("alice"), Topics: many[:1]}); !errors.Is(err, presence.ErrTooManyConnections) {
			t.Errorf("got %v, want ErrTooManyConnections", err)
		}
		connect(t, tracker, track.ConnectOptions{Visitor: visitor("bob")})
		c.Close()
		connect(t, tracker, track.ConnectOptions{Visitor: visitor("alice")})
	})
}

func TestPagingMissesNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tracker := start(t, memstore.New(), track.Config{})
		for i := range 100 {
			tracker.Seen(presence.Site, user(fmt.Sprintf("u%02d", i)), presence.Device{})
			if i%10 == 9 {
				time.Sleep(time.Second)
			}
		}
		time.Sleep(time.Second)
		var got []string
		after := ""
		for {
			v, err := tracker.View(t.Context(), presence.Site)
			noError(t, err)
			page, next, err := v.Page("", after, 7)
			noError(t, err)
			for _, m := range page {
				got = append(got, string(m.ID))
			}
			if after = next; after == "" {
				break
			}
			tracker.Seen(presence.Site, user("new"+after), presence.Device{}) // who comes meanwhile comes before
			_ = tracker.SignOut(t.Context(), page[len(page)-1].ID)
			time.Sleep(time.Second)
		}
		slices.Sort(got)
		if len(got) != 100 || len(slices.Compact(got)) != 100 {
			t.Errorf("got %d users, want each of the 100 once", len(got))
		}
		v, _ := tracker.View(t.Context(), presence.Site)
		for _, bad := range []string{"x", ".", "zz.!", "1.\xff"} {
			if _, _, err := v.Page("", bad, 7); err == nil {
				t.Errorf("Page(%q): got no error, want one", bad)
			}
		}
	})
}

func TestLargeTopicCounts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tracker := start(t, memstore.New(), track.Config{MaxRoster: 100})
		for i := range 95 {
			tracker.Seen(presence.Site, user(fmt.Sprint("u", i)), presence.Device{})
		}
		time.Sleep(time.Second)
		c := connect(t, tracker, track.ConnectOptions{Limit: 1})
		var got []string
		read := func() {
			for _, ev := range c.Events(nil) {
				var p payload
				noError(t, json.Unmarshal(ev.Data, &p))
				if ev.Type != presence.EventHeartbeat {
					got = append(got, fmt.Sprint(ev.Type, " ", p.Total))
				}
			}
		}
		want := func(want ...string) {
			t.Helper()
			if read(); !slices.Equal(got, want) {
				t.Errorf("got %q, want %q", got, want)
			}
			got = nil
		}
		want("state 95")
		for i := range 10 {
			tracker.Seen(presence.Site, user(fmt.Sprint("more", i)), presence.Device{})
		}
		time.Sleep(100 * time.Millisecond)
		want("count 105")
		for i := range 20 { // two seconds of comings and goings
			tracker.Seen(presence.Site, user(fmt.Sprint("v", i)), presence.Device{})
			time.Sleep(100 * time.Millisecond)
			read()
		}
		if n := len(got); n < 2 || n > 3 {
			t.Errorf("got %q, want a count a second", got)
		}
		got = nil
		while := c.Cursor()
		back := func(from presence.Cursor, want ...presence.EventType) {
			t.Helper()
			var got []presence.EventType
			for _, ev := range openPage(t, tracker, track.ConnectOptions{Cursor: from, Limit: 1}).conn.Events(nil) {
				if ev.Type != presence.EventHeartbeat {
					got = append(got, ev.Type)
				}
			}
			if !slices.Equal(got, want) {
				t.Errorf("got %v for who comes back, want %v", got, want)
			}
		}
		back(while)
		tracker.Seen(presence.Site, user("w"), presence.Device{})
		time.Sleep(time.Second)
		read()
		got = nil
		back(while, presence.EventCount)
		began := time.Now()
		connect(t, tracker, track.ConnectOptions{Visitor: visitor("joins")})
		if waited := time.Since(began); waited > 100*time.Millisecond {
			t.Errorf("joining a large topic took %v", waited)
		}
		time.Sleep(2 * time.Second)
		read()
		got = nil
		signOut := func(n int) {
			for i := range n {
				_ = tracker.SignOut(t.Context(), presence.UserID(fmt.Sprint("u", i)))
			}
			time.Sleep(2 * time.Second)
		}
		signOut(30) // 127 - 30: below the limit, and not clearly
		if read(); slices.Contains(got, "state 97") || len(got) == 0 {
			t.Errorf("got %q, want counts", got)
		}
		got = nil
		signOut(60)
		read()
		state := slices.ContainsFunc(got, func(e string) bool { return strings.HasPrefix(e, "state ") })
		if !state || !strings.HasSuffix(got[len(got)-1], " 67") {
			t.Errorf("got %q, want a state when it is small again, and 67 in the end", got)
		}
		back(while, presence.EventState) // it knew totals only
		back(c.Cursor())
	})
}
