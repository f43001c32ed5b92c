package handlers_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gobwas/ws"

	"github.com/rollcall-go/rollcall/handlers"
	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/track"
)

// threads is the Authorize of a site with threads that everybody may see.
func threads(_ *http.Request, _ presence.Visitor, t presence.Topic) bool {
	return t == "site" || t.Kind() == "thread"
}

// A bad message is answered with an error, and the connection stays open.
func TestMessageErrors(t *testing.T) {
	onSite(t, setup{handlers: handlers.Config{Authorize: threads}}, func(t *testing.T, s *site) {
		c, guest := s.talk(request{path: "ws", user: "alice"}), s.talk(request{path: "ws"})
		guest.started(1)
		c.started(1)
		for _, tt := range []struct{ text, title string }{
			{``, "Bad Request"},
			{`{`, "Bad Request"},
			{`null`, "Bad Request"},
			{`[]`, "Bad Request"},
			{`"heartbeat"`, "Bad Request"},
			{`{}`, "Bad Request"},
			{`{"type":"heartbeat"}{"type":"heartbeat"}`, "Bad Request"},
			{`{"type":7}`, "Bad Request"},
			{`{"type":"shout"}`, "Bad Request"},
			{`{"type":""}`, "Bad Request"},
			{`{"type":"status"}`, "Bad Request"},
			{`{"type":"status","status":"asleep"}`, "Bad Request"},
			{`{"type":"status","status":{}}`, "Bad Request"},
			{`{"type":"subscribe"}`, "Bad Request"},
			{`{"type":"subscribe","topic":"../x"}`, "Bad Request"},
			{`{"type":"subscribe","topic":"thread:` + strings.Repeat("7", 128) + `"}`, "Bad Request"},
			{`{"type":"subscribe","topic":"staff"}`, "Forbidden"},
			{`{"type":"unsubscribe","topic":""}`, "Bad Request"},
			{`{"type":"snapshot"}`, "Bad Request"},
			{`{"type":"snapshot","topic":"thread:1"}`, "Not Found"},
		} {
			time.Sleep(100 * time.Millisecond) // not more than may be said in a second
			c.say(tt.text)
			if c.wantError(tt.title); t.Failed() {
				t.Fatalf("so answered %s", tt.text)
			}
		}
		guest.say(`{"type":"status","status":"away"}`)
		guest.wantError("Unauthorized")
		c.say(`{"type":"snapshot","topic":"site"}`)
		c.want("state")
	})
}

// Heartbeat messages keep a connection with beat=1.
func TestMessageHeartbeat(t *testing.T) {
	for path, want := range map[string]string{"ws": "alice", "ws?beat=1": ""} {
		onSite(t, setup{}, func(t *testing.T, s *site) {
			c := s.talk(request{path: path, user: "alice"})
			c.started(1)
			c.drain()
			for range 20 {
				time.Sleep(15 * time.Second)
				c.say(`{"type":"heartbeat"}`)
				s.sweep()
			}
			if got := s.names("site"); got != "alice" {
				t.Errorf("%s: after five minutes of beats: got %q online, want alice", path, got)
			}
			time.Sleep(50 * time.Second)
			s.sweep()
			if got := s.names("site"); got != want {
				t.Errorf("%s: 50 s after the last beat: got %q online, want %q", path, got, want)
			}
		})
	}
}

func TestMessageStatus(t *testing.T) {
	onSite(t, setup{}, func(t *testing.T, s *site) {
		bob := s.listen(request{path: "events?observe=1"}).started(1)
		c := s.talk(request{path: "ws", user: "alice"})
		c.started(1)
		bob.want("diff")
		c.say(`{"type":"status","status":"away"}`)
		if got := string(bob.want("diff").data.Joins["alice"]); !strings.Contains(got, `"status":"away"`) {
			t.Errorf("others see %s, want away", got)
		}
		if got := string(c.want("diff").data.Joins["alice"]); !strings.Contains(got, `"status":"away"`) {
			t.Errorf("alice sees %s, want away", got)
		}
		c.say(`{"type":"status","status":"invisible"}`)
		if got := keys(bob.want("diff").data.Leaves); got != "alice" {
			t.Errorf("after invisible others see leaves %q, want alice", got)
		}
	})
}

