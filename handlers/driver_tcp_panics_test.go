package handlers_test

import (
	"fmt"
	"net/http"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rollcall-go/rollcall/handlers"
	"github.com/rollcall-go/rollcall/internal/need"
	"github.com/rollcall-go/rollcall/presence"
)

// A panic ends the stream that it is of, and no other: the shard goes on.
func TestTCPStreamPanics(t *testing.T) {
	overTCP(t, streams, func(t *testing.T, over transport) {
		log := new(logbook)
		s := newTCPSite(t, setup{presence: log.config(), handlers: handlers.Config{MaxConnectionsPerAddress: -1}})
		routines := runtime.NumGoroutine()
		var broken []*peer
		for range 20 {
			p := s.peer(over, request{path: "observe=1"})
			p.until("state")
			broken = append(broken, p)
		}
		s.handler.BreakStreams()
		whole := s.follow(over, "observe=1", "").started(1)
		s.tracker.Seen("site", presence.User{ID: "bob"}, presence.Device{})
		if e := whole.want("diff"); keys(e.data.Joins) != "bob" {
			t.Errorf("got joins %q, want bob", keys(e.data.Joins))
		}
		for _, p := range broken {
			p.ends()
		}
		if got := s.handler.Stats(); got.Broken != 20 || log.count("a stream panicked") != 1 {
			t.Errorf("got %d streams broken and %d lines in the log, want 20 and 1", got.Broken, log.count("a stream panicked"))
		}
		s.tracker.Seen("site", presence.User{ID: "carol"}, presence.Device{})
		if e := whole.want("diff"); keys(e.data.Joins) != "carol" {
			t.Errorf("got joins %q, want carol", keys(e.data.Joins))
		}
		whole.close()
		s.none()
		if n := routines + 5; runtime.NumGoroutine() > n+len(broken) {
			t.Errorf("got %d goroutines, want %d or fewer", runtime.NumGoroutine(), n)
		}
	})
}

// On shards too a stream ends whose right the site cannot confirm, in time and
// without a goroutine for each.
func TestTCPRightsThatCannotBeChecked(t *testing.T) {
	need.Slow(t, "it waits for the next look at rights in real time")
	release := make(chan struct{})
	defer close(release)
	for name, then := range map[string]func(){
		"panics": func() { panic("the session is gone") },
		"hangs":  func() { <-release },
	} {
		t.Run(name, func(t *testing.T) {
			overTCP(t, streams, func(t *testing.T, over transport) {
				var fails atomic.Bool
				cfg := new(logbook).config()
				cfg.TTL = 3 * time.Second // a heartbeat is a third
				s := newTCPSite(t, setup{presence: cfg, handlers: handlers.Config{
					Authorize: func(_ *http.Request, v presence.Visitor, topic presence.Topic) bool {
						if fails.Load() && v.User.ID != "spared" {
							then()
						}
						return true
					},
				}})
				spared := s.follow(over, "topic=thread:1", "spared").started(1)
				var peers []*peer
				for i := range 100 {
					p := s.peer(over, request{path: "observe=1&topic=site&topic=thread:2", user: fmt.Sprint("u", i)})
					p.until("state")
					peers = append(peers, p)
				}
				before := runtime.NumGoroutine()
				fails.Store(true)
				begin := time.Now()
				for i, p := range peers {
					p.ends()
					if i == 0 {
						if n := runtime.NumGoroutine() - before; n > 60 {
							t.Errorf("got %d more goroutines for 100 streams, want 32 or so", n)
						}
					}
				}
				t.Logf("the streams ended within %v", time.Since(begin))
				if got := s.handler.Stats(); name == "panics" && got.SitePanics == 0 || name == "hangs" && got.Unanswered == 0 {
					t.Errorf("got %+v, want it counted", got)
				}
				if name == "panics" {
					s.tracker.Seen("thread:1", presence.User{ID: "bob"}, presence.Device{})
					if e := spared.want("diff"); keys(e.data.Joins) != "bob" {
						t.Errorf("a stream that the site allows: got joins %q, want bob", keys(e.data.Joins))
					}
				}
				spared.close()
				s.none()
			})
		})
	}
}
