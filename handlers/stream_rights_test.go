package handlers_test

import (
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rollcall-go/rollcall/handlers"
	"github.com/rollcall-go/rollcall/presence"
)

// slowRights is the Authorize of a site that takes four seconds to say whether an open stream may go on.
type slowRights struct {
	asked  atomic.Bool // now
	barred atomic.Bool
}

func (a *slowRights) authorize() func(*http.Request, presence.Visitor, presence.Topic) bool {
	return afterFirst(func(*http.Request) bool {
		a.asked.Store(true)
		defer a.asked.Store(false)
		time.Sleep(4 * time.Second)
		return !a.barred.Load()
	})
}

// await waits until the site has been asked for a second.
func (a *slowRights) await() {
	for !a.asked.Load() {
		time.Sleep(10 * time.Millisecond)
	}
	time.Sleep(time.Second)
}

// A stream goes on while the site is asked about its visitor's rights. A no ends it.
func TestStreamsGoOnWhileTheSiteIsAsked(t *testing.T) {
	over(t, streams, func(t *testing.T, over transport) {
		var site slowRights
		s := newSite(t, setup{handlers: handlers.Config{Authorize: site.authorize()}})
		events := s.follow(over, "observe=1", "alice").started(1).feed()
		site.await()
		s.enter(presence.User{ID: "bob"})
		entered := time.Now()
		if e := <-events; keys(e.data.Joins) != "bob" || time.Since(entered) > time.Second {
			t.Errorf("got joins %q after %v, want bob at once", keys(e.data.Joins), time.Since(entered))
		}
		time.Sleep(5 * time.Second) // the answer was yes
		site.barred.Store(true)
		barred := time.Now()
		for range events {
		}
		if took := time.Since(barred); took > 20*time.Second {
			t.Errorf("the stream ended after %v, want a heartbeat and the time of an answer: 19s, and a second to part", took)
		}
	})
}

// The same holds for a stream of markup.
func TestMarkupGoesOnWhileTheSiteIsAsked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s *site
		var asked atomic.Int64
		var site slowRights
		s = newSite(t, setup{handlers: handlers.Config{Authorize: site.authorize(), Widget: listWidget(&s, &asked)}})
		r := s.read("events?as=html&observe=1", "alice", "")
		r.next()
		site.await()
		s.enter(presence.User{ID: "bob"})
		if got := r.next(); !strings.Contains(got.html, "bob") {
			t.Errorf("got %q, want bob in it", got.html)
		}
		time.Sleep(5 * time.Second)
		site.barred.Store(true)
		select {
		case _, goesOn := <-r.messages:
			if goesOn {
				t.Error("got a message, want the end")
			}
		case <-time.After(20 * time.Second):
			t.Error("the stream goes on after a no")
		}
	})
}

// A client that closes its stream while the site is asked is gone at once, and the late answer finds nobody.
func TestStreamsThatEndWhileTheSiteIsAsked(t *testing.T) {
	over(t, streams, func(t *testing.T, over transport) {
		var site slowRights
		s := newSite(t, setup{handlers: handlers.Config{Authorize: site.authorize()}})
		l := s.follow(over, "", "alice").started(1)
		go func() {
			for _, ok := l.next(); ok; _, ok = l.next() {
			}
		}()
		site.await()
		l.close()
		time.Sleep(100 * time.Millisecond)
		if n := s.tracker.Stats().Connections; n != 0 || !site.asked.Load() {
			t.Errorf("got %d connections and asked %v, want none while the site is asked", n, site.asked.Load())
		}
		time.Sleep(5 * time.Second) // the bubble fails if a goroutine is left
	})
}

// Two tabs of a browser ask the site together. The one that asked first may end meanwhile, by itself or by the
// server: the other's answer does not depend on that.
func TestATabThatEndsWhileItAsks(t *testing.T) {
	for _, ends := range []string{"closed by the client", "left"} {
		t.Run(ends, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var begun, asked atomic.Int32
				s := newSite(t, setup{handlers: handlers.Config{Authorize: func(r *http.Request, _ presence.Visitor, _ presence.Topic) bool {
					if begun.Add(1) <= 2 {
						return true
					}
					asked.Add(1)
					select { // as a query of a database
					case <-r.Context().Done():
						return false
					case <-time.After(2 * time.Second):
						return true
					}
				}}})
				first := s.follow(overSSE, "", "alice")
				welcome := first.want("welcome")
				second := s.follow(overSSE, "", "alice").started(1).drain()
				first.drain()
				for asked.Load() == 0 {
					time.Sleep(10 * time.Millisecond)
				}
				time.Sleep(500 * time.Millisecond)
				if ends == "left" {
					noError(t, s.tracker.Leave(t.Context(), presence.Token(welcome.data.Connection), presence.Visitor{User: presence.User{ID: "alice"}}))
				} else {
					first.close()
				}
				select {
				case <-second:
					t.Error("the other tab ended")
				case <-time.After(5 * time.Second):
				}
			})
		})
	}
}