func TestMessageSubscribe(t *testing.T) {
	onSite(t, setup{handlers: handlers.Config{Authorize: threads}}, func(t *testing.T, s *site) {
		bob := s.listen(request{path: "events?topic=thread:1", user: "bob"}).started(1)
		c := s.talk(request{path: "ws", user: "alice"})
		c.started(1)

		c.say(`{"type":"subscribe","topic":"thread:1"}`)
		state := c.want("state")
		if d := state.data; d.Topic != "thread:1" || keys(d.Users) != "alice bob" || !strings.Contains(state.id, d.Cursor) || state.id == d.Cursor {
			t.Errorf("got %+v, want thread:1 with alice and bob, and an id of both topics", state)
		}
		if got := bob.want("diff").data; keys(got.Joins) != "alice" {
			t.Errorf("bob sees joins %q, want alice", keys(got.Joins))
		}
		bob.drain()
		c.say(`{"type":"subscribe","topic":"thread:1"}`)
		c.quiet(time.Minute)
		if e, _ := c.next(); e.typ != "heartbeat" {
			t.Errorf("got %s, want heartbeat", e.typ)
		}

		c.say(`{"type":"unsubscribe","topic":"thread:1"}`)
		c.say(`{"type":"unsubscribe","topic":"thread:1"}`)
		c.say(`{"type":"unsubscribe","topic":"thread:2"}`)
		for range 4 {
			if e, _ := c.next(); e.typ != "heartbeat" || e.data.Topic != "site" {
				t.Errorf("got %s of %q after the topic was left, want heartbeats of site", e.typ, e.data.Topic)
			}
		}
		s.sweep()
		if got := s.names("thread:1"); got != "bob" {
			t.Errorf("got %q in the topic that was left, want bob", got)
		}

		s.see("thread:1", "carol")
		missed, _ := json.Marshal(map[string]string{"type": "subscribe", "topic": "thread:1", "cursor": state.id})
		c.say(string(missed))
		if got := c.want("diff").data; got.Prev != state.data.Cursor || got.Joins["carol"] == nil {
			t.Errorf("got %+v, want what was missed since %s: carol", got, state.data.Cursor)
		}
	})
}

// A connection may be without a topic for a while.
func TestMessageUnsubscribeAll(t *testing.T) {
	onSite(t, setup{handlers: handlers.Config{Authorize: threads}}, func(t *testing.T, s *site) {
		c := s.talk(request{path: "ws", user: "alice"})
		c.started(1)
		c.say(`{"type":"unsubscribe","topic":"site"}`)
		time.Sleep(5 * time.Minute)
		s.sweep()
		if got := s.names("site"); got != "" {
			t.Errorf("got %q online, want nobody", got)
		}
		c.say(`{"type":"subscribe","topic":"site"}`)
		if got := c.want("state").data; keys(got.Users) != "alice" {
			t.Errorf("got users %q, want alice", keys(got.Users))
		}
		c.quiet(time.Minute)
	})
}

func TestMessageSubscribeLimit(t *testing.T) {
	onSite(t, setup{handlers: handlers.Config{Authorize: threads}}, func(t *testing.T, s *site) {
		c := s.talk(request{path: "ws"})
		c.started(1)
		for i := range 15 {
			c.say(fmt.Sprintf(`{"type":"subscribe","topic":"thread:%d"}`, i))
			c.want("state")
		}
		c.say(`{"type":"subscribe","topic":"thread:15"}`)
		c.wantError("Bad Request")
		c.say(`{"type":"unsubscribe","topic":"site"}`)
		c.say(`{"type":"subscribe","topic":"thread:15"}`)
		c.want("state")
	})
}

// A page that closes while it subscribes is seen to leave after the grace, however long the subscription takes. It
// may have sent more before it closed.
func TestMessageSubscribeAndClose(t *testing.T) {
	for _, more := range []string{"", `{"type":"heartbeat"}`} {
		synctest.Test(t, func(t *testing.T) {
			answered := make(chan struct{})
			s := newSite(t, setup{presence: track.Config{Grace: time.Second}, handlers: handlers.Config{Authorize: func(_ *http.Request, _ presence.Visitor, topic presence.Topic) bool {
				if topic != presence.Site {
					<-answered
				}
				return true
			}}})
			defer close(answered)
			c := s.talk(request{path: "ws", user: "alice"})
			c.started(1)
			c.say(`{"type":"subscribe","topic":"thread:1"}`)
			time.Sleep(time.Second)
			if more != "" {
				c.say(more)
				time.Sleep(time.Second)
			}
			c.close()
			time.Sleep(7 * time.Second) // a node does not sweep for its first seven seconds
			s.sweep()
			if got := s.names("site"); got != "" {
				t.Errorf("after %q, and seven seconds after the page closed: got %q online, want nobody", more, got)
			}
		})
	}
}

// Rights to a topic that was subscribed to later are checked again as well.
func TestMessageSubscribeRight(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var barred atomic.Bool
		s := newSite(t, setup{handlers: handlers.Config{
			Authorize: func(_ *http.Request, _ presence.Visitor, topic presence.Topic) bool {
				return topic == "site" || !barred.Load()
			},
		}})
		c := s.talk(request{path: "ws", user: "alice"})
		c.started(1)
		c.say(`{"type":"subscribe","topic":"thread:1"}`)
		c.want("state")
		barred.Store(true)
		begin := time.Now()
		if c.wantClosed(ws.StatusPolicyViolation); time.Since(begin) > 16*time.Second {
			t.Errorf("the connection ended %v after the right was taken away, want 15s at most, and a second to part", time.Since(begin))
		}
	})
}

func TestMessageSnapshot(t *testing.T) {
	onSite(t, setup{handlers: handlers.Config{Authorize: threads}}, func(t *testing.T, s *site) {
		c := s.talk(request{path: "ws?topic=site&topic=thread:1&limit=1", user: "alice"})
		c.started(2)
		time.Sleep(time.Second)
		s.see("site", "bob")
		c.want("diff")
		c.say(`{"type":"snapshot","topic":"site"}`)
		e := c.want("state")
		if d := e.data; d.Topic != "site" || keys(d.Users) != "bob" || d.Total != 2 || !d.Truncated {
			t.Errorf("got %+v, want the state of site, cut after bob", d)
		}
		c.quiet(time.Minute)
	})
}
