package hostile_test

import (
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/rollcall-go/rollcall/examples/forum/internal/forumtest"
)

// Attacks that hold on to connections: by sending slowly, by reading slowly, and by
// sending many requests at once.
var slowAttacks = []attack{
	{"slow headers", 40, slowHeaders},
	{"slow bodies", 40, slowBodies},
	{"half a request", 40, halfRequest},
	{"readers that do not read", 10, deafReaders},
	{"pipelined requests", 4, pipelined},
}

// dribble sends the rest of a request, a byte at a time, until the forum closes the
// connection or a few seconds have passed.
func (a *attacker) dribble(begin, rest string) {
	conn := a.connect()
	if conn == nil {
		return
	}
	defer conn.Close()
	if _, err := io.WriteString(conn, begin); err != nil {
		a.tally.add(0, err)
		return
	}
	for i := range rest {
		if !a.rest(100*time.Millisecond) || !a.wait(1) {
			return
		}
		if _, err := io.WriteString(conn, rest[i:i+1]); err != nil {
			a.tally.add(0, err)
			return
		}
	}
}

func slowHeaders(a *attacker, n int) {
	head := a.Head(http.MethodGet, "/presence/events?topic=site", a.cookie(n), "X: "+forumtest.Long(40))
	a.dribble(head[:40], head[40:])
}

func slowBodies(a *attacker, n int) {
	a.dribble(a.Head(http.MethodPost, "/presence/beat", a.cookie(n), "Content-Length: 4000"), `{"connection":"x.y`+strings.Repeat("z", 40))
}

// halfRequest sends a part of a request, and then nothing.
func halfRequest(a *attacker, n int) {
	conn := a.connect()
	if conn == nil {
		return
	}
	defer conn.Close()
	whole := a.Head(http.MethodPut, "/presence/status", a.cookie(n), "Content-Length: 20") + `{"status":"away"}   `
	_, _ = io.WriteString(conn, whole[:rand.IntN(len(whole))])
	a.rest(time.Duration(rand.IntN(3000)) * time.Millisecond)
}

// deafReaders opens streams and reads nothing from them.
func deafReaders(a *attacker, n int) {
	if !a.wait(2) {
		return
	}
	target := []string{"/presence/events?topic=site&limit=1000", "/presence/events?topic=site&as=html", "/"}[n%3]
	conn, err := a.Dial()
	if err != nil {
		a.tally.add(0, err)
		return
	}
	defer conn.Close()
	a.tally.sent()
	_, _ = io.WriteString(conn, a.Head(http.MethodGet, target, a.cookie(n)))
	a.rest(3 * time.Second)
}

// pipelined sends fifty requests before it reads an answer.
func pipelined(a *attacker, n int) {
	if !a.wait(50) {
		return
	}
	one := a.Head(http.MethodGet, []string{"/presence/roster?topic=site", "/presence/users?id=a&id=b", "/presence/poll?topic=site"}[n%3], a.cookie(n/3))
	a.throw(strings.Repeat(one, 50), 50)
}

// connect opens a connection when it is the attacker's turn. It returns nil if the attack
// is over or the site cannot be reached.
func (a *attacker) connect() net.Conn {
	if !a.wait(1) {
		return nil
	}
	conn, err := a.Dial()
	if err != nil {
		a.tally.add(0, err)
		return nil
	}
	a.tally.sent()
	return conn
}
