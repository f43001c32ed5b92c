package handlers_test

import (
	"bytes"
	"context"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gobwas/ws"

	"github.com/rollcall-go/rollcall/handlers"
	"github.com/rollcall-go/rollcall/presence"
)

// A client that breaks a rule is told which, and is gone after the grace.
func TestSocketRules(t *testing.T) {
	text := func(n int) []byte {
		return []byte(`{"type":"heartbeat"` + strings.Repeat(" ", n-len(`{"type":"heartbeat"}`)) + `}`)
	}
	unmasked := append([]byte{0x81, 2}, "{}"...)
	declares := func(n byte) []byte { return []byte{0x81, 0xff, n, 0, 0, 0, 0, 0x10, 0, 0, 1, 2, 3, 4} }
	for name, tt := range map[string]struct {
		frames [][]byte
		code   ws.StatusCode
	}{
		"4 KiB":                      {[][]byte{clientFrame(ws.OpText, true, text(4<<10))}, 0},
		"4 KiB in fragments":         {[][]byte{clientFrame(ws.OpText, false, text(4 << 10)[:1000]), clientFrame(ws.OpContinuation, true, text(4 << 10)[1000:])}, 0},
		"over 4 KiB":                 {[][]byte{clientFrame(ws.OpText, true, text(4<<10+1))}, 1009},
		"over 4 KiB in fragments":    {[][]byte{clientFrame(ws.OpText, false, text(4<<10)), clientFrame(ws.OpContinuation, true, []byte(" "))}, 1009},
		"1 MiB":                      {[][]byte{clientFrame(ws.OpText, true, text(1<<20))}, 1009},
		"1 MiB declared":             {[][]byte{declares(0)}, 1009},
		"8 EiB declared":             {[][]byte{clientFrame(ws.OpText, false, []byte("{")), append([]byte{0x80, 0xff, 0x7f}, bytes.Repeat([]byte{0xff}, 11)...)}, 1009},
		"a negative length":          {[][]byte{declares(0x80)}, 1002},
		"empty fragments":            {[][]byte{clientFrame(ws.OpText, false, nil), bytes.Repeat(clientFrame(ws.OpContinuation, false, nil), 5000)}, 1009},
		"binary":                     {[][]byte{clientFrame(ws.OpBinary, true, text(20))}, 1003},
		"not masked":                 {[][]byte{unmasked}, 1002},
		"reserved bits":              {[][]byte{append([]byte{0xc1}, clientFrame(ws.OpText, true, text(20))[1:]...)}, 1002},
		"an unknown kind":            {[][]byte{clientFrame(3, true, nil)}, 1002},
		"continued from nothing":     {[][]byte{clientFrame(ws.OpContinuation, true, text(20))}, 1002},
		"another within fragments":   {[][]byte{clientFrame(ws.OpText, false, text(20)), clientFrame(ws.OpText, true, text(20))}, 1002},
		"a ping in fragments":        {[][]byte{clientFrame(ws.OpPing, false, nil)}, 1002},
		"a long ping":                {[][]byte{clientFrame(ws.OpPing, true, make([]byte, 126))}, 1002},
		"not UTF-8":                  {[][]byte{clientFrame(ws.OpText, true, []byte{'"', 0xff, '"'})}, 1007},
		"a character in two":         {[][]byte{clientFrame(ws.OpText, false, []byte("{\"type\":\"heartbeat\",\"topic\":\"\xc3")), clientFrame(ws.OpContinuation, true, []byte("\xa9\"}"))}, 0},
		"close":                      {[][]byte{clientFrame(ws.OpClose, true, []byte{0x03, 0xe8})}, 1000},
		"close with a reason":        {[][]byte{clientFrame(ws.OpClose, true, []byte("\x03\xe9away"))}, 1001},
		"close without a code":       {[][]byte{clientFrame(ws.OpClose, true, nil)}, 1000},
		"close with the site's code": {[][]byte{clientFrame(ws.OpClose, true, []byte{0x0f, 0xa0})}, 4000},
		"half a close code":          {[][]byte{clientFrame(ws.OpClose, true, []byte{0x03})}, 1002},
		"close with a code of 0":     {[][]byte{clientFrame(ws.OpClose, true, []byte{0, 0})}, 1002},
		"close with a reserved code": {[][]byte{clientFrame(ws.OpClose, true, []byte{0x03, 0xed})}, 1002},
	} {
		bubble(t, name, func(t *testing.T) {
			s := newSite(t, setup{})
			c := s.talk(request{path: "ws", user: "alice"})
			c.started(1)
			c.raw(tt.frames...)
			if tt.code == 0 {
				c.quiet(20 * time.Second)
				return
			}
			begin := time.Now()
			for _, ok := c.next(); ok; _, ok = c.next() {
			}
			if c.socket.code != tt.code {
				t.Errorf("got close code %d (%s), want %d", c.socket.code, c.socket.reason, tt.code)
			}
			if d := time.Since(begin); d > 2*time.Second {
				t.Errorf("the connection ended after %v, want at once", d)
			}
			time.Sleep(11 * time.Second)
			s.sweep()
			if got := s.names("site"); got != "" {
				t.Errorf("got %q online, want nobody", got)
			}
		})
	}
}

