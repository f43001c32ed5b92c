package main

import (
	"fmt"
	"strings"
	"time"
)

// Attacks over WebSockets: each type of message as often as it goes.
var socketAttacks = []attack{
	{"heartbeats", 4, messages(func(int) []byte { return text(`{"type":"heartbeat"}`) })},
	{"statuses over 16 sockets of a user", 16, floodStatuses},
	{"subscriptions", 4, messages(func(n int) []byte {
		return text(fmt.Sprintf(`{"type":%q,"topic":"thread:%d"}`, []string{"subscribe", "unsubscribe"}[n/3%2], 1+n%3))
	})},
	{"subscriptions to what nobody may see", 4, messages(func(n int) []byte {
		return text(fmt.Sprintf(`{"type":"subscribe","topic":"secret:%d","cursor":%q}`, n%10_000, madeUp(30)))
	})},
	{"snapshots", 4, messages(func(int) []byte { return text(`{"type":"snapshot","topic":"site"}`) })},
	{"messages of no type", 4, messages(func(n int) []byte {
		return text([]string{`{"type":"` + long(60) + `"}`, `{}`, `null`, `[]`, `"x"`, `{"type":1}`}[n%6])
	})},
	{"messages of no form", 4, messages(func(n int) []byte {
		return [][]byte{
			text(`{"type":`), text(strings.Repeat(`[`, 4000)), text("\xff\xfe"), text(`{"type":"subscribe","topic":"a\nb"}`),
			frame(0x2, true, []byte(`{}`)), frame(0x3, true, nil), frame(opPing, false, nil), frame(opContinue, true, []byte(`x`)),
			[]byte("GET / HTTP/1.1\r\n\r\n"), frame(0x8, true, []byte{3}), frame(opText|0x40, true, []byte(`{}`)),
		}[n%11]
	})},
	{"large messages", 4, messages(func(n int) []byte {
		switch n % 3 {
		case 0:
			return text(long(5000))
		case 1: // a length that nothing follows
			return append([]byte{0x81, 0xff}, 0x7f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0)
		}
		return text(`{"type":"status","status":"` + long(3900) + `"}`)
	})},
	{"fragments", 4, messages(func(n int) []byte {
		switch n % 20 {
		case 0:
			return frame(opText, false, []byte(`{"type":"hea`))
		case 19:
			return frame(opContinue, true, []byte(`rtbeat"}`))
		}
		return frame(opContinue, false, nil)
	})},
	{"pings", 4, messages(func(int) []byte { return frame(opPing, true, []byte(long(125))) })},
}

// messages returns a step that opens a socket, as a user or a guest, and sends
// messages: some sockets within what is allowed, others as fast as the pace lets
// them.
func messages(message func(n int) []byte) func(*attacker, int) {
	return func(a *attacker, n int) {
		if !a.wait(1) {
			return
		}
		conn, status, err := a.socket("topic=site", a.cookie(n+1))
		a.tally.add(status, err)
		if err != nil {
			return
		}
		defer conn.Close()
		for i := range 100 {
			if n%2 == 0 && !a.rest(time.Second/15) || !a.wait(1) {
				return
			}
			if _, err := conn.Write(message(n*100 + i)); err != nil {
				return
			}
			a.tally.sent()
		}
	}
}

// floodStatuses changes one user's status as often as a socket may, over each of 16
// sockets.
func floodStatuses(a *attacker, n int) {
	if !a.wait(1) {
		return
	}
	conn, status, err := a.socket("topic=site", userCookie("mallory-moody"))
	a.tally.add(status, err)
	if err != nil {
		return
	}
	defer conn.Close()
	for i := range 60 {
		if !a.rest(time.Second/18) || !a.wait(1) {
			return
		}
		if _, err := conn.Write(text(fmt.Sprintf(`{"type":"status","status":%q}`, moods[(n+i)%3]))); err != nil {
			return
		}
		a.tally.sent()
	}
}
