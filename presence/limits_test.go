package presence_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rollcall-go/rollcall/presence"
)

func TestLimits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tracker := start(t, presence.NewMemoryStore(), presence.Config{ConnectionsPerUser: 2, TopicsPerConnection: 3})
		many := []presence.Topic{"a", "b", "c", "d"}
		if _, err := tracker.Connect(t.Context(), presence.ConnectOptions{Visitor: visitor("alice"), Topics: many}); !errors.Is(err, presence.ErrTooManyTopics) {
			t.Errorf("got %v, want ErrTooManyTopics", err)
		}
		if got := tracker.Stats().Topics; got != 0 {
			t.Errorf("got %d topics after a refusal, want nothing recorded", got)
		}
		connect(t, tracker, presence.ConnectOptions{Visitor: visitor("alice"), Topics: []presence.Topic{"a", "b", "a", "c", "c"}})
		c := connect(t, tracker, presence.ConnectOptions{Visitor: visitor("alice")})
		if _, err := tracker.Connect(t.Context(), presence.ConnectOptions{Visitor: visitor("alice"), Topics: many[:1]}); !errors.Is(err, presence.ErrTooManyConnections) {
			t.Errorf("got %v, want ErrTooManyConnections", err)
		}
		connect(t, tracker, presence.ConnectOptions{Visitor: visitor("bob")})
		c.Close()
		connect(t, tracker, presence.ConnectOptions{Visitor: visitor("alice")})
	})
}

func TestPagingMissesNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tracker := start(t, presence.NewMemoryStore(), presence.Config{})
		for i := range 100 {
			tracker.Seen(presence.Site, user(fmt.Sprintf("u%02d", i)))
			if i%10 == 9 {
				time.Sleep(time.Second)
			}
		}
		time.Sleep(time.Second)
		var got []string
		after := ""
		for {
			v, err := tracker.View(t.Context(), presence.Site)
			if err != nil {
				t.Fatal(err)
			}
			page, next, err := v.Page(after, 7)
			if err != nil {
				t.Fatal(err)
			}
			for _, m := range page {
				got = append(got, string(m.ID))
			}
			if after = next; after == "" {
				break
			}
			tracker.Seen(presence.Site, user("new"+after)) // who comes meanwhile comes before
			_ = tracker.SignOut(t.Context(), page[len(page)-1].ID)
			time.Sleep(time.Second)
		}
		slices.Sort(got)
		if len(got) != 100 || len(slices.Compact(got)) != 100 {
			t.Errorf("got %d users, want each of the 100 once", len(got))
		}
		v, _ := tracker.View(t.Context(), presence.Site)
		for _, bad := range []string{"x", ".", "zz.!", "1.\xff"} {
			if _, _, err := v.Page(bad, 7); err == nil {
				t.Errorf("Page(%q): got no error, want one", bad)
			}
		}
	})
}
