package hostile_test

import (
	"fmt"
	"net/http"
	"strings"

	"github.com/rollcall-go/rollcall/examples/forum/internal/forumtest"
)

// Attacks with more than a visitor ever sends: long queries, cursors, cookies and
// headers.
var longAttacks = []attack{
	{"long queries for HTML", 4, longQueries},
	{"long cursors", 2, longCursors},
	{"long cookies and headers", 2, longHeaders},
	{"malformed requests", 4, malformed},
}

// longCost is how many actions a request of nearly a megabyte counts for.
const longCost = 25

// size is up to 900 KB, and seldom that much.
func size(n int) int {
	if n%4 == 0 {
		return 900_000
	}
	return []int{300, 5000, 60_000}[n%3]
}

// longQueries asks for HTML with a query that nobody has ever sent.
func longQueries(a *attacker, n int) {
	if !a.wait(longCost) {
		return
	}
	what := []string{"events?as=html", "events?as=turbo", "widget?form=1", "roster?x=1"}[n/4%4]
	target := "/presence/" + what + "&topic=site&x=" + forumtest.Long(size(n))
	if !strings.HasPrefix(what, "events") {
		a.throw(a.Head(http.MethodGet, target, a.cookie(n)), 1)
		return
	}
	s, status, err := a.BareClient.Stream(strings.TrimPrefix(target, "/presence/events?"), a.cookie(n), false)
	a.tally.add(status, err)
	if err == nil {
		s.Conn.Close()
	}
}

// longCursors comes back with cursors that the forum has never given.
func longCursors(a *attacker, n int) {
	if !a.wait(longCost) {
		return
	}
	cursor := forumtest.Long(size(n))
	switch n % 3 {
	case 0:
		a.throw(a.Head(http.MethodGet, "/presence/poll?topic=site&wait=1&cursor="+cursor, a.cookie(n)), 1)
	case 1:
		a.throw(a.Head(http.MethodGet, "/presence/roster?topic=site", a.cookie(n), `If-None-Match: "`+cursor+`"`), 1)
	case 2:
		a.throw(a.Head(http.MethodGet, "/presence/poll?topic=site&wait=1", a.cookie(n), "Last-Event-ID: "+cursor), 1)
	}
}

// longHeaders sends headers up to what net/http takes, and beyond.
func longHeaders(a *attacker, n int) {
	if !a.wait(longCost) {
		return
	}
	value := forumtest.Long(size(n))
	var many []string
	for i := range 500 {
		many = append(many, fmt.Sprintf("X-%s-%d: %s", forumtest.MadeUp(3), i, forumtest.MadeUp(60)))
	}
	request := []string{
		a.Head(http.MethodGet, "/presence/roster", "presence="+value),
		a.Head(http.MethodGet, "/", forumtest.CookieName+"="+value+"; "+forumtest.GuestCookie()),
		a.Head(http.MethodGet, "/presence/roster", "", many...),
		a.Head(http.MethodGet, "/presence/roster", "", "X-Forwarded-For: "+strings.Repeat("203.0.113.9, ", len(value)/20)+"203.0.113.9"),
		a.Head(http.MethodGet, "/presence/roster", "", "X-Long: "+value+value),
		a.Head(http.MethodGet, "/presence/roster", strings.Repeat("a=b; ", len(value)/10)+"c=d"),
	}[n%6]
	a.throw(request, 1)
}

// malformed sends what no browser sends.
func malformed(a *attacker, n int) {
	if !a.wait(1) {
		return
	}
	host := "Host: " + a.Addr + "\r\n"
	smuggled := "GET /presence/roster HTTP/1.1\r\n" + host + "\r\n"
	body := goodbye("x.y~site")
	requests := []string{
		// Which of the two lengths counts?
		"POST /presence/beat HTTP/1.1\r\n" + host + "Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + smuggled,
		"POST /presence/beat HTTP/1.1\r\n" + host + fmt.Sprint("Content-Length: ", len(body)) + "\r\nContent-Length: 0\r\n\r\n" + body + smuggled,
		"POST /presence/beat HTTP/1.1\r\n" + host + "Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n" + smuggled,
		"POST /presence/beat HTTP/1.1\r\n" + host + "Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n" + smuggled,
		"POST /presence/beat HTTP/1.1\r\n" + host + "Transfer-Encoding: chunked\r\n\r\nffffffffffffffff0\r\n",
		"POST /presence/beat HTTP/1.1\r\n" + host + "Content-Length: -1\r\n\r\n" + smuggled,
		"POST /presence/beat HTTP/1.1\r\n" + host + "Content-Length: 99999999999999999999\r\n\r\n",
		// A stream, and then a second request behind it.
		a.Head(http.MethodGet, "/presence/events?topic=site&topic=x", "") + smuggled,
		// WebSocket handshakes that lack something.
		a.Head(http.MethodGet, "/presence/ws?topic=site", "", "Connection: Upgrade", "Upgrade: websocket", "Sec-WebSocket-Version: 13"),
		a.Head(http.MethodGet, "/presence/ws?topic=site", "", "Connection: Upgrade", "Upgrade: websocket", "Sec-WebSocket-Version: 8", "Sec-WebSocket-Key: x"),
		a.Head(http.MethodPost, "/presence/ws?topic=site", "", "Connection: Upgrade", "Upgrade: websocket", "Content-Length: 0"),
		a.Head(http.MethodGet, "/presence/ws", "", "Connection: Upgrade, HTTP2-Settings", "Upgrade: h2c", "HTTP2-Settings: AAMAAABkAAQ"),
		// Bytes that are no request.
		"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "GET\r\n\r\n", "\x00\x00\x00\x00\r\n\r\n",
		"GET /presence/roster HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", "GET http://[::1/ HTTP/1.1\r\n" + host + "\r\n",
		"GET /presence/%00%ff%2e%2e/roster HTTP/1.1\r\n" + host + "\r\n", "GET /presence/../presence//roster?topic=%zz HTTP/1.1\r\n" + host + "\r\n",
		"TRACE /presence/roster HTTP/1.1\r\n" + host + "\r\n", "GET /presence/roster HTTP/1.1\r\n" + host + "X: a\r\n b\r\nY\x01: c\r\n\r\n",
	}
	a.throw(requests[n%len(requests)], 1)
}
