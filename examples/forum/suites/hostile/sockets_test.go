package hostile_test

import (
	"fmt"
	"strings"
	"time"

	"github.com/rollcall-go/rollcall/examples/forum/internal/forumtest"
)

// Attacks over WebSockets: each type of message as often as it goes.
var socketAttacks = []attack{
	{"heartbeats", 4, messages(func(int) []byte { return forumtest.Text(`{"type":"heartbeat"}`) })},
	{"statuses over 16 sockets of a user", 16, floodStatuses},
	{"subscriptions", 4, messages(func(n int) []byte {
		return forumtest.Text(fmt.Sprintf(`{"type":%q,"topic":"thread:%d"}`, []string{"subscribe", "unsubscribe"}[n/3%2], 1+n%3))
	})},
	{"subscriptions to what nobody may see", 4, messages(func(n int) []byte {
		return forumtest.Text(fmt.Sprintf(`{"type":"subscribe","topic":"secret:%d","cursor":%q}`, n%10_000, forumtest.MadeUp(30)))
	})},
	{"snapshots", 4, messages(func(int) []byte { return forumtest.Text(`{"type":"snapshot","topic":"site"}`) })},
	{"messages of no type", 4, messages(func(n int) []byte {
		return forumtest.Text([]string{`{"type":"` + forumtest.Long(60) + `"}`, `{}`, `null`, `[]`, `"x"`, `{"type":1}`}[n%6])
	})},
	{"messages of no form", 4, messages(func(n int) []byte {
		return [][]byte{
			forumtest.Text(`{"type":`), forumtest.Text(strings.Repeat(`[`, 4000)), forumtest.Text("\xff\xfe"), forumtest.Text(`{"type":"subscribe","topic":"a\nb"}`),
			forumtest.Frame(0x2, true, []byte(`{}`)), forumtest.Frame(0x3, true, nil), forumtest.Frame(forumtest.OpPing, false, nil), forumtest.Frame(forumtest.OpContinue, true, []byte(`x`)),
			[]byte("GET / HTTP/1.1\r\n\r\n"), forumtest.Frame(0x8, true, []byte{3}), forumtest.Frame(forumtest.OpText|0x40, true, []byte(`{}`)),
		}[n%11]
	})},
	{"large messages", 4, messages(func(n int) []byte {
		switch n % 3 {
		case 0:
			return forumtest.Text(forumtest.Long(5000))
		case 1: // a length that nothing follows
			return append([]byte{0x81, 0xff}, 0x7f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0)
		}
		return forumtest.Text(`{"type":"status","status":"` + forumtest.Long(3900) + `"}`)
	})},
	{"fragments", 4, messages(func(n int) []byte {
		switch n % 20 {
		case 0:
			return forumtest.Frame(forumtest.OpText, false, []byte(`{"type":"hea`))
		case 19:
			return forumtest.Frame(forumtest.OpContinue, true, []byte(`rtbeat"}`))
		}
		return forumtest.Frame(forumtest.OpContinue, false, nil)
	})},
	{"pings", 4, messages(func(int) []byte { return forumtest.Frame(forumtest.OpPing, true, []byte(forumtest.Long(125))) })},
}

// messages returns a step that opens a socket, as a user or a guest, and sends
// messages: some sockets within what is allowed, others as fast as the pace lets
// them.
func messages(message func(n int) []byte) func(*attacker, int) {
	return func(a *attacker, n int) {
		if !a.wait(1) {
			return
		}
		conn, status, err := a.Socket("topic=site", a.cookie(n+1))
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
	conn, status, err := a.Socket("topic=site", forumtest.UserCookie("mallory-moody"))
	a.tally.add(status, err)
	if err != nil {
		return
	}
	defer conn.Close()
	for i := range 60 {
		if !a.rest(time.Second/18) || !a.wait(1) {
			return
		}
		if _, err := conn.Write(forumtest.Text(fmt.Sprintf(`{"type":"status","status":%q}`, moods[(n+i)%3]))); err != nil {
			return
		}
		a.tally.sent()
	}
}
