package handlers_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rollcall-go/rollcall/handlers"
	"github.com/rollcall-go/rollcall/presence"
)

// A guest has no inbox. The other topics of a partial stream go on without.
func TestInboxOfGuests(t *testing.T) {
	over(t, allTransports, func(t *testing.T, over transport) {
		f := newFeedSite(t, setup{handlers: unlimited()})
		header := map[string]string(nil)
		if over.path == "ws" {
			header = handshake
		}
		for _, query := range []string{"topic=inbox", "topic=site&topic=inbox", "topic=inbox&topic=secret", "topic=inbox&partial=1", "topic=inbox&me=alice"} {
			f.wantStatus(request{path: over.path + "?" + query, header: header}, 401)
		}
		refused, _ := f.notes(over, request{path: "topic=site&topic=inbox&topic=feed:thread:1&partial=1&me=alice"})
		if !slices.Equal(refused, []string{"inbox"}) {
			t.Errorf("got %q refused, want inbox", refused)
		}
		f.wantFound(nil)
	})
}

// The names that are no feeds, and the rooms that a visitor may not see, over each transport.
func TestFeedsRefused(t *testing.T) {
	over(t, allTransports, func(t *testing.T, over transport) {
		f := newFeedSite(t, setup{handlers: unlimited()})
		header := map[string]string(nil)
		if over.path == "ws" {
			header = handshake
		}
		for query, want := range map[string]int{
			"topic=inbox:alice":        400,
			"topic=inbox:eve":          400,
			"topic=inbox:":             400,
			"topic=feed":               400,
			"topic=feed:":              400,
			"topic=feed:thread":        400,
			"topic=feed:inbox":         400,
			"topic=feed:inbox:alice":   400,
			"topic=feed:inbox:eve":     400,
			"topic=feed:feed:thread:1": 400,
			"topic=feed:inbox:alice&topic=site&partial=1":      400,
			"topic=inbox:alice&topic=inbox&partial=1&me=eve":   400,
			"topic=inbox&me=alice":                             401,
			"topic=feed:staff:1":                               403,
			"topic=feed:staff:1&partial=1":                     403,
			"topic=feed:staff:1&topic=inbox":                   403,
			"topic=feed:unknown:1":                             403,
			"topic=Inbox":                                      403,
			"topic=inbox&" + manyParams("topic=thread:%d", 16): 400,
		} {
			f.wantStatus(request{path: over.path + "?" + query, user: "eve", header: header}, want)
		}
		if refused, _ := f.notes(over, request{path: "topic=inbox&topic=feed:staff:1&topic=feed:thread:1&partial=1", user: "eve"}); !slices.Equal(refused, []string{"feed:staff:1"}) {
			t.Errorf("got %q refused, want the room of the staff", refused)
		}
		f.follow(over, "topic=feed:staff:1&topic=inbox", "bob").started(2)
	})
}

// The default Authorize knows no rooms: what it does not know is refused.
func TestRoomsWithoutAuthorize(t *testing.T) {
	over(t, allTransports, func(t *testing.T, over transport) {
		f := newFeedSite(t, setup{handlers: handlers.Config{Authorize: func(_ *http.Request, _ presence.Visitor, t presence.Topic) bool {
			return t == presence.Site // as the default
		}}})
		header := map[string]string(nil)
		if over.path == "ws" {
			header = handshake
		}
		f.wantStatus(request{path: over.path + "?topic=feed:thread:1", user: "alice", header: header}, 403)
		f.follow(over, "topic=inbox", "alice").started(1)
	})
}

// Own topics and rooms have streams only: what shows a roster answers as of a topic that
// nobody may see. The site is asked about rooms, and whether a visitor enters is asked about
// neither.
func TestFeedsHaveNoRoster(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		asked, entered := make(map[presence.Topic]bool), make(map[presence.Topic]bool)
		f := newFeedSite(t, setup{handlers: handlers.Config{
			Authorize: func(_ *http.Request, _ presence.Visitor, topic presence.Topic) bool {
				mu.Lock()
				defer mu.Unlock()
				asked[topic] = true
				return true
			},
			Enter: func(_ *http.Request, _ presence.Visitor, topic presence.Topic) bool {
				mu.Lock()
				defer mu.Unlock()
				entered[topic] = true
				return true
			},
			Widget: http.NotFoundHandler(), MaxRate: -1,
		}})
		for _, user := range []string{"", "alice"} {
			for _, topic := range []string{"inbox", "inbox:bob", "feed:thread:1", "feed", "feed:inbox:bob"} {
				for _, path := range []string{"roster?", "users?id=bob&", "recent?", "widget?", "events?as=html&", "events?as=turbo&", "events?as=html&partial=1&"} {
					missing := f.wantStatus(request{path: path + "topic=" + topic, user: user}, 403)
					if !strings.Contains(missing, "There is no such topic, or you may not see it.") {
						t.Errorf("%s: got %s, want the 403 of any topic", path, missing)
					}
				}
				if got, want := f.wantStatus(request{path: "counts?topic=" + topic, user: user}, 200), `{"topics":{}}`; got != want {
					t.Errorf("got the counts %s, want %s", got, want)
				}
			}
		}
		f.listen(request{path: "events?topic=inbox&topic=feed:thread:1&topic=site", user: "alice"}).started(3).drain()
		time.Sleep(2 * time.Minute) // some checks of rights
		if body := f.wantStatus(request{path: "where"}, 200); strings.Contains(body, "inbox") || strings.Contains(body, "feed") {
			t.Errorf("got the places %s, want site alone", body)
		}
		mu.Lock()
		defer mu.Unlock()
		if got, want := fmt.Sprint(asked, entered), "map[feed:thread:1:true site:true] map[site:true]"; got != want {
			t.Errorf("the site was asked about %s, want %s", got, want)
		}
	})
}

// A stream loses a room with the right to it.
func TestRoomEndsWithTheRight(t *testing.T) {
	over(t, streams, func(t *testing.T, over transport) {
		var barred atomic.Bool
		f := newFeedSite(t, setup{handlers: handlers.Config{Authorize: func(_ *http.Request, _ presence.Visitor, t presence.Topic) bool {
			return t != "feed:thread:1" || !barred.Load()
		}}})
		f.send("alice", "zero")
		ended := f.follow(over, "topic=feed:thread:1&topic=inbox", "alice").started(2).drain()
		own := f.follow(over, "topic=inbox", "alice").started(1)
		barred.Store(true)
		<-ended
		f.send("alice", "one")
		own.wantShown("diff", "2/2 one")
	})
}
