package handlers_test

import (
	"encoding/binary"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/gobwas/ws"
)

// Whatever bytes a client sends, the server closes with a status code or goes on, and other
// clients are not affected.
func FuzzSocketFrames(f *testing.F) {
	f.Add(clientFrame(ws.OpText, true, []byte(`{"type":"heartbeat"}`)))
	f.Add(append(clientFrame(ws.OpText, false, []byte(`{"type":`)), clientFrame(ws.OpContinuation, true, []byte(`"x"}`))...))
	f.Add(clientFrame(ws.OpPing, true, []byte("ping")))
	f.Add(clientFrame(ws.OpClose, true, []byte{0x03, 0xe8}))
	f.Add(clientFrame(ws.OpBinary, true, []byte{1, 2, 3}))
	f.Add([]byte{0x81, 0xff, 0x7f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1, 2, 3, 4})
	f.Add([]byte{0x81, 0xfe, 0xff})
	f.Add([]byte("GET / HTTP/1.1\r\n\r\n"))
	f.Fuzz(func(t *testing.T, sent []byte) {
		onSite(t, setup{}, func(t *testing.T, s *site) {
			other := s.listen(request{path: "events?observe=1"}).started(1)
			c := s.talk(request{path: "ws"})
			c.started(1)
			c.raw(sent)
			ended := c.drain()
			time.Sleep(20 * time.Second) // a heartbeat, if it goes on
			select {
			case <-ended:
				if !(c.socket.code == 1002 || c.socket.code == 1003 || c.socket.code >= 1007 && c.socket.code <= 1009 || mayHoldClose(sent)) {
					t.Errorf("got close code %d (%s), want one of a rule", c.socket.code, c.socket.reason)
				}
			default:
				c.close()
				<-ended
			}
			s.see("site", "bob")
			if got := other.want("diff").data; keys(got.Joins) != "bob" {
				t.Errorf("another client: got joins %q, want bob", keys(got.Joins))
			}
		})
	})
}

// mayHoldClose reports whether the input may hold a close frame.
func mayHoldClose(sent []byte) bool {
	for _, b := range sent {
		if b == 0x88 {
			return true
		}
	}
	return false
}

// However a message is cut into fragments and masked, it arrives as it was.
func FuzzSocketFragments(f *testing.F) {
	f.Add(100, uint16(7), uint16(50), uint32(0x01020304))
	f.Add(4000, uint16(0), uint16(4000), uint32(0))
	f.Add(0, uint16(1), uint16(2), ^uint32(0))
	f.Fuzz(func(t *testing.T, pad int, first, second uint16, mask uint32) {
		if pad < 0 || pad > 4000 {
			return
		}
		text := []byte(`{"type":"snapshot","cursor":"` + strings.Repeat("\u00e9", pad/6) + strings.Repeat("x", pad%6) + `","topic":"site"}`)
		i := int(first) % len(text)
		j := i + int(second)%(len(text)-i)
		masks := [3][4]byte{}
		for k := range masks {
			binary.BigEndian.PutUint32(masks[k][:], mask>>k)
		}
		onSite(t, setup{}, func(t *testing.T, s *site) {
			c := s.talk(request{path: "ws", user: "alice"})
			c.started(1)
			c.raw(
				maskedFrame(ws.OpText, false, text[:i], masks[0]),
				maskedFrame(ws.OpContinuation, false, text[i:j], masks[1]),
				maskedFrame(ws.OpContinuation, true, text[j:], masks[2]),
			)
			c.want("state")
		})
	})
}

// Whatever text a client sends, the message is handled or answered by an error, and the
// connection stays open.
func FuzzSocketMessage(f *testing.F) {
	for _, text := range []string{
		`{"type":"heartbeat"}`, `{"type":"status","status":"away"}`, `{"type":"subscribe","topic":"thread:1","cursor":"x"}`,
		`{"type":"unsubscribe","topic":"site"}`, `{"type":"snapshot","topic":"site"}`, `{"type":"\u0000"}`, `[[[[`, `{"type":{}}`, `null`, ``,
	} {
		f.Add(text)
	}
	known := map[string]bool{"heartbeat": true, "status": true, "subscribe": true, "unsubscribe": true, "snapshot": true}
	f.Fuzz(func(t *testing.T, text string) {
		b, _ := json.Marshal(text) // makes it UTF-8
		json.Unmarshal(b, &text)
		if len(text) > 4<<10 {
			return
		}
		onSite(t, setup{}, func(t *testing.T, s *site) {
			c := s.talk(request{path: "ws", user: "alice"})
			c.started(1)
			c.say(text)
			c.say(`{"type":"subscribe","topic":"site"}`)
			c.say(`{"type":"snapshot","topic":"site"}`)
			var m struct{ Type string }
			if json.Unmarshal([]byte(text), &m) != nil || !known[m.Type] {
				c.wantError("Bad Request")
			}
			for {
				e, ok := c.next()
				if !ok {
					t.Fatalf("the connection has ended (%d %s)", c.socket.code, c.socket.reason)
				}
				if e.typ == "state" {
					return
				}
			}
		})
	})
}
