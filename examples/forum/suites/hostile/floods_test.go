package hostile_test

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/rollcall-go/rollcall/examples/forum/internal/forumtest"
)

// Attacks that ask for much: each endpoint as often as it goes, with a new guest
// each time, with the same guest, with a user and with nobody; and with topics that
// nobody has ever used.
var floodAttacks = []attack{
	{"requests", 8, floodRequests},
	{"streams opened and closed", 8, floodStreams},
	{"sockets opened and closed", 8, floodSockets},
	{"10,000 topics", 8, floodTopics},
}

// floodRequests asks for everything, in turn.
func floodRequests(a *attacker, n int) {
	type request struct{ method, target, body string }
	requests := []request{
		{http.MethodGet, "/presence/roster?topic=site", ""},
		{http.MethodGet, "/presence/roster?topic=site&limit=1000&after=" + forumtest.MadeUp(9), ""},
		{http.MethodGet, "/presence/users?topic=site" + absent(100), ""},
		{http.MethodGet, "/presence/poll?topic=site&wait=1", ""},
		{http.MethodPost, "/presence/beat", goodbye("x.y~site")},
		{http.MethodPost, "/presence/leave", goodbye("x.y~site")},
		{http.MethodPut, "/presence/status", fmt.Sprintf(`{"status":%q}`, moods[n/16%len(moods)])},
		{http.MethodGet, "/presence/widget?topic=site", ""},
		{http.MethodGet, "/presence/widget?topic=site&max=" + fmt.Sprint(n), ""},
		{http.MethodGet, "/presence/assets/" + forumtest.MadeUp(9) + ".js", ""},
		{http.MethodGet, "/presence/" + forumtest.MadeUp(9), ""},
		{http.MethodGet, "/" + forumtest.MadeUp(9), ""},
		{http.MethodGet, "/", ""},
		{http.MethodGet, "/online", ""},
		{http.MethodPost, "/presence/status", "{"},
		{http.MethodPut, "/presence/status", strings.Repeat("{", 5000)},
	}
	r := requests[n%len(requests)]
	a.try(r.method, r.target, a.cookie(n/len(requests)), r.body)
}

var moods = []string{"away", "busy", "online", "invisible"}

// absent returns the parameters for users who were never there.
func absent(n int) string {
	return strings.Repeat("&id="+forumtest.MadeUp(6), 1) + strings.Join(prefixed("&id="+forumtest.MadeUp(6), n-1), "")
}

func prefixed(begin string, n int) []string {
	all := make([]string, n)
	for i := range all {
		all[i] = fmt.Sprint(begin, i)
	}
	return all
}

// floodStreams opens streams and closes them at once, or after the first event.
func floodStreams(a *attacker, n int) {
	if !a.wait(2) {
		return
	}
	s, status, err := a.BareClient.Stream([]string{"topic=site", "topic=site&observe=1", "topic=site&as=turbo", "topic=site&beat=1"}[n%4], a.cookie(n/4), false)
	a.tally.add(status, err)
	if err == nil {
		if n%8 < 4 {
			_, _, _ = s.Next()
		}
		s.Conn.Close()
	}
}

// floodSockets opens WebSockets and closes them at once.
func floodSockets(a *attacker, n int) {
	if !a.wait(2) {
		return
	}
	conn, status, err := a.Socket("topic=site", a.cookie(n))
	a.tally.add(status, err)
	if err == nil {
		conn.Close()
	}
}

// floodTopics asks for topics that nobody has ever used, 10,000 of them, and for
// names that no topic may have.
func floodTopics(a *attacker, n int) {
	topic := fmt.Sprint("thread:", 100+n%10_000)
	switch n % 50 {
	case 0:
		topic = []string{"index", "notices", "~index", "~notices", "{site}", "site:*", "people", "inbox"}[n/50%8]
	case 1:
		topic = strings.Repeat("t", 129)
	case 2:
		topic = "a\r\nX: y"
	}
	one := "topic=" + url.QueryEscape(topic)
	many := strings.Join(prefixed(one, 16), "&")
	target := []string{
		"/presence/roster?" + one, "/presence/users?id=a&" + one, "/presence/events?" + one, "/presence/events?" + many,
		"/presence/poll?wait=1&" + one, "/presence/poll?wait=1&" + many, "/presence/counts?" + many, "/presence/widget?" + one,
		"/presence/events?as=html&" + one,
	}[n%9]
	a.try(http.MethodGet, target, a.cookie(n/9), "")
}