func TestSocketRate(t *testing.T) {
	onSite(t, setup{}, func(t *testing.T, s *site) {
		c, other := s.talk(request{path: "ws", user: "alice"}), s.talk(request{path: "ws", user: "bob"})
		ended := c.drain()
		other.started(1)
		for range 3 {
			for range 10 {
				c.say(`{"type":"heartbeat"}`)
				c.raw(clientFrame(ws.OpPing, true, nil))
			}
			time.Sleep(time.Second)
			select {
			case <-ended:
				t.Fatalf("got close code %d (%s), want none for 20 messages a second", c.socket.code, c.socket.reason)
			default:
			}
		}
		for range 21 {
			c.say(`{"type":"heartbeat"}`)
		}
		if <-ended; c.socket.code != ws.StatusPolicyViolation {
			t.Errorf("got close code %d (%s), want 1008", c.socket.code, c.socket.reason)
		}
		s.see("site", "carol")
		if got := other.want("diff").data; keys(got.Joins) != "carol" {
			t.Errorf("another client: got joins %q, want carol", keys(got.Joins))
		}
		s.talk(request{path: "ws", user: "alice"}).started(1)
	})
}

// Fragments are one message, and control frames may come between them.
func TestSocketFragments(t *testing.T) {
	onSite(t, setup{}, func(t *testing.T, s *site) {
		c := s.talk(request{path: "ws", user: "alice"})
		c.started(1)
		ping := clientFrame(ws.OpPing, true, []byte("are you there?"))
		c.raw(
			clientFrame(ws.OpText, false, []byte(`{"type":"sta`)), ping,
			clientFrame(ws.OpContinuation, false, nil), clientFrame(ws.OpPong, true, []byte("unasked")),
			clientFrame(ws.OpContinuation, true, []byte(`tus","status":"busy"}`)),
		)
		op, payload, err := c.socket.frame()
		if op != ws.OpPong || string(payload) != "are you there?" {
			t.Errorf("got frame %d %q (%v), want a pong with the ping's words", op, payload, err)
		}
		if got := string(c.want("diff").data.Joins["alice"]); !strings.Contains(got, `"status":"busy"`) {
			t.Errorf("got %s, want alice busy", got)
		}
	})
}

// Each way in which we end a WebSocket has a code and a reason.
func TestSocketFarewells(t *testing.T) {
	var barred atomic.Bool
	var stop context.CancelFunc
	for name, tt := range map[string]struct {
		code ws.StatusCode
		end  func(s *site, connection string)
	}{
		"age":      {1001, func(*site, string) { time.Sleep(17 * time.Minute) }},
		"drain":    {1001, func(s *site, _ string) { s.tracker.Close(context.Background()) }},
		"server":   {1001, func(*site, string) { stop() }},
		"sign-out": {1000, func(s *site, _ string) { s.tracker.SignOut(s.t.Context(), "alice") }},
		"leave":    {1000, func(s *site, connection string) { s.fetch(says("leave", "alice", connection)) }},
		"right":    {1008, func(*site, string) { barred.Store(true) }},
	} {
		bubble(t, name, func(t *testing.T) {
			barred.Store(false)
			var base context.Context
			base, stop = context.WithCancel(context.Background())
			defer stop()
			s := newSite(t, setup{
				handlers: handlers.Config{Authorize: func(*http.Request, presence.Visitor, presence.Topic) bool { return !barred.Load() }},
				server:   func(srv *http.Server) { srv.BaseContext = func(net.Listener) context.Context { return base } },
			})
			c := s.talk(request{path: "ws", user: "alice"})
			connection := c.want("welcome").data.Connection
			done := make(chan struct{})
			go func() {
				defer close(done)
				c.wantClosed(tt.code)
			}()
			tt.end(s, connection)
			<-done
		})
	}
}

// A client that does not answer our close frame is not waited for, and its input is ignored.
func TestSocketFarewellUnanswered(t *testing.T) {
	onSite(t, setup{handlers: handlers.Config{MaxStreamAge: 10 * time.Second}}, func(t *testing.T, s *site) {
		c := s.talk(request{path: "ws", user: "alice"})
		c.started(1)
		for op := ws.OpText; op != ws.OpClose; {
			var err error
			if op, _, err = c.socket.frame(); err != nil {
				t.Fatal(err)
			}
		}
		begin := time.Now()
		for range 10 {
			c.say(`{"type":"status","status":"away"}`)
		}
		synctest.Wait()
		if n := s.tracker.Stats().Connections; n != 0 {
			t.Errorf("got %d connections, want none", n)
		}
		if op, _, err := c.socket.frame(); err == nil || time.Since(begin) > time.Second {
			t.Errorf("got frame %d (%v) after %v, want the end within a second", op, err, time.Since(begin))
		}
	})
}

// A client that does not read is disconnected in the middle of the output.
func TestSocketStalled(t *testing.T) {
	onSite(t, setup{}, func(t *testing.T, s *site) {
		c := s.talk(request{path: "ws", user: "alice"})
		c.started(1)
		time.Sleep(15*time.Second + 10*time.Second + time.Second) // a heartbeat, and the deadline
		if c.wantClosed(ws.StatusAbnormalClosure); s.tracker.Stats().Connections != 0 {
			t.Errorf("got %d connections, want none", s.tracker.Stats().Connections)
		}
	})
}

// A client whose network fails sends no close frame. Its user stays for the grace.
func TestSocketCut(t *testing.T) {
	onSite(t, setup{}, func(t *testing.T, s *site) {
		c := s.talk(request{path: "ws", user: "alice"})
		c.started(1)
		c.raw(clientFrame(ws.OpText, true, []byte(`{"type":"heartbeat"}`))[:9])
		synctest.Wait()
		c.close()
		time.Sleep(9 * time.Second)
		s.sweep()
		if got := s.names("site"); got != "alice" {
			t.Errorf("9 s later: got %q online, want alice: the grace is 10 s", got)
		}
		time.Sleep(2 * time.Second)
		s.sweep()
		if got := s.names("site"); got != "" {
			t.Errorf("11 s later: got %q online, want nobody", got)
		}
	})
}
